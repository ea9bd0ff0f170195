from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import Graph, f32, i8
from rlx.ir.evaluate import evaluate
from rlx.ops.expression import Expression, scalar
from support.messages import raises


def expression() -> Expression:
    graph = Graph("g")
    return Expression(graph, graph.input("x", f32(2, 3)))


def test_formulas_read_like_formulas():
    x = expression()
    y = (1.0 - x.exp() / 2.0) * x.max(1, keep_dims=True) + abs(-x) ** 2.0 % 3.0
    x.graph.output(y.value)
    value = np.array([[0.0, 1.0, 2.0], [-1.0, 0.5, 3.0]], np.float32)
    (found,) = evaluate(x.graph, {"x": value})
    expected = (1 - np.exp(value) / 2) * value.max(1, keepdims=True) + np.abs(value) ** 2 % 3
    np.testing.assert_array_equal(found, expected)


def test_nothing_is_appended_for_nothing():
    x = expression()
    before = len(x.graph.nodes)
    assert x.reshape(2, 3) is x
    assert x.reshape(2, -1) is x
    assert x.broadcast_to(2, 3) is x
    assert x.cast(x.dtype) is x
    assert len(x.graph.nodes) == before


def test_numbers_take_the_element_type():
    for number in (True, 2, np.int64(2), 0.5, np.float64(0.5), np.float32(0.5)):
        assert scalar(number, f32(3)).dtype == np.float32
    assert scalar(np.int64(-128), i8(1)) == -128


@pytest.mark.parametrize("number", [128, -129, 1.0, np.float32(1.0)])
def test_numbers_that_do_not_fit(number):
    with raises(TypeError):
        scalar(number, i8(1))


def test_arrays_are_for_users_graphs_only():
    with raises(TypeError):
        expression() + np.ones(3)
