"""Derivatives of every op against those that JAX derives from the same op's lowering."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import rlx
from rlx.ir import DType, f32
from rlx.ops import REAL_OPS, real
from rlx.passes.decompose import decompose
from rlx.passes.transforms.jacobian import hessian
from rlx.passes.transforms.jvp import jvp
from rlx.passes.transforms.linearize import RULES
from rlx.passes.transforms.vjp import vjp
from strategies import STRATEGIES, Case
from support.derivatives import (
    attention_block,
    directions,
    factors,
    float_inputs,
    in_type,
    is_differentiable,
    named,
)

jax = pytest.importorskip("jax")
import rlx_xla.lowerings  # noqa: E402, F401 - fills the table of lowerings
from rlx_xla.platforms import wide_types  # noqa: E402 - needs JAX
from rlx_xla.trace import Trace  # noqa: E402

DIFFERENTIABLE = [
    op for op in REAL_OPS if op in RULES and op not in (real.RealCompare, real.RealCast)
]
MERGES = (real.Scatter.MULTIPLY, real.Scatter.MINIMUM, real.Scatter.MAXIMUM)
TOLERANCE = {DType.F64: 1e-12, DType.F32: 2e-6}


def reference(graph, names, inputs):
    """Return the function of the named inputs that JAX differentiates."""
    fixed = {v: inputs[v.name] for v in graph.inputs if v.name not in names}
    sources = [v for v in graph.inputs if v.name in names]

    def function(*arrays):
        values = Trace({}).run(graph, {**fixed, **dict(zip(sources, arrays, strict=True))})
        pairs = zip(graph.outputs, values, strict=True)
        return [x for v, x in pairs if v.type.dtype.is_float]

    return function


def close(found, expected, tolerance):
    expected = np.asarray(expected)
    scale = float(np.max(np.abs(expected[np.isfinite(expected)]), initial=1e-30))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


def check(graph, inputs, dtype, seed):
    """Compare jvp and vjp with those of JAX."""
    names = float_inputs(graph)
    tangents, seeds = directions(graph, names, seed), factors(graph, seed + 1)
    forward, backward = jvp(graph), vjp(graph)
    with wide_types(), np.errstate(all="ignore"):
        arrays = tuple(inputs[n] for n in names)
        function = reference(graph, names, inputs)
        _, expected = jax.jvp(function, arrays, tuple(tangents.values()))
        results = named(forward, {**inputs, **tangents})
        for name, array in zip(seeds, expected, strict=True):
            close(results[name], array, TOLERANCE[dtype])
        _, pull = jax.vjp(function, *arrays)
        results = named(backward, {**inputs, **seeds})
        for name, array in zip(tangents, pull(list(seeds.values())), strict=True):
            close(results[name], array, TOLERANCE[dtype])


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
@settings(
    max_examples=3,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.filter_too_much],
)
@given(data=st.data())
def test_derivatives_are_those_of_jax(op, data):
    seed = data.draw(st.integers(0, 2**16))
    dtype = data.draw(st.sampled_from([DType.F64, DType.F32]))
    graph, inputs = in_type(data.draw(STRATEGIES[op]()), dtype, seed)
    assume(is_differentiable(graph))
    assume(not any(getattr(n.op, "merge", None) in MERGES for n in graph.op_nodes))
    check(graph, inputs, dtype, seed)


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32], ids=lambda d: d.value)
def test_derivatives_of_a_transformer_block_are_those_of_jax(dtype):
    graph, inputs = in_type(Case(decompose(attention_block()), {}), dtype, 1)
    check(graph, inputs, dtype, 2)


def test_second_derivatives_are_those_of_jax():
    def loss(x, w):
        return (((x @ w).tanh() + x.sigmoid()).softmax() ** 3.0).sum()

    graph = rlx.trace("g", loss, f32(4, 3), f32(3, 3)).graph
    graph, inputs = in_type(Case(decompose(graph), {}), DType.F64, 3)
    names = float_inputs(graph)
    with wide_types():
        function = reference(graph, names, inputs)
        rows = jax.hessian(lambda *xs: function(*xs)[0], (0, 1))(*(inputs[n] for n in names))
    found = named(hessian(graph), inputs)
    for name, row in zip(names, rows, strict=True):
        for other, expected in zip(names, row, strict=True):
            close(found[f"d_{name}_d_{other}"], expected, 1e-12)
