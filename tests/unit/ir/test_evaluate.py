"""Evaluation of graphs."""

import numpy as np
import pytest

from rlx.ir import Dim, Graph, f32, i8
from rlx.ir.evaluate import evaluate, evaluate_all
from rlx.ops.q import QClamp
from rlx.ops.real import RealAdd, RealTopK
from support.messages import raises


def add_graph(*shape):
    graph = Graph("add")
    x = graph.input("x", f32(*(shape or (2,))))
    total = graph.apply(RealAdd(), x, graph.param("w", f32(2)), name="sum")
    graph.output(total, x)
    return graph


X = np.array([1, 2], np.float32)
W = np.array([10, 20], np.float32)


def test_outputs_come_in_order():
    total, x = evaluate(add_graph(), {"x": X}, {"w": W})
    np.testing.assert_array_equal(total, [11, 22])
    np.testing.assert_array_equal(x, X)


def test_every_value_can_be_seen():
    graph = Graph("g")
    x = graph.input("x", f32(3))
    node = graph.append(RealTopK(count=2), x)
    graph.output(node.results[0])
    values = evaluate_all(graph, {"x": np.array([1, 3, 2], np.float32)})
    assert set(values) == {x, *node.results}
    np.testing.assert_array_equal(values[node.results[1]], [1, 2])


def test_symbols_take_any_size():
    graph = add_graph(Dim("N"), 2)
    total, _ = evaluate(graph, {"x": np.ones((3, 2), np.float32)}, {"w": W})
    assert total.shape == (3, 2)


@pytest.mark.parametrize(
    ("inputs", "params"),
    [
        ({}, {"w": W}),
        ({"y": X}, {"w": W}),
        ({"x": X}, None),
        ({"x": X[:1]}, {"w": W}),
        ({"x": X.astype(np.float64)}, {"w": W}),
    ],
)
def test_wrong_values_are_refused(inputs, params):
    with raises(ValueError):
        evaluate(add_graph(), inputs, params)


def test_symbols_stand_for_one_size():
    graph = Graph("g")
    x = graph.input("x", f32(Dim("N"), 2))
    y = graph.input("y", f32(Dim("N"), Dim("N")))
    graph.output(x, y)
    evaluate(graph, {"x": np.ones((3, 2), np.float32), "y": np.ones((3, 3), np.float32)})
    for x_shape, y_shape in [((3, 4), (3, 3)), ((3,), (3, 3)), ((3, 2), (3, 4))]:
        arrays = {"x": np.ones(x_shape, np.float32), "y": np.ones(y_shape, np.float32)}
        with raises(ValueError):
            evaluate(graph, arrays)


def test_lists_are_taken_as_arrays_only_with_the_right_type():
    graph = Graph("g")
    graph.output(graph.apply(QClamp(low=0), graph.input("x", i8(2))))
    with raises(ValueError):
        evaluate(graph, {"x": [1, 2]})
