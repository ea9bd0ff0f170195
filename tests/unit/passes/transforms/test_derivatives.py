"""Derivatives of every op and layer: finite differences, inner products, second derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import rlx
from rlx.ir import DType, Graph, Op, f32, i32
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.ops import NN_OPS, REAL_OPS, nn, real
from rlx.ops.control import CONTROL_OPS, Scan, While
from rlx.ops.fused import FUSED_OPS
from rlx.ops.q import Q_OPS
from rlx.passes.decompose import decompose
from rlx.passes.transforms import linearize, transpose
from rlx.passes.transforms.jacobian import hessian, jacfwd, jacrev
from rlx.passes.transforms.jvp import jvp
from rlx.passes.transforms.simplify import simplified
from rlx.passes.transforms.vjp import grad, hvp, value_and_grad, vjp
from rlx.support.errors import UnsupportedOpError, UsageError
from strategies import STRATEGIES, float_graphs
from support.derivatives import (
    attention_block,
    directions,
    factors,
    float_inputs,
    in_type,
    is_differentiable,
    named,
)
from support.messages import raises

STEP = 1e-6
CONSTANT = (real.RealCompare, real.RealCast, nn.NnStopGradient)  # tested apart
DERIVED = [op for op in (*REAL_OPS, *CONTROL_OPS) if op in linearize.RULES]
LAYERS = [op for op in NN_OPS if not issubclass(op, nn.NnQuantized)]
CASES = [op for op in (*DERIVED, *LAYERS) if op not in CONSTANT]
SMOOTH = [
    real.RealMul, real.RealDiv, real.RealExp, real.RealExpm1, real.RealErf, real.RealSin,
    real.RealCos, real.RealTan, real.RealAsin, real.RealAcos, real.RealAtan, real.RealTanh,
    real.RealSigmoid, real.RealMatmul, real.RealConv, real.RealReduceProd, real.RealCumprod,
    nn.NnSoftmax, nn.NnLogSoftmax, nn.NnLogSumExp, nn.NnSilu, nn.NnGelu, nn.NnSoftplus,
    nn.NnLayerNorm, nn.NnRmsNorm, nn.NnAttention, nn.NnRnn, nn.NnGru,
]  # fmt: skip
few = settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.filter_too_much],
)


def drawn(op, data):
    """Draw a case of an op in float64 whose derivatives exist."""
    seed = data.draw(st.integers(0, 2**16))
    graph, inputs = in_type(data.draw(STRATEGIES[op]()), DType.F64, seed)
    assume(is_differentiable(decompose(graph)))
    assume(not any(_merges(node.op) for node in graph.op_nodes))
    return graph, inputs, seed


def _merges(op):
    merges = (real.Scatter.REPLACE, real.Scatter.ADD)
    return isinstance(op, real.RealScatter) and op.merge not in merges


def moved(inputs, tangents, step):
    return {n: x + step * tangents[f"d_{n}"] if f"d_{n}" in tangents else x
            for n, x in inputs.items()}  # fmt: skip


def check_forward(graph, inputs, tangents):
    """Compare tangents with finite differences, and return them."""
    with np.errstate(all="ignore"):
        found = named(jvp(graph), {**inputs, **tangents})
        above = named(graph, moved(inputs, tangents, STEP))
        below = named(graph, moved(inputs, tangents, -STEP))
    results = {}
    for name in linearize.float_outputs(graph):
        results[name] = found[f"d_{name}"]
        expected = (above[name] - below[name]) / (2 * STEP)
        defined = np.isfinite(expected)
        np.testing.assert_allclose(results[name][defined], expected[defined], rtol=2e-5, atol=2e-5)
    return results


def check_backward(graph, inputs, tangents, results, seed):
    """Compare gradients with tangents: both give the same inner product."""
    seeds = factors(graph, seed)
    backward = vjp(graph)
    verify(rlx.GraphModule.hir(backward))
    with np.errstate(all="ignore"):
        gradients = named(backward, {**inputs, **seeds})
    left = sum(np.sum(results[name[2:]] * factor) for name, factor in seeds.items())
    right = sum(np.sum(gradients[name] * tangent) for name, tangent in tangents.items())
    size = sum(np.sum(np.abs(gradients[name] * tangent)) for name, tangent in tangents.items())
    if np.isfinite(left):
        np.testing.assert_allclose(right, left, rtol=1e-10, atol=1e-10 * (1 + size))


@pytest.mark.parametrize("op", CASES, ids=lambda op: op.name)
@few
@given(data=st.data())
def test_derivatives_agree_with_differences_and_each_other(op, data):
    graph, inputs, seed = drawn(op, data)
    tangents = directions(graph, float_inputs(graph), seed)
    results = check_forward(graph, inputs, tangents)
    if op is not While:
        check_backward(graph, inputs, tangents, results, seed + 1)


@pytest.mark.parametrize("op", SMOOTH, ids=lambda op: op.name)
@few
@given(data=st.data())
def test_second_derivatives_agree_with_differences(op, data):
    graph, inputs, seed = drawn(op, data)
    with np.errstate(all="ignore"):
        assume(all(np.isfinite(x).all() for x in evaluate(graph, inputs)))
    gradients = vjp(graph)
    fixed = {**inputs, **factors(graph, seed)}
    tangents = directions(graph, float_inputs(graph), seed)
    names = float_inputs(graph)
    with np.errstate(all="ignore"):
        found = named(jvp(gradients, names), {**fixed, **tangents})
        above, below = (named(gradients, moved(fixed, tangents, s)) for s in (STEP, -STEP))
    for name in names:
        expected = (above[f"d_{name}"] - below[f"d_{name}"]) / (2 * STEP)
        np.testing.assert_allclose(found[f"d_d_{name}"], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("source", "target"), [("f32", "f64"), ("f64", "f32")])
def test_tangents_change_type_with_their_values(source, target):
    spec = rlx.TensorType((2,), DType(source))
    graph = rlx.trace("g", lambda x: (x * x).cast(target) * 3.0, spec).graph
    x = np.array([1.0, 2.0], spec.dtype.numpy)
    assert evaluate(jvp(graph), {"x": x, "d_x": x})[1].tolist() == [6.0, 24.0]
    (factor,) = factors(graph, 0)
    ones = np.ones(2, DType(target).numpy)
    (_, found) = evaluate(vjp(graph), {"x": x, factor: ones})
    assert found.dtype == x.dtype
    assert found.tolist() == [6.0, 12.0]


@settings(max_examples=20)
@given(case=float_graphs(size=3), seed=st.integers(0, 2**16))
def test_networks_agree_by_the_inner_product(case, seed):
    graph, inputs = in_type(case, DType.F64, seed)
    tangents = directions(graph, float_inputs(graph), seed)
    found = named(jvp(graph), {**inputs, **tangents})
    results = {name: found[f"d_{name}"] for name in linearize.float_outputs(graph)}
    check_backward(graph, inputs, tangents, results, seed + 1)


@pytest.mark.parametrize(
    "op", [*REAL_OPS, *CONTROL_OPS, *Q_OPS, *FUSED_OPS], ids=lambda op: op.name
)
def test_every_op_has_a_rule_or_a_reason(op):
    assert linearize.RULES.knows(op)


LINEAR = (
    real.RealAdd, real.RealSub, real.RealNeg, real.RealMul, real.RealDiv, real.RealWhere,
    real.RealMatmul, real.RealConv, real.RealCast, real.RealReshape, real.RealTranspose,
    real.RealBroadcastTo, real.RealSlice, real.RealPad, real.RealReverse, real.RealConcat,
    real.RealGather, real.RealTakeAlong, real.RealScatter, real.RealReduceSum,
    real.RealReduceMean, real.RealCumsum, real.RealAveragePool, *CONTROL_OPS,
)  # fmt: skip


def test_every_linear_op_has_a_transpose_or_a_reason():
    assert [op.name for op in LINEAR if not transpose.RULES.knows(op)] == []
    assert {op for op in REAL_OPS if op in transpose.RULES} == set(LINEAR) - set(CONTROL_OPS)


def test_gradients_of_networks_are_small():
    graph = attention_block()
    names = [v.name for v in graph.inputs]
    gradients = simplified(decompose(value_and_grad(graph, names)))
    assert gradients.count <= 3 * simplified(decompose(graph)).count


def test_outputs_keep_their_names_and_come_first():
    graph = rlx.trace("g", lambda x, w: {"y": x @ w, "z": x.exp()}, f32(2, 3), f32(3, 4)).graph
    forward, backward = jvp(graph), vjp(graph, "w")
    assert forward.output_names == ("y", "z", "d_y", "d_z")
    assert [v.name for v in forward.inputs] == ["x", "w", "d_x", "d_w"]
    assert backward.output_names == ("y", "z", "d_w")
    assert [v.name for v in backward.inputs] == ["x", "w", "d_y", "d_z"]


def test_tangents_of_tangents_have_names_of_their_own():
    graph = rlx.trace("g", lambda x: {"y": x.exp()}, f32(3)).graph
    twice = jvp(jvp(graph), ["x"])
    assert [v.name for v in twice.inputs] == ["x", "d_x", "d_d_x"]
    assert twice.output_names == ("y", "d_y", "d_d_y", "d_d_d_y")


def test_gradients_have_other_names_than_outputs():
    graph = rlx.trace("g", lambda x: {"d_x": x.sum()}, f32(3)).graph
    assert value_and_grad(graph).output_names == ("d_x", "d_d_x")
    assert vjp(graph).output_names == ("d_x", "d_d_x")


def test_parameters_are_differentiated_by_name():
    builder = rlx.Graph("g")
    x = builder.input("x", (2, 3))
    builder.output(loss=((x @ builder.param("w", (3, 4))) * 2.0).sum())
    gradients = grad(builder.graph, "w")
    assert [v.name for v in gradients.inputs] == ["x"]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    w = np.zeros((3, 4), np.float32)
    compiled = rlx.Session().compile(value_and_grad(builder.graph, "w"))
    compiled.set_params({"w": w})
    value, found = compiled.run({"x": x})
    assert value == 0.0
    np.testing.assert_array_equal(found, np.repeat(2 * x.sum(0)[:, None], 4, axis=1))


def test_modules_stay_modules():
    module = rlx.GraphModule.hir(rlx.trace("g", lambda x: (x * x).sum(), f32(3)).graph)
    assert grad(module).stage is module.stage
    (found,) = evaluate(grad(module).graph, {"x": np.ones(3, np.float32)})
    assert found.tolist() == [2.0, 2.0, 2.0]


def test_hvp_is_the_second_derivative_times_a_vector():
    graph = rlx.trace("g", lambda x: (x**3.0).sum(), f32(3)).graph
    x, v = np.float32([1, 2, 3]), np.float32([1, 0, 2])
    (found,) = evaluate(hvp(graph), {"x": x, "d_x": v})
    np.testing.assert_allclose(found, 6 * x * v, rtol=1e-6)


def test_stop_gradient_makes_constants():
    graph = rlx.trace("g", lambda x: (x * x.stop_gradient()).sum(), f32(3)).graph
    x = np.float32([1, 2, 3])
    (found,) = evaluate(grad(graph), {"x": x})
    np.testing.assert_array_equal(found, x)
    (second,) = evaluate(hvp(graph), {"x": x, "d_x": x})
    assert second.tolist() == [0.0, 0.0, 0.0]


def test_sources_that_do_not_matter_have_zero_gradients():
    graph = rlx.trace("g", lambda x, y: (x * 2.0).sum() + 0.0 * y.stop_gradient().sum(),
                      f32(2), f32(3)).graph  # fmt: skip
    found = named(grad(graph), {"x": np.ones(2, np.float32), "y": np.ones(3, np.float32)})
    assert found["d_y"].tolist() == [0.0, 0.0, 0.0]


def test_softplus_is_smooth_at_zero():
    graph = rlx.trace("g", lambda x: x.softplus().sum(), f32(3)).graph
    (found,) = evaluate(grad(graph), {"x": np.float32([-200, 0, 200])})
    assert found.tolist() == [0.0, 0.5, 1.0]


def test_of_equal_elements_the_first_maximum_of_a_window_gets_the_gradient():
    graph = rlx.trace("g", lambda x: x.max_pool(2).sum(), f32(1, 2, 2, 1)).graph
    (found,) = evaluate(grad(graph), {"x": np.zeros((1, 2, 2, 1), np.float32)})
    assert found.ravel().tolist() == [1.0, 0.0, 0.0, 0.0]


def test_states_are_constants_of_a_run():
    builder = rlx.Graph("g")
    x, total = builder.input("x", (2,)), builder.state("total", (2,))
    builder.set_state(total, total + x)
    builder.output(loss=(x * total).sum())
    for derive in (jvp, vjp, grad, value_and_grad, hvp, jacfwd, jacrev, hessian):
        derivatives = derive(builder.graph)
        verify(rlx.GraphModule.hir(derivatives))
        assert "total" in derivatives.output_names
    gradients = grad(builder.graph)
    assert gradients.output_names == ("total", "d_x")
    inputs = {"x": np.float32([1, 2]), "total": np.float32([3, 4])}
    assert evaluate(gradients, inputs)[1].tolist() == [3.0, 4.0]


def test_own_ops_have_rules_in_the_same_table(monkeypatch):
    monkeypatch.setattr(Op, "registry", dict(Op.registry))

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Double(nn.NnOp):
        name: ClassVar[str] = "test.double"

        def expand(self, *operands):
            (x,) = operands
            return x + x

    monkeypatch.setitem(linearize.RULES._rules, Double, lambda op, call: [call.tangents[0] * 3.0])
    graph = Graph("g")
    x = graph.input("x", f32(2))
    y = graph.apply(real.RealReduceSum(axes=(0,)), graph.apply(Double(), x))
    graph.output(y)
    assert evaluate(grad(graph), {"x": np.ones(2, np.float32)})[0].tolist() == [3.0, 3.0]


def without_derivative(x):
    index = (x * 2.0).argmax(axis=0)
    table = x.lift(np.arange(3, dtype=np.float32))
    return (x.round() * x.floor()).sum() + table.gather(index)


def test_ops_without_derivative_are_named_with_their_places():
    graph = rlx.trace("g", without_derivative, f32(3)).graph
    with raises(UnsupportedOpError):
        grad(graph)


def test_integer_graphs_are_refused():
    graph = rlx.trace("g", lambda x: x + x, i32(3)).graph
    with raises(UsageError):
        vjp(graph)
    with raises(UsageError):
        jvp(graph, "x")
    with raises(UsageError):
        jvp(graph, "z")


def test_unknown_names_are_refused_with_the_closest():
    graph = rlx.trace("g", lambda weights: weights.sum(), f32(3)).graph
    with raises(UsageError):
        grad(graph, "weight")


AXES = [((1, 3), (4, 1)), ((1, 3), (0, 1)), ((), (2, 0)), ((3,), (2, 1, 3)), ((1, 1), ())]


@pytest.mark.parametrize("shapes", AXES, ids=str)
@pytest.mark.parametrize("op", [real.RealMul(), real.RealSub(), real.RealMaximum()],
                         ids=lambda op: op.name)  # fmt: skip
def test_gradients_are_summed_over_broadcast_axes(op, shapes):
    graph = rlx.trace("g", lambda x, y: x.apply(op, y).sum(), *(f32(*s) for s in shapes)).graph
    x, y = np.full(shapes[0], 3, np.float32), np.full(shapes[1], 2, np.float32)
    count = np.ones(np.broadcast_shapes(*shapes)).size
    by_x, by_y = {"real.mul": (2, 3), "real.sub": (1, -1), "real.maximum": (1, 0)}[op.name]
    found = named(grad(graph), {"x": x, "y": y})
    for name, values, slope in ("d_x", x, by_x), ("d_y", y, by_y):
        expected = np.full(values.shape, slope * count / max(values.size, 1))
        np.testing.assert_array_equal(found[name], expected)


def test_loops_of_open_length_have_forward_derivatives_only():
    def model(x):
        return rlx.while_loop(lambda y: y.sum() < 100.0, lambda y: y * 2.0, x)

    graph = rlx.trace("g", model, f32(3)).graph
    x = np.float32([1, 2, 3])
    found = evaluate(jvp(graph), {"x": x, "d_x": x})
    np.testing.assert_array_equal(found[1], found[0])
    with raises(UnsupportedOpError):
        vjp(graph)


def test_gradients_are_those_of_one_number():
    with raises(UsageError):
        grad(rlx.trace("g", lambda x: x * 2.0, f32(3)).graph)
    with raises(UsageError):
        grad(rlx.trace("g", lambda x: x.argmax(axis=0), f32(3)).graph)


def test_scatters_that_merge_otherwise_are_refused():
    graph = Graph("g")
    x, u = graph.input("x", f32(4)), graph.input("u", f32(2))
    indices = graph.constant(np.array([1, 1], np.int32))
    op = real.RealScatter(merge=real.Scatter.MAXIMUM)
    graph.output(graph.apply(op, x, indices, u))
    with raises(UnsupportedOpError):
        jvp(graph)


def test_scans_are_derived_in_reverse():
    def step(total, x):
        total = (total * x).sin()
        return total, total * 2.0

    def model(start, xs):
        total, ys = rlx.scan(step, start, xs)
        return (total * ys).sum()

    graph = rlx.trace("g", model, f32(2), f32(5, 2)).graph
    assert any(isinstance(n.op, Scan) for n in graph.op_nodes)
    gradients = grad(graph)
    compiled = rlx.Session().compile(gradients)
    generator = np.random.default_rng(0)
    inputs = {
        "start": generator.standard_normal(2).astype(np.float32),
        "xs": generator.standard_normal((5, 2)).astype(np.float32),
    }
    for found, expected in zip(compiled.run(inputs), evaluate(gradients, inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
