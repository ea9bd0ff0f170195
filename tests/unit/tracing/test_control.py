"""Control flow of traced functions."""

import numpy as np
import pytest

import rlx
from rlx.ir.evaluate import evaluate
from rlx.ir.file import load, save
from rlx.ir.parser import parse_graph
from rlx.ir.printer import format_graph
from rlx.ir.verify import verify
from rlx.ops.control import If, Scan, While
from rlx.passes.transforms.batch import with_batch
from rlx.support.errors import ShapeError, UnsupportedOpError
from rlx.tracing import Graph
from support.messages import raises

F32 = np.float32


def run(graph, *arrays):
    """Return the results of a traced graph: evaluated, compiled, and read back from its text."""
    verify(graph.module)
    inputs = dict(zip((v.name for v in graph.graph.inputs), arrays, strict=True))
    results = evaluate(graph.graph, inputs)
    compiled = rlx.Session().compile(graph).run(inputs)
    again = evaluate(parse_graph(format_graph(graph.graph)), inputs)
    for expected, *others in zip(results, compiled, again, strict=True):
        for other in others:
            np.testing.assert_allclose(other, expected, rtol=1e-6)
    return results


def ops(graph):
    return [n.op.name for n in graph.graph.op_nodes]


def test_scan():
    graph = Graph("sums")
    start, xs = graph.input("start", (2,)), graph.input("xs", (3, 2))
    last, (before, products) = rlx.scan(lambda c, x: (c + x, (c, c * x)), start, xs)
    graph.output(last, before, products)
    x = np.arange(6, dtype=F32).reshape(3, 2)
    found = run(graph, np.ones(2, F32), x)
    np.testing.assert_array_equal(found[0], [7, 10])
    np.testing.assert_array_equal(found[1], [[1, 1], [1, 2], [3, 5]])
    np.testing.assert_array_equal(found[2], [[0, 1], [2, 6], [12, 25]])
    assert [b.ndim for b in (last, before, products)] == [1, 2, 2]


def test_scan_without_xs_and_without_what_is_collected():
    graph = Graph("powers")
    x = graph.input("x", ())
    last, nothing = rlx.scan(lambda c, none: (c * 2.0, none), x, length=5)
    assert nothing is None
    graph.output(last)
    assert run(graph, F32(3))[0] == 96


def test_scan_without_a_carry_is_a_map():
    graph = Graph("squares")
    xs = graph.input("xs", ("n", 2))
    none, ys = rlx.scan(lambda c, x: (c, x * x), None, xs)
    assert none is None
    graph.output(ys)
    np.testing.assert_array_equal(run(graph, np.full((3, 2), 3, F32))[0], np.full((3, 2), 9))


def test_reverse():
    graph = Graph("back")
    xs = graph.input("xs", (3,))
    graph.output(rlx.scan(lambda c, x: (c + x, c + x), xs[0] * 0.0, xs, reverse=True)[1])
    np.testing.assert_array_equal(run(graph, np.array([1, 2, 4], F32))[0], [7, 6, 4])


def test_while_loop():
    graph = Graph("doubling")
    x, limit = graph.input("x", (2,)), graph.input("limit", ())
    count, value = rlx.while_loop(
        lambda n, v: (v.sum() < limit) & (n < 20),
        lambda n, v: (n + 1, v * 2.0),
        (graph.constant(0, "i32"), x),
    )
    graph.output(count, value)
    found = run(graph, np.ones(2, F32), F32(100))
    assert found[0] == 6
    np.testing.assert_array_equal(found[1], [64, 64])
    (node,) = (n for n in graph.graph.nodes if isinstance(n.op, While))
    assert len(node.operands) == 3  # limit is lifted, numbers are constants inside


def test_while_loop_has_a_bound():
    graph = Graph("endless")
    x = graph.input("x", ())
    graph.output(rlx.while_loop(lambda v: v < 1.0, lambda v: v - 1.0, x, max_iterations=3))
    assert run(graph, F32(0))[0] == -3


