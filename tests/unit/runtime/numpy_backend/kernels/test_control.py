"""Control flow in given arrays: carries that change places, and nothing allocated."""

import tracemalloc

import numpy as np
import pytest

import rlx
from rlx.ir.evaluate import evaluate
from rlx.ops.control import CONTROL_OPS
from rlx.runtime.numpy_backend.step import KERNELS
from rlx.tracing import Graph


def run(graph, **inputs):
    """Return the results of a compiled graph's second run, which must be those of its meaning."""
    compiled = rlx.Session().compile(graph)
    compiled.run_typed(inputs)
    found = [np.array(a) for a in compiled.run_typed(inputs)]
    for a, b in zip(found, evaluate(graph.graph, inputs), strict=True):
        np.testing.assert_array_equal(a, b)
    return [a.tolist() for a in found]


def test_control_flow_has_kernels():
    assert all(op in KERNELS for op in CONTROL_OPS)


X, Y = np.array([1, 2], np.float32), np.array([5, 7], np.float32)


def two():
    graph = Graph("two")
    return graph, graph.input("x", (2,)), graph.input("y", (2,))


@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_carries_change_places(length):
    graph, x, y = two()
    (a, b), ways = rlx.scan(lambda c, _: ((c[1], c[0]), c[0]), (x, y), length=length)
    graph.output(a, b, ways)
    assert run(graph, x=X, y=Y)[0] == (Y if length % 2 else X).tolist()


def test_a_carry_becomes_another_one():
    graph, x, y = two()
    a, b = rlx.while_loop(lambda a, b: a.sum() < 90.0, lambda a, b: (b, a + b), (x, y))
    graph.output(a, b)
    assert run(graph, x=X, y=Y)[0] == [45, 66]


def test_carries_that_stay_and_what_is_given_through():
    graph, x, y = two()
    (kept, moved), ys = rlx.scan(lambda c, e: ((c[0], e), (y, c[0])), (x, x), y.expand_dims(0))
    graph.output(kept, moved, *ys)
    assert run(graph, x=X, y=Y) == [X.tolist(), Y.tolist(), [Y.tolist()], [X.tolist()]]


def test_branches_give_operands_and_constants():
    graph, x, y = two()
    zero = graph.constant(np.zeros(2, np.float32))
    same = lambda: (y, x, zero)  # noqa: E731 - the same function twice
    graph.output(*rlx.if_(x.max() > y.max(), same, lambda: (x, zero, y)))
    assert run(graph, x=X, y=Y) == [X.tolist(), [0, 0], Y.tolist()]
    assert run(graph, x=Y, y=X) == [X.tolist(), Y.tolist(), [0, 0]]


def test_what_constants_alone_give_may_be_infinite():
    graph, x, y = two()
    none = graph.constant(np.zeros(2, np.float32))
    last, _ = rlx.scan(lambda c, _: (c + y / none * none.exp(), None), x, length=2)
    graph.output(last, rlx.scan(lambda c, _: (c.maximum(none / none), None), y, length=1)[0])
    assert run(graph, x=X, y=Y)[0] == [np.inf, np.inf]


def test_nothing_is_allocated_after_the_first_run():
    size = 50_000
    graph = Graph("large")
    x, xs = graph.input("x", (size,)), graph.input("xs", (3, size))
    last, ways = rlx.scan(lambda c, e: (c * 0.5 + e, c - e), x, xs)
    halved = rlx.while_loop(lambda v: v.max() > 0.1, lambda v: v * 0.5, last)
    graph.output(rlx.if_(halved.max() > 1.0, lambda: halved, lambda: -halved), ways)
    compiled = rlx.Session().compile(graph)
    inputs = {"x": np.ones(size, np.float32), "xs": np.ones((3, size), np.float32)}
    compiled.run_raw(inputs)
    tracemalloc.start()
    try:
        first, ways = compiled.run_raw(inputs)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000  # a tenth of one value
    assert (float(first[0]), float(ways[2, 0])) == (-0.05859375, 0.75)
