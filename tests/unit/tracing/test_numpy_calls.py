"""NumPy's functions, vectors and arrays of indices on traced tensors, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import rlx
from rlx.ir.evaluate import evaluate
from rlx.support.errors import ShapeError
from rlx.tracing import Graph
from support.messages import raises

X = np.array([[1.5, -2.0, 3.0], [-4.0, 5.0, 0.5]], np.float32)
Y = np.array([[2.0, 2.0, -1.0], [0.5, 4.0, 8.0]], np.float32)
SMALL = np.arange(-128, 128).astype(np.int8)


def traced(function, *arrays):
    """Return the result of a function of tensors for these arrays."""
    graph = Graph("g")
    names = "xyz"[: len(arrays)]
    inputs = [graph.input(n, a.shape, a.dtype) for n, a in zip(names, arrays, strict=True)]
    graph.output(function(*inputs))
    (value,) = evaluate(graph.graph, dict(zip(names, arrays, strict=True)))
    return value


def same(function, *arrays):
    """The function does the same to tensors as to arrays, bit for bit."""
    found, expected = traced(function, *arrays), np.asarray(function(*arrays))
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


EXACT = [
    np.add, np.subtract, np.multiply, np.divide, np.remainder, np.maximum, np.minimum, np.less,
    np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal,
]  # fmt: skip


@pytest.mark.parametrize("function", EXACT)
def test_ufuncs_of_two(function):
    same(function, X, Y)
    same(lambda x: function(x, 2), X)
    same(lambda x: function(x, Y[0]), X)
    same(lambda x: function(Y, x), X)
    same(lambda x: function(np.float32(2), x), X)


@pytest.mark.parametrize(
    "function",
    [np.negative, np.positive, np.absolute, np.floor, np.ceil, np.rint, np.sign, np.square,
     np.isnan],
)  # fmt: skip
def test_ufuncs_of_one(function):
    same(function, X)


METHODS = {
    np.exp: "exp", np.expm1: "expm1", np.log: "log", np.log1p: "log1p", np.sqrt: "sqrt",
    np.tanh: "tanh", np.sin: "sin", np.cos: "cos", np.tan: "tan", np.arctan: "atan",
}  # fmt: skip


@pytest.mark.parametrize("function", METHODS)
def test_ufuncs_with_a_method_are_that_method(function):
    found = traced(function, np.abs(X))
    expected = traced(lambda x: getattr(x, METHODS[function])(), np.abs(X))
    assert found.tobytes() == expected.tobytes()


def test_ufuncs_of_booleans_and_bits():
    positive = X > 0
    for function in (np.logical_and, np.logical_or, np.logical_xor):
        same(lambda p, f=function: f(p, ~positive), positive)
    same(np.logical_not, positive)
    for function in (np.bitwise_and, np.bitwise_or, np.bitwise_xor):
        same(lambda x, f=function: f(x, np.int8(12)), SMALL)
    same(np.invert, SMALL)


def test_floor_division_of_all_integers():
    x, y = np.repeat(SMALL, 255), np.tile(SMALL[SMALL != 0], 256)
    with np.errstate(over="ignore"):
        same(lambda a, b: a // b, x, y)
    same(lambda a: a // 7, SMALL)
    same(lambda a: np.floor_divide(a, np.uint8(7)), SMALL.view(np.uint8))
    same(lambda a: np.int8(100) // a, SMALL[SMALL != 0])


def test_products_with_vectors():
    vector, row = np.array([1, -2, 3], np.float32), np.array([4, 5], np.float32)
    same(lambda x: x @ vector, X)
    same(lambda x: row @ x, X)
    same(lambda v: v @ vector, vector)
    same(lambda v: X @ v, vector)
    same(lambda x: np.matmul(x, vector), np.stack([X, Y]))


@pytest.mark.parametrize(
    "index",
    [
        np.array([2, 0, -1]), [1, 0], [[0, 1], [2, 2]], np.array([True, False, True]),
        (slice(None), [1, 1]), (..., [3, 0]), (None, slice(1, None), [0, -1]),
        (slice(0, 2), ..., np.array([0])), np.array([], np.int64),
    ],
)  # fmt: skip
def test_arrays_as_indices(index):
    same(lambda x: x[index], np.arange(24, dtype=np.float32).reshape(3, 4, 2)[..., [0, 1, 0, 1]])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.where(x > 0, x, 0), lambda x: np.where(X > 0, x, Y),
        lambda x: np.concatenate([x, Y]), lambda x: np.concatenate([Y, x], axis=1),
        lambda x: np.stack([x, Y], axis=1), lambda x: np.clip(x, -1, 2),
        lambda x: np.reshape(x, (3, 2)), lambda x: np.reshape(x, -1), np.transpose,
        lambda x: np.expand_dims(x, 1), lambda x: np.squeeze(np.expand_dims(x, 0), 0),
        lambda x: np.squeeze(np.reshape(x, (1, 2, 1, 3))),
        lambda x: np.squeeze(np.reshape(x, (1, 2, 1, 3)), axis=(0, -2)),
        lambda x: np.squeeze(np.reshape(x, (1, 2, 3)), axis=()),
        lambda x: np.broadcast_to(x, (2, 2, 3)), lambda x: np.sum(x, axis=0), np.max, np.min,
        lambda x: np.mean(x, axis=(0, 1), keepdims=True), lambda x: np.prod(x, axis=-1),
    ],
)  # fmt: skip
def test_other_functions(function):
    same(function, X)


def test_a_network_in_numpy_runs():
    @rlx.model(rlx.f32(2, 3))
    def network(x):
        return np.maximum(x @ np.array([1.0, 2.0, 3.0]), 0)

    assert network(X)[0].tolist() == [6.5, 7.5]


@pytest.mark.parametrize(
    "function",
    [
        np.sort, np.linalg.norm, np.arctan2, np.sinh, lambda x: np.add.reduce(x),
        lambda x: np.exp(x, out=X), np.asarray, lambda x: x // 2, lambda x: x[[0.5]],
        lambda x: x[0, [1]],
    ],
)  # fmt: skip
def test_what_does_not_work_says_what_does(function):
    x = Graph("g").input("x", (2, 3))
    with raises(TypeError):
        function(x, x) if function is np.arctan2 else function(x)


def test_indices_outside_are_refused():
    x = Graph("g").input("x", (2, 3))
    for index in ([2], [-3], [True]):
        with raises(IndexError):
            x[index]
    with raises(ShapeError):
        x @ 2.0