def test_if():
    graph = Graph("either")
    x, w = graph.input("x", (2, 2)), graph.param("w", value=np.eye(2, dtype=F32) * 3)
    y = rlx.if_(x.sum() > 0.0, lambda v: (v @ w).relu(), lambda v: -v, x)
    graph.output(y)
    compiled = rlx.Session().compile(graph)
    x = np.array([[1, -1], [2, 0]], F32)
    np.testing.assert_array_equal(compiled.run({"x": x})[0], [[3, 0], [6, 0]])
    np.testing.assert_array_equal(compiled.run({"x": -x})[0], x)


def test_if_with_several_results_and_no_operands():
    graph = Graph("either")
    x = graph.input("x", (2,))
    low, high = rlx.if_(x.max() > 0.0, lambda: (x, x + 1.0), lambda: [x - 1.0, x])
    graph.output(low, high)
    np.testing.assert_array_equal(run(graph, -np.ones(2, F32)), [[-2, -2], [-1, -1]])


def test_values_are_lifted_through_every_region(tmp_path):
    graph = Graph("nested")
    xs, w, bias = graph.input("xs", (3, 2)), graph.input("w", (2,)), graph.input("bias", ())
    scaled = w * 2.0

    def step(carry, x):
        def inner(total):
            return rlx.if_(total.sum() < 0.0, lambda: total + scaled, lambda: total + x + bias)

        following = rlx.while_loop(lambda t: t.max() < 4.0, inner, carry)
        return following, following.sum()

    last, sums = rlx.scan(step, xs[0] * 0.0, xs)
    graph.output(last, sums)
    assert ops(graph) == ["real.mul", "real.slice", "real.reshape", "real.mul", "core.scan"]
    (scan,) = (n for n in graph.graph.nodes if isinstance(n.op, Scan))
    assert [o.node.name for o in scan.operands[2:]] == ["", "bias"]

    xs, w, bias = np.array([[1, 2], [3, 1], [1, 1]], F32), np.ones(2, F32), F32(0.5)
    carry, expected = np.zeros(2, F32), []
    for x in xs:
        while carry.max() < 4:
            carry = carry + 2 * w if carry.sum() < 0 else carry + x + bias
        expected.append(carry.sum())
    last, sums = run(graph, xs, w, bias)
    np.testing.assert_array_equal(last, carry)
    np.testing.assert_array_equal(sums, expected)
    save(graph.module, tmp_path / "nested.rlx")
    assert load(tmp_path / "nested.rlx").graph == graph.graph


def test_conditions_and_choices_may_come_from_around():
    graph = Graph("where")
    xs, mask = graph.input("xs", (2, 3)), graph.input("mask", (3,), "bool")
    graph.output(rlx.scan(lambda c, x: (c, graph.where(mask, x, -1.0)), xs[0], xs)[1])
    x = np.arange(6, dtype=F32).reshape(2, 3)
    found = run(graph, x, np.array([True, False, True]))[0]
    np.testing.assert_array_equal(found, [[0, -1, 2], [3, -1, 5]])


def test_nothing_of_a_region_goes_to_the_graph_around_it():
    graph = Graph("g")
    x = graph.input("x", (2,))
    before = graph.graph.count
    rlx.if_(x.max() > 0.0, lambda: x.relu() + 1.0, lambda: x)
    assert graph.graph.count == before + 4  # reduce, constant, compare, if
    assert isinstance(graph.graph.nodes[-1].op, If)


def test_origins_are_lines_of_the_user():
    graph = Graph("g")
    x = graph.input("x", (2, 2))
    rlx.scan(lambda c, y: (c + y, None), x[0], x)
    node = graph.graph.nodes[-1]
    inner = node.op.body.nodes[-1]
    assert node.origin.source == inner.origin.source == "test_control.py"
    assert node.origin.location == inner.origin.location


