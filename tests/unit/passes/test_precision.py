"""Precision policies: what becomes narrow, what stays, and how far results move."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ir import DType, Graph, GraphModule, TensorType, f32, rebuild
from rlx.ir.evaluate import evaluate
from rlx.ir.graph import Source
from rlx.ir.layer_names import layer_names, with_layer_names
from rlx.ir.regions import all_nodes
from rlx.ir.verify import verify
from rlx.ops import nn, real
from rlx.ops.nn import NN_OPS
from rlx.ops.q import Q_OPS
from rlx.ops.real import REAL_OPS
from rlx.passes.decompose import decompose
from rlx.passes.op_classes import CLASSES, OpClass, class_of
from rlx.passes.precision import POLICIES, PrecisionPolicy, apply_precision
from rlx.support.errors import UsageError
from strategies import STRATEGIES, float_graphs, random_graphs
from support.messages import raises
from support.networks.ir_samples import Choose, scaled

NARROW = {"f16": DType.F16, "bf16": DType.BF16, "mixed-f16": DType.F16, "mixed-bf16": DType.BF16}
ROUNDOFF = {DType.F16: 2.0**-11, DType.BF16: 2.0**-8}
every_policy = pytest.mark.parametrize("name", list(NARROW))


def policy(name, *keep):
    return PrecisionPolicy.named(name, keep=keep)


def types_of(graph, op):
    """Return the element types of the first results of all nodes of an op, sorted."""
    return sorted(n.types[0].dtype.value for n in graph.op_nodes if isinstance(n.op, op))


def ends(graph):
    """Return names and types of inputs, parameters, states and outputs."""
    given = [(v.name, v.type) for v in (*graph.inputs, *graph.params)]
    states = [(a.name, b.type) for a, b in graph.states]
    return given, states, graph.output_names, [v.type for v in graph.outputs]


def check_casts(graph):
    """Fail if a value is converted twice to one type, or there and back."""
    casts = [n for n in graph.op_nodes if isinstance(n.op, real.RealCast)]
    counts = Counter((n.operands[0], n.op.dtype) for n in casts)
    assert set(counts.values()) <= {1}
    for node in casts:
        before = node.operands[0].node
        if isinstance(before.op, real.RealCast) and before.types[0].dtype is DType.F32:
            assert before.operands[0].type.dtype is not node.op.dtype


def check(graph, name):
    """Apply a policy, check what holds for every graph, and return the result."""
    found = apply_precision(graph, policy(name))
    verify(GraphModule.mir(found.graph))
    assert ends(found.graph) == ends(graph)
    check_casts(found.graph)
    again = apply_precision(found.graph, policy(name))
    assert again.graph is found.graph
    assert (again.report.casts, again.report.constants) == (0, 0)
    total = sum(len(entry.nodes) for entry in found.report.entries)
    assert total == sum(not isinstance(n.op, Source) for n in all_nodes(graph))
    return found


@pytest.mark.parametrize("op", REAL_OPS, ids=lambda op: op.name)
def test_every_real_op_has_a_class(op):
    assert CLASSES.knows(op)
    assert op in CLASSES


def test_ops_of_other_levels_are_boundaries():
    assert {class_of(op) for op in (*NN_OPS, *Q_OPS)} == {OpClass.BOUNDARY}


@every_policy
@given(case=random_graphs(size=3))
@settings(max_examples=20)
def test_integer_networks_are_left_alone(name, case):
    assert apply_precision(case.graph, policy(name)).graph is case.graph


@every_policy
@given(case=float_graphs(size=3))
@settings(max_examples=30)
def test_float_networks_stay_sound(name, case):
    graph = decompose(case.graph)
    found = check(graph, name)
    (y,) = evaluate(found.graph, case.inputs)
    assert y.dtype == np.float32
    assert apply_precision(graph, policy("f32")).graph is graph


def close_to(x, dtype):
    """Return an array as ``dtype`` holds it, if it is f32."""
    if x.dtype != np.float32:
        return x
    with np.errstate(over="ignore"):
        return x.astype(dtype.numpy).astype(np.float32)


def rounded(graph, dtype):
    """Return a graph whose f32 constants are numbers that ``dtype`` holds."""

    def visit(new, node, operands):
        array = None if operands else node.result.constant
        return None if array is None else [new.constant(close_to(array, dtype))]

    return rebuild(graph, visit)


@every_policy
@pytest.mark.parametrize("op", REAL_OPS, ids=lambda op: op.name)
@given(data=st.data())
@settings(max_examples=3)
def test_a_narrow_op_is_the_op_in_f32_rounded_once(op, name, data):
    case = data.draw(STRATEGIES[op](size=3))
    found, dtype = check(case.graph, name), NARROW[name]
    inputs = {n: close_to(x, dtype) for n, x in case.inputs.items()}
    narrow = {label for e in found.report.entries if e.dtype for label in e.nodes}
    plain = rounded(case.graph, dtype) if narrow else case.graph
    for new, old, output in zip(
        evaluate(found.graph, inputs), evaluate(plain, inputs), case.graph.outputs, strict=True
    ):
        wanted = close_to(old, dtype) if output.node.label in narrow else old
        assert new.dtype == wanted.dtype
        # NumPy finds NaN equal only in types of its own.
        np.testing.assert_array_equal(*(np.asarray(a, np.float64) for a in (new, wanted)))


def mlp(layers=3, seed=0):
    """Return a chain of dense layers with ReLU, its input, and its weights."""
    random = np.random.default_rng(seed)
    graph = Graph("mlp")
    value = graph.input("x", f32(4, 24))
    weights = []
    for layer in range(layers):
        w = (random.standard_normal((24, 24)) / 5).astype(np.float32)
        b = random.standard_normal(24).astype(np.float32)
        weights.append((w, b))
        value = graph.apply(real.RealMatmul(), value, graph.constant(w), name=f"fc{layer}")
        value = graph.apply(real.RealAdd(), value, graph.constant(b), name=f"fc{layer}")
        value = graph.apply(real.RealMaximum(), value, graph.constant(np.zeros((), np.float32)))
    graph.output(value, names=["y"])
    return graph, random.standard_normal((4, 24)).astype(np.float32), weights


@every_policy
@pytest.mark.parametrize("seed", range(5))
def test_errors_of_a_chain_stay_within_the_bound_of_rounding(name, seed):
    graph, x, weights = mlp(seed=seed)
    u = ROUNDOFF[NARROW[name]]
    (exact,), (found,) = (
        evaluate(g, {"x": x}) for g in (graph, apply_precision(graph, policy(name)).graph)
    )
    # Each rounding moves a number by at most u of itself; sums in f32 add next to nothing.
    size, error = np.abs(x).astype(np.float64), np.zeros(x.shape)
    for w, b in weights:
        moved = (np.abs(size) + error) * (1 + u)
        products = moved @ (np.abs(w) * (1 + u))
        error = products - size @ np.abs(w) + u * products
        error += u * np.abs(b) + u * (products + np.abs(b) * (1 + u)) + 1e-5
        size = size @ np.abs(w) + np.abs(b)
    assert np.all(np.abs(found - exact) <= error)
    assert np.any(found != exact)


@pytest.mark.parametrize("name", ["mixed-f16", "mixed-bf16"])
def test_mixed_leaves_softmax_and_normalization_in_f32(name):
    graph = Graph("block")
    x = graph.input("x", f32(2, 6, 8))
    w = graph.param("w", f32(8, 8))
    hidden = graph.apply(real.RealMatmul(), x, w, name="project")
    scale, shift = graph.param("scale", f32(8)), graph.param("shift", f32(8))
    normal = graph.apply(nn.NnLayerNorm(), hidden, scale, shift, name="norm")
    scores = graph.apply(nn.NnSoftmax(axis=-1), normal, name="softmax")
    graph.output(graph.apply(real.RealMatmul(), scores, w, name="out"))
    found = check(decompose(graph), name).graph
    assert types_of(found, real.RealMatmul) == [NARROW[name].value] * 2
    for node in found.op_nodes:
        if node.name in ("norm", "softmax") and not isinstance(node.op, real.RealCast):
            assert {t.dtype for t in node.types} == {DType.F32}
    # w and the operands of both products; the hidden values back to f32 once, and the output.
    assert sum(isinstance(n.op, real.RealCast) for n in found.op_nodes) == 5


def test_elements_follow_their_operands():
    graph, _, _ = mlp()
    found = check(graph, "mixed-f16")
    assert [e.dtype for e in found.report.entries] == [DType.F16] * 3
    assert (found.report.casts, found.report.constants) == (2, 9)
    assert found.report.count(DType.F16) == 9
    residual = Graph("residual")
    x = residual.input("x", f32(4, 4))
    y = residual.apply(real.RealMatmul(), x, x, name="product")
    residual.output(residual.apply(real.RealAdd(), x, y, name="sum"))
    found = check(residual, "mixed-f16")
    assert types_of(found.graph, real.RealAdd) == ["f32"]
    assert [(e.op, e.reason) for e in found.report.entries if e.reason] == [
        ("real.add", "an operand is f32")
    ]
    assert types_of(check(residual, "f16").graph, real.RealAdd) == ["f16"]


def test_what_stays_is_named_by_op_or_node():
    graph, _, _ = mlp()
    found = check_kept(graph, "fc1")
    assert found["fc1"] == ["f32", "f32"]
    assert found["fc0"] == ["f16", "f16"]
    assert check_kept(graph, "fc[01]")["fc2"] == ["f16", "f16"]
    assert check_kept(graph, "real.matmul")["fc0"] == ["f16", "f32"]
    report = apply_precision(graph, policy("f16", "fc*")).report
    assert [(e.op, e.dtype, e.reason) for e in report.entries] == [
        ("real.add", None, "'fc*' stays"),
        ("real.matmul", None, "'fc*' stays"),
        ("real.maximum", DType.F16, ""),
    ]


def test_what_stays_is_named_by_layer():
    graph = Graph("g")
    x = graph.input("x", f32(3))
    y = graph.apply(real.RealAdd(), x, x, name="/encoder/sum/Add")
    graph.output(graph.apply(real.RealMul(), y, x, name="/encoder/sum/Mul"))
    named = with_layer_names(graph)
    assert sorted(layer_names(named).values()) == ["Add", "Mul", "x"]
    for keep in ("Add", "A*", "/encoder/*/Add"):
        assert check_kept(named, keep) == {"/encoder/sum/Add": ["f32"], "/encoder/sum/Mul": ["f16"]}


def check_kept(graph, *keep):
    """Return the types of the nodes that compute by their name."""
    new = apply_precision(graph, policy("f16", *keep)).graph
    found = {}
    for node in new.op_nodes:
        if not isinstance(node.op, real.RealCast):
            found.setdefault(node.name, []).append(node.types[0].dtype.value)
    return {name: sorted(types) for name, types in found.items()}


def test_what_stays_has_to_exist():
    graph, _, _ = mlp()
    with raises(UsageError):
        apply_precision(graph, policy("f16", "fc0", "real.matmull"))
    with raises(UsageError):
        apply_precision(graph, policy("f16", "zzzzzz"))


def with_constant(number, op=real.RealAdd):
    graph = Graph("g")
    x = graph.input("x", f32(3))
    graph.output(graph.apply(op(), x, graph.constant(np.float32(number)), name="y"))
    return graph


@pytest.mark.parametrize(
    ("number", "name", "reason"),
    [
        (-1e9, "f16", "a constant is outside the range of f16"),
        (-1e9, "bf16", ""),
        (3.4e38, "bf16", "a constant is outside the range of bf16"),
        (-np.inf, "f16", ""),
        (1e-12, "f16", "a constant is 0 in f16"),
        (1e-12, "bf16", ""),
        (0.0, "f16", ""),
        (0.1, "f16", ""),
    ],
)
def test_constants_that_a_type_cannot_hold_keep_their_op(number, name, reason):
    (entry,) = check(with_constant(number), name).report.entries
    assert entry.reason == reason
    assert entry.dtype is (None if reason else NARROW[name])


def test_paddings_that_a_type_cannot_hold_keep_their_op():
    graph = Graph("g")
    x = graph.apply(real.RealNeg(), graph.input("x", f32(3)))
    graph.output(graph.apply(real.RealPad(before=(1,), after=(0,), value=-1e9), x))
    entries = check(graph, "f16").report.entries
    assert [(e.op, e.reason) for e in entries] == [
        ("real.neg", ""),
        ("real.pad", "a constant is outside the range of f16"),
    ]


def test_what_depends_on_parameters_only_stays_and_is_cast_once():
    graph = Graph("g")
    x, w = graph.input("x", f32(2, 3)), graph.param("w", f32(3, 3))
    turned = graph.apply(real.RealTranspose(axes=(1, 0)), w, name="turn")
    graph.output(graph.apply(real.RealMatmul(), x, turned), graph.apply(real.RealMatmul(), w, w))
    found = check(graph, "f16")
    assert types_of(found.graph, real.RealTranspose) == ["f32"]
    assert types_of(found.graph, real.RealMatmul) == ["f16", "f32"]
    assert found.report.casts == 3  # x, the transposed weights, the output


def test_tables_that_are_read_by_index_are_as_the_rest():
    graph = Graph("g")
    rows = graph.input("rows", TensorType((2,), DType.I32))
    table = graph.constant(np.eye(4, dtype=np.float32), name="table")
    graph.output(graph.apply(real.RealGather(), table, rows))
    assert types_of(check(graph, "f16").graph, real.RealGather) == ["f16"]
    assert types_of(check(graph, "mixed-f16").graph, real.RealGather) == ["f32"]


def test_indices_booleans_and_integers_are_untouched():
    graph = Graph("g")
    x = graph.apply(real.RealAdd(), *[graph.input("x", f32(4))] * 2)
    numbers, places = graph.append(real.RealTopK(count=2), x).results
    less = graph.apply(
        real.RealCompare(relation=real.Comparison.LESS), x, graph.constant(np.float32(0.1))
    )
    count = graph.apply(real.RealCast(dtype=DType.I32), x)
    best = graph.apply(real.RealArgmax(), x)
    graph.output(numbers, places, less, count, best, graph.apply(real.RealAdd(), count, count))
    found = check(graph, "f16")
    assert [v.type.dtype.value for v in found.graph.outputs] == [
        "f32", "i32", "bool", "i32", "i32", "i32",
    ]  # fmt: skip
    # x narrow, its sum back to f32 for all that reads it; the integers come of the narrow sum.
    assert found.report.casts == 2
    reasons = {e.op: e.reason for e in found.report.entries if e.dtype is None}
    assert reasons["real.top_k"] == "it is a boundary"
    assert reasons["real.add"] == "it has no f32 operand"
    (cast,) = (n for n in found.graph.op_nodes if n.types[0].dtype is DType.I32 and
               isinstance(n.op, real.RealCast))  # fmt: skip
    assert cast.operands[0].type.dtype is DType.F16


def test_casts_of_the_graph_itself_are_not_doubled():
    graph = Graph("g")
    x = graph.input("x", TensorType((3,), DType.F16))
    wide = graph.apply(real.RealCast(dtype=DType.F32), x)
    y = graph.apply(real.RealNeg(), wide)
    graph.output(graph.apply(real.RealCast(dtype=DType.F16), y), names=["y"])
    found = check(graph, "f16")
    assert [n.op.name for n in found.graph.op_nodes] == ["real.neg"]
    assert found.report.casts == 0


def test_written_types_other_than_f32_stay():
    graph = Graph("g")
    x, y = (graph.input(n, TensorType((3,), t)) for n, t in (("x", DType.F64), ("y", DType.BF16)))
    graph.output(graph.apply(real.RealNeg(), x), graph.apply(real.RealNeg(), y))
    assert check(graph, "f16").graph is graph


def test_states_keep_their_types():
    graph = Graph("g")
    total, x = graph.state("total", f32(3)), graph.input("x", f32(3))
    graph.output(graph.apply(real.RealAdd(), total, x), names=["total"])
    found = check(graph, "bf16").graph
    assert types_of(found, real.RealAdd) == ["bf16"]
    assert [(a.type, b.type) for a, b in found.states] == [(f32(3), f32(3))]


def test_regions_are_rewritten_and_keep_their_types():
    graph = Graph("g")
    x = graph.input("x", f32(3))
    graph.output(graph.apply(Choose(body=scaled(2.5)), x, name="call"))
    found = check(graph, "f16")
    (call,) = found.graph.op_nodes
    assert types_of(call.op.body, real.RealAdd) == ["f16"]
    assert [v.type for v in (*call.op.body.inputs, *call.op.body.outputs)] == [f32(3)] * 2
    assert [e.nodes for e in found.report.entries] == [("%1 'call' body %2 'sum'",), ("%1 'call'",)]
    (y,) = evaluate(found.graph, {"x": np.array([0.1, 1, -1], np.float32)})
    np.testing.assert_array_equal(y, (np.float16([0.1, 1, -1]) + np.float16(2.5)).astype("f4"))
    kept = apply_precision(graph, policy("f16", "sum"))
    assert kept.graph is graph


def test_names_origins_and_unused_inputs_stay():
    graph, _, _ = mlp(1)
    graph.input("unused", f32(2))
    new = check(graph, "f16").graph
    names = {n.name for n in graph.nodes if not isinstance(n.op, Source)}
    assert names <= {n.name for n in new.nodes}
    (node,) = (n for n in new.op_nodes if isinstance(n.op, real.RealMatmul))
    assert node.origin.passes == ("precision",)


def test_classes_have_types_of_their_own():
    own = PrecisionPolicy(compute=DType.BF16, elementwise=DType.F16)
    graph, x, _ = mlp(1)
    found = apply_precision(graph, own)
    assert types_of(found.graph, real.RealMatmul) == ["bf16"]
    assert types_of(found.graph, real.RealAdd) == ["f16"]
    verify(GraphModule.mir(found.graph))
    (y,), (wanted,) = (evaluate(g, {"x": x}) for g in (found.graph, graph))
    np.testing.assert_allclose(y, wanted, atol=0.1)


@pytest.mark.parametrize("dtype", [DType.F64, DType.I8, None, "f16"])
def test_types_that_ops_are_not_computed_in_are_refused(dtype):
    with raises(UsageError):
        PrecisionPolicy(compute=dtype)


def test_unknown_policies_are_refused():
    with raises(UsageError):
        PrecisionPolicy.named("mixed")
    assert PrecisionPolicy.named("f32") == PrecisionPolicy()
    assert list(POLICIES) == ["f32", *NARROW]


def test_report_as_json():
    report = check(with_constant(1e-12), "f16").report
    assert report.to_dict() == {
        "casts": 0,
        "constants": 0,
        "ops": [
            {
                "op": "real.add", "class": "elementwise", "count": 1, "dtype": None,
                "reason": "a constant is 0 in f16", "nodes": ["%2 'y'"],
            }
        ],
    }  # fmt: skip
