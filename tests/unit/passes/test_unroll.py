"""Control flow that is known in advance becomes plain nodes; what depends on data stays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlx
from rlx.driver.driver import fit_to_target, lower
from rlx.ir import GraphModule, QuantParams, i8, i32
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.ops.control import CONTROL_OPS, If, Scan, While
from rlx.ops.nn import NnGru, NnLstm, NnRnn
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QAdd, QClamp
from rlx.passes import pipeline
from rlx.passes.unroll import MAX_NODES, Unroll, fixed_trips, unroll
from rlx.support.errors import UnsupportedOpError
from rlx.targets import load
from rlx.tracing import Graph
from strategies import STRATEGIES
from support.messages import raises


def left(graph):
    """Return the names of the ops with control flow in a graph."""
    return [n.op.name for n in graph.op_nodes if isinstance(n.op, CONTROL_OPS)]


def check(graph, inputs):
    """Unroll, verify, and compare bit for bit; return the graph."""
    made = unroll(graph)
    verify(GraphModule.hir(made))
    with np.errstate(all="ignore"):
        for a, b in zip(evaluate(made, inputs), evaluate(graph, inputs), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    assert [v.type for v in made.outputs] == [v.type for v in graph.outputs]
    return made


@settings(max_examples=40)
@given(case=STRATEGIES[Scan](size=3))
def test_scans_of_fixed_length_unroll(case):
    assert left(check(case.graph, case.inputs)) == []


@pytest.mark.parametrize("op", [NnRnn, NnGru, NnLstm], ids=lambda op: op.name)
@settings(max_examples=20)
@given(data=st.data())
def test_recurrent_layers_of_fixed_length_unroll(op, data):
    case = data.draw(STRATEGIES[op](size=3))
    made = check(case.graph, case.inputs)
    assert left(made) == []
    assert op.name not in {n.op.name for n in made.op_nodes}


@pytest.mark.parametrize("length", ["steps", 500])
def test_recurrent_layers_of_open_length_or_too_many_steps_stay(length):
    graph = Graph("g")
    x = graph.input("x", (length, 1, 2))
    graph.output(x.lstm(np.zeros((12, 2)), np.zeros((12, 3)))[0])
    assert "nn.lstm" in {n.op.name for n in unroll(graph.graph).op_nodes}


@pytest.mark.parametrize("op", [If, While])
@settings(max_examples=30)
@given(data=st.data())
def test_what_depends_on_inputs_stays(op, data):
    case = data.draw(STRATEGIES[op](size=3))
    (node,) = (n for n in case.graph.nodes if type(n.op) is op)
    made = check(case.graph, case.inputs)
    if node.operands[0].constant is None and getattr(node.op, "max_iterations", 1) != 0:
        assert left(made) == [op.name]
    else:
        assert left(made) == []


def counted(first, bound, most=None):
    """Return a graph of a loop that counts from ``first`` to ``bound``."""
    graph = Graph("counted")
    x = graph.input("x", (2,), "i32")
    count = graph.constant(first, "i32")
    result = rlx.while_loop(
        lambda i, v: i < bound, lambda i, v: (i + 1, v * 2 + i), (count, x), max_iterations=most
    )
    graph.output(*result)
    return graph.graph


@pytest.mark.parametrize(
    ("first", "bound", "most", "trips"),
    [(0, 5, None, 5), (3, 5, None, 2), (5, 5, None, 0), (0, 5, 3, 3), (0, 5, 0, 0)],
)
def test_loops_with_a_counter_unroll(first, bound, most, trips):
    graph = counted(first, bound, most)
    (node,) = (n for n in graph.nodes if isinstance(n.op, While))
    known = [o.constant for o in node.operands]
    assert fixed_trips(node.op, known, 100) == trips
    made = check(graph, {"x": np.array([1, -3], np.int32)})
    assert left(made) == []
    assert sum(n.op.name == "real.mul" for n in made.nodes) == trips


def test_a_loop_is_followed_so_far_only():
    graph = counted(0, 50)
    (node,) = (n for n in graph.nodes if isinstance(n.op, While))
    known = [o.constant for o in node.operands]
    assert fixed_trips(node.op, known, 49) is None
    assert fixed_trips(node.op, known, 50) == 50
    assert fixed_trips(node.op, [None, None], 50) is None
    # An endless one is given up.
    endless = counted(0, 1).nodes[2].op
    always = While(condition=endless.condition, body=counted(0, 1).nodes[2].op.body)
    assert fixed_trips(always, [np.array(-(10**9), np.int32), None], 1000) is None


def test_a_limit_of_nodes():
    graph = counted(0, 50)
    size = unroll(graph).count
    assert left(Unroll(limit=size).apply(graph)) == []
    assert left(Unroll(limit=60).apply(graph)) == ["core.while"]
    long = counted(0, MAX_NODES)
    assert left(unroll(long)) == ["core.while"]


def test_a_graph_without_control_flow_is_left_alone():
    graph = Graph("plain")
    graph.output(graph.input("x", (2,)) + 1.0)
    assert unroll(graph.graph) is graph.graph


def test_choices_by_constants():
    graph = Graph("chosen")
    x = graph.input("x", (2,))
    yes, no = graph.constant(True), graph.constant(False)
    y = rlx.if_(yes, lambda: x + 1.0, lambda: x * 9.0)
    graph.output(rlx.if_(no, lambda: y + 1.0, lambda: y * 9.0))
    made = check(graph.graph, {"x": np.ones(2, np.float32)})
    assert [n.op.name for n in made.op_nodes] == ["real.add", "real.mul"]


def test_what_becomes_known_by_unrolling_is_unrolled_too():
    """A loop in a scan counts to the scan's index, a choice depends on it."""
    graph = Graph("triangle")
    x = graph.input("x", (2,), "i32")

    def step(carry, i):
        zero = carry.builder.innermost.constant(0, "i32")
        _, following = rlx.while_loop(
            lambda j, v: j < i, lambda j, v: (j + 1, v + x), (zero, carry)
        )
        return following, rlx.if_(i > 1, lambda: following, lambda: x)

    last, ys = rlx.scan(step, x, graph.constant(np.arange(4, dtype=np.int32)))
    graph.output(last, ys)
    made = pipeline("default").run(graph.module).graph
    assert left(made) == []
    inputs = {"x": np.array([1, 5], np.int32)}
    for a, b in zip(evaluate(made, inputs), evaluate(graph.graph, inputs), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(evaluate(made, inputs)[0], [7, 35])


def test_bodies_that_stay_are_simplified():
    graph = Graph("inner")
    x = graph.input("x", (2,))
    rate = graph.input("rate", ())

    def body(v):
        inner, _ = rlx.scan(lambda c, e: (c + e, None), v, x.builder.innermost.constant(
            np.ones((3, 2), np.float32)))  # fmt: skip
        return inner * rate.relu()

    graph.output(rlx.while_loop(lambda v: v.sum() < 30.0, body, x))
    made = pipeline("default").run(graph.module).graph
    assert left(made) == ["core.while"]
    (node,) = (n for n in made.nodes if isinstance(n.op, While))
    inside = [n.op.name for n in node.op.body.op_nodes]
    assert "core.scan" not in inside
    assert "nn.relu" not in inside
    inputs = {"x": np.ones(2, np.float32), "rate": np.float32(2)}
    (found,), (expected,) = evaluate(made, inputs), evaluate(graph.graph, inputs)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


QUANT = QuantParams.per_tensor(0.5, 0)


def recurrent(length=6):
    """Return an int8 network with a state: it adds each row of its input, clamped."""
    graph = Graph("recurrent")
    xs = graph.input("xs", i8(length, 1, 4, quant=QUANT))
    start = graph.constant(np.zeros((1, 4), np.int8), quant=QUANT)
    add = QAdd(
        x_zero_point=0, y_zero_point=0, left_shift=20, x_rescale=Rescale.of(0.5),
        y_rescale=Rescale.of(0.5), rescale=Rescale.of(2.0**-19), zero_point=0,
    )  # fmt: skip

    def step(state, x):
        builder = state.builder.innermost
        value = builder.graph.apply(add, state.value, x.value, quant=QUANT)
        following = type(state)(builder, value).apply(QClamp(low=-100, high=90))
        return following, following

    last, states = rlx.scan(step, start, xs)
    graph.output(last, states)
    return graph


@pytest.mark.parametrize("target", ["cortexm", "fpga"])
def test_a_scan_of_integer_ops_reaches_a_target(target):
    graph = recurrent()
    fitted = fit_to_target(graph.module, load(target))
    fitted.dispatch.require_ready()
    assert left(fitted.module.graph) == []
    codes = np.random.default_rng(1).integers(-128, 128, (6, 1, 4), np.int8)
    found = evaluate(fitted.module.graph, {"xs": codes})
    state, rows = np.zeros((1, 4), np.int64), []
    for row in codes:
        state = np.clip(state + row, -100, 90)
        rows.append(state)
    np.testing.assert_array_equal(found[0], state)
    np.testing.assert_array_equal(found[1], rows)


@pytest.mark.parametrize("target", ["cortexm", "fpga"])
def test_a_scan_of_integer_ops_is_emitted(target):
    chosen = load(target)
    lowered = lower(recurrent(3).module, chosen)
    emission = chosen.emit(lowered.module, chosen.options())
    assert any("recurrent" in name for name in emission.files)


@pytest.mark.parametrize("target", ["cortexm", "fpga"])
@pytest.mark.parametrize(
    "build",
    [
        lambda x: rlx.if_(x.cast("i32").sum() > 0, lambda: x, lambda: x),
        lambda x: rlx.while_loop(lambda v: v.cast("i32").sum() > 0, lambda v: v, x),
        lambda x: rlx.scan(lambda c, v: (c.apply(QClamp(high=9)), v), x, length=5000)[0],
    ],
)
def test_targets_refuse_control_flow_by_name(target, build):
    graph = Graph("g")
    graph.output(build(graph.input("x", i8(1, 4))))
    with raises(UnsupportedOpError):
        fit_to_target(graph.module, load(target)).dispatch.require_ready()


def test_types_of_other_integers_unroll_to_tensor_algebra():
    graph = Graph("sums")
    xs = graph.input("xs", i32(3, 2))
    graph.output(*rlx.scan(lambda c, x: (c + x, c), xs[0], xs))
    made = check(graph.graph, {"xs": np.arange(6, dtype=np.int32).reshape(3, 2)})
    assert {n.op.dialect for n in made.op_nodes} == {"real"}