def graph_with(name="x", shape=(2,)):
    graph = Graph("g")
    return graph, graph.input(name, shape)


def test_tensors_do_not_leave_their_region():
    graph, x = graph_with()
    kept = []
    rlx.if_(x.max() > 0.0, lambda: kept.append(x + 1.0) or x, lambda: x)
    with raises(ValueError):
        graph.output(kept[0])
    with raises(ValueError):
        x + kept[0]
    with raises(ValueError):
        kept[0] + 1.0


def test_a_function_that_fails_leaves_the_graph_as_it_was():
    graph, x = graph_with()
    with pytest.raises(ZeroDivisionError):
        rlx.if_(x.max() > 0.0, lambda: 1 / 0, lambda: x)
    assert graph.innermost is graph
    graph.output(x + 1.0)


@pytest.mark.parametrize(
    "what",
    [
        lambda x: rlx.if_(x > 0.0, lambda: x, lambda: x),
        lambda x: rlx.if_(x.sum(), lambda: x, lambda: x),
        lambda x: rlx.if_(x.sum() > 0.0, lambda: x, lambda: x[:1]),
        lambda x: rlx.if_(x.sum() > 0.0, lambda: x, lambda: (x, x)),
        lambda x: rlx.if_(x.sum() > 0.0, lambda: None, lambda: None),
        lambda x: rlx.while_loop(lambda v: v > 0.0, lambda v: v, x),
        lambda x: rlx.while_loop(lambda v: None, lambda v: v, x),
        lambda x: rlx.while_loop(lambda v: v.max() > 0.0, lambda v: v[:1], x),
        lambda x: rlx.while_loop(lambda v: v.max() > 0.0, lambda v: (v, v), x),
        lambda x: rlx.scan(lambda c, v: (c.cast("i32"), None), x, x),
        lambda x: rlx.scan(lambda c, v: (c, None), None, (x, x[:1])),
        lambda x: rlx.scan(lambda c, v: (c, None), None, x.sum()),
        lambda x: rlx.scan(lambda c, v: (c, None), None, x, length=3),
    ],
)
def test_types_that_do_not_fit(what):
    _, x = graph_with()
    with raises(ShapeError):
        what(x)


@pytest.mark.parametrize(
    "what",
    [
        lambda x: rlx.if_(x.sum() > 0.0, lambda: 3, lambda: x),
        lambda x: rlx.if_(x.sum() > 0.0, lambda: x, lambda: (x, "y")),
        lambda x: rlx.scan(lambda c, v: c, x, x),
        lambda x: rlx.scan(lambda c, v: (c, None), x),
        lambda x: rlx.scan(lambda c, v: (c, None), None, None, length=2),
        lambda x: rlx.while_loop(lambda: x, lambda: x, ()),
        lambda x: rlx.while_loop(lambda v: v, lambda v: v, 3),
    ],
)
def test_what_is_no_tensor(what):
    _, x = graph_with()
    with raises(TypeError):
        what(x)


def test_python_control_flow_on_tensors_points_here():
    _, x = graph_with()
    with raises(TypeError):
        bool(x.max() > 0.0)


def test_model_level_ops_in_a_body_are_decomposed_for_a_backend():
    graph, x = graph_with(shape=(3, 4))
    graph.output(rlx.scan(lambda c, v: (c, v.softmax().gelu()), x[0], x)[1])
    rows = {e.op: e for e in rlx.Session().compile(graph).dispatch.entries}
    assert str(rows["core.scan"].path) == "decomposed"
    assert "nn.softmax in its body: " in rows["core.scan"].reason
    run(graph, np.arange(12, dtype=F32).reshape(3, 4))


def test_batches_of_control_flow_are_refused():
    graph, x = graph_with(shape=(1, 2))
    graph.output(rlx.if_(graph.constant(True), lambda: x, lambda: -x))
    with raises(UnsupportedOpError):
        with_batch(graph.graph, 4)
