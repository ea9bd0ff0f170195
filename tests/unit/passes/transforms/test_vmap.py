"""Vectorized graphs against loops over single values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, reject, settings
from hypothesis import strategies as st

import rlx
from rlx.ir import Dim, Graph, f32, i32
from rlx.ir.evaluate import evaluate
from rlx.ops import NN_OPS, REAL_OPS, nn, real
from rlx.ops.q import Q_OPS
from rlx.passes.transforms.batch import RULES, rule_of
from rlx.passes.transforms.vjp import grad
from rlx.passes.transforms.vmap import vmap
from rlx.support.errors import ShapeError, UnsupportedOpError, UsageError
from strategies import STRATEGIES
from support.messages import raises
from support.references.closeness import assert_close

SIZE = 3
RANDOM = (real.RealRandomBits, real.RealRandomNormal, real.RealRandomUniform)
LAYERS = [op for op in NN_OPS if not issubclass(op, nn.NnQuantized | nn.NnRecurrent)]
OPS = [op for op in (*REAL_OPS, *LAYERS, *Q_OPS) if op not in RANDOM]


def repeated(inputs, names, seed):
    """Return several values for the named inputs, permutations of one."""
    generator = np.random.default_rng(seed)
    found = dict(inputs)
    for name in names:
        x = inputs[name]
        values = [generator.permuted(x.ravel()).reshape(x.shape) for _ in range(SIZE)]
        found[name] = np.stack(values)
    return found


def check(graph, inputs, names, seed):
    """Compare a graph for several values with a loop."""
    stacked = repeated(inputs, names, seed)
    results = evaluate(vmap(graph, SIZE, names), stacked)
    for i in range(SIZE):
        single = {n: x[i] if n in names else x for n, x in stacked.items()}
        for found, expected in zip(results, evaluate(graph, single), strict=True):
            part = found if found.shape == expected.shape else found[i]
            assert_close(part, expected)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
@settings(
    max_examples=8,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.filter_too_much],
)
@given(data=st.data())
def test_vmap_is_a_loop(op, data):
    case = data.draw(STRATEGIES[op]())
    assume(case.inputs)
    names = [n for n in case.inputs if data.draw(st.booleans())] or list(case.inputs)[:1]
    try:
        check(case.graph, case.inputs, names, len(names))
    except ShapeError as error:  # weights or indices that differ are refused
        if "cannot take a batch" not in error.message:
            raise
        reject()


def test_inputs_and_outputs_that_are_not_named_stay():
    graph = rlx.trace("g", lambda x, w: {"y": x @ w, "z": w.exp()}, f32(1, 3), f32(3, 2)).graph
    made = vmap(graph, 4, "x")
    assert [v.type for v in made.inputs] == [f32(4, 1, 3), f32(3, 2)]
    assert [v.type for v in made.outputs] == [f32(4, 1, 2), f32(3, 2)]


def test_the_number_of_values_may_be_a_symbol():
    graph = rlx.trace("g", lambda x: (x * 2.0).sum(0), f32(5)).graph
    made = vmap(graph, Dim("n"))
    assert made.outputs[0].type == f32(Dim("n"))
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    np.testing.assert_array_equal(evaluate(made, {"x": x})[0], [20, 70])


@pytest.mark.parametrize("names", [["x"], ["w"], ["x", "w"]], ids="-".join)
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions_may_differ_in_their_weights(names, groups):
    def model(x, w):
        return x.apply(real.RealConv(window=real.SpatialWindow((3, 2)), groups=groups), w)

    graph = rlx.trace("g", model, f32(2, 5, 4, 4), f32(6, 3, 2, 4 // groups)).graph
    generator = np.random.default_rng(0)
    inputs = {v.name: generator.standard_normal(v.type.static_shape).astype(np.float32)
              for v in graph.inputs}  # fmt: skip
    check(graph, inputs, names, 1)


def test_gradients_of_each_sample():
    graph = rlx.trace("g", lambda x, w: ((x @ w).tanh() ** 2.0).sum(), f32(1, 3), f32(3, 2)).graph
    generator = np.random.default_rng(0)
    inputs = {"x": generator.standard_normal((1, 3)).astype(np.float32),
              "w": generator.standard_normal((3, 2)).astype(np.float32)}  # fmt: skip
    check(grad(graph, "w"), inputs, ["x"], 1)


def test_every_op_has_a_rule_or_a_reason():
    for op in (*REAL_OPS, *Q_OPS):
        assert RULES.knows(op) or rule_of(op)


def test_what_cannot_be_vectorized_is_refused():
    graph = rlx.trace("g", lambda x: x.gather(x.argmax(axis=0)), f32(5)).graph
    with raises(ShapeError):
        vmap(graph, 2)
    graph = Graph("g")
    key, counter = (
        graph.input(n, t) for n, t in (("k", real.random.KEY), ("c", real.random.COUNTER))
    )
    graph.output(*graph.append(real.RealRandomNormal(shape=(2,)), key, counter).results)
    with raises(UnsupportedOpError):
        vmap(graph, 2)


def test_states_that_differ_from_value_to_value_are_refused():
    builder = rlx.Graph("g")
    x, total = builder.input("x", (2,)), builder.state("total", (2,))
    builder.set_state(total, total + x)
    builder.output(y=x * total)
    with raises(UsageError):
        vmap(builder.graph, 3)


def test_names_and_sizes_are_checked():
    graph = rlx.trace("g", lambda x: x * 2, i32(3)).graph
    with raises(UsageError):
        vmap(graph, 2, ["y"])
    with raises(ValueError):
        vmap(graph, 0)
