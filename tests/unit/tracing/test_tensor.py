"""Operators and methods of traced tensors, against NumPy on the same values."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import rlx
from rlx.ir import Dim, DType, f32
from rlx.ir.evaluate import evaluate
from rlx.ops.nn import Layout
from rlx.runtime import Session
from rlx.support.errors import ShapeError
from rlx.tracing import Graph
from support.messages import raises

X = np.array([[1.5, -2.0, 3.0], [-4.0, 5.0, 0.5]], np.float32)
Y = np.array([[2.0, 2.0, -1.0], [0.5, 4.0, 8.0]], np.float32)


def traced(function, *arrays):
    """Return the result of a function of tensors for these arrays."""
    graph = Graph("g")
    names = "xyz"[: len(arrays)]
    result = function(
        *(graph.input(n, a.shape, a.dtype) for n, a in zip(names, arrays, strict=True))
    )
    graph.output(result)
    (value,) = evaluate(graph.graph, dict(zip(names, arrays, strict=True)))
    return value


def same(function, *arrays):
    """The function does the same to tensors as to arrays."""
    found, expected = traced(function, *arrays), np.asarray(function(*arrays))
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.mod,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip


@pytest.mark.parametrize("function", OPERATORS)
def test_binary_operators(function):
    same(function, X, Y)
    same(lambda x: function(x, 2), X)
    same(lambda x: function(x, np.float32(2)), X)
    same(lambda x: function(x, Y[0]), X)
    same(lambda x: function(2.0, x), X)
    same(lambda x: function(Y, x), X)


def test_powers():
    same(lambda x: x**2, X)
    same(lambda x: x**2, X.astype(np.int8))
    same(lambda x: abs(x) ** 0.5, X)
    same(lambda x, y: abs(x) ** y, X, Y)
    same(lambda x: 2.0**x, X)


def test_unary_operators():
    same(operator.neg, X)
    same(operator.abs, X)
    same(operator.neg, X.astype(np.int8))


def test_matrix_products():
    same(lambda x, y: x @ y.T, X, Y)
    same(lambda x: x @ Y.T, X)
    same(lambda x: Y.T @ x, X)
    np.testing.assert_array_equal(traced(lambda x, y: x.mm(y.t()), X, Y), X @ Y.T)
    np.testing.assert_array_equal(traced(lambda x, y: x.matmul(y.mT), X, Y), X @ Y.T)


def test_logic():
    same(lambda x, y: (x > 0) & (y > 0), X, Y)
    same(lambda x, y: (x > 0) | (y > 0), X, Y)
    same(lambda x, y: (x > 0) ^ (y > 0), X, Y)
    same(lambda x: ~(x > 0), X)
    same(lambda x: True & (x > 0), X)
    graph = Graph("g")
    x = graph.input("x", 2)
    with raises(TypeError):
        x & x


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.uint64])
def test_bits(dtype):
    x, y = np.array([1, 6, 100], dtype), np.array([3, 5, 1], dtype)
    for function in (
        operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift,
    ):  # fmt: skip
        same(function, x, y)
        same(lambda x, f=function: f(x, dtype(3)), x)
        same(lambda y, f=function: f(dtype(3), y), y)
    same(operator.invert, x)


INDICES = [
    0, -1, slice(None), slice(1, None), slice(None, -1), (slice(None), 1), (..., 0), None,
    (slice(None), None, slice(0, 2)), (0, 1), (slice(None), slice(None, None, 2)),
    (slice(None), slice(None, None, -1)), (slice(None), slice(2, 0, -1)), (..., None),
    (slice(None), slice(2, 1)), (slice(None), slice(-2, 9)),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indices(index):
    same(lambda x: x[index], X)


@pytest.mark.parametrize(
    ("index", "error"),
    [
        ((0, 5), IndexError),
        (Dim("batch"), IndexError),
        ((slice(None), -4), IndexError),
        ((0, 0, 0), IndexError),
        ((..., ...), IndexError),
        ((slice(None), 1.5), TypeError),
        ((slice(None), True), TypeError),
        (slice(None, None, -1), IndexError),
    ],
)
def test_bad_indices(index, error):
    x = Graph("g").input("x", ("batch", 3))
    with raises(error):
        x[index]


SYMBOLIC_INDICES = [
    slice(1, None), slice(None, -1), slice(-2, None), slice(2, -1), slice(1, 3), 0, -1, 2,
    (slice(None), slice(0, Dim("n") - 2)), slice(Dim("n") - 1, None), (-1, ..., None),
    (slice(1, 4, 2), 1), (None, slice(1, None)), Dim("n") - 2, (slice(None), -1),
]  # fmt: skip


@pytest.mark.parametrize("index", SYMBOLIC_INDICES, ids=str)
def test_indices_of_symbolic_axes(index):
    def bound(item, n):
        if isinstance(item, slice):
            return slice(*(bound(i, n) for i in (item.start, item.stop, item.step)))
        return item.bind({"n": n}) if isinstance(item, Dim) else item

    result = Session().compile(rlx.trace("g", lambda x: x[index], f32(Dim("n"), 4)))
    items = index if isinstance(index, tuple) else (index,)
    for n in (4, 5):
        x = np.arange(4 * n, dtype=np.float32).reshape(n, 4)
        expected = x[tuple(bound(i, n) for i in items)]
        np.testing.assert_array_equal(result.run({"x": x})[0], expected)


def test_indices_beyond_a_symbolic_axis_are_found_when_it_is_bound():
    graph = rlx.trace("g", lambda x: x[1:4], f32(Dim("n"), 4))
    with raises(ShapeError):
        Session().compile(graph).run({"x": np.zeros((3, 4))})
    with raises(ValueError):
        evaluate(graph.graph, {"x": np.zeros((3, 4), np.float32)})
    graph = rlx.trace("g", lambda x: x[-3], f32(Dim("n"), 4))
    with raises(ValueError):
        Session().compile(graph).run({"x": np.zeros((2, 4))})


def test_reductions():
    for name in ("sum", "max", "min", "prod"):
        same(lambda x, name=name: getattr(x, name)(), X)
        same(lambda x, name=name: getattr(x, name)(1), X)
    np.testing.assert_array_equal(traced(lambda x: x.mean(0, keep_dims=True), X), X.mean(0)[None])
    np.testing.assert_array_equal(traced(lambda x: x.argmax(), X), X.argmax(-1))
    np.testing.assert_array_equal(traced(lambda x: x.argmin(0), X), X.argmin(0))
    np.testing.assert_array_equal(traced(lambda x: x.cumsum(1), X), X.cumsum(1))
    np.testing.assert_array_equal(traced(lambda x: x.top_k(2)[0], X), -np.sort(-X)[:, :2])
    lowest = traced(lambda x: x.top_k(1, axis=0, smallest=True)[0], X)
    np.testing.assert_array_equal(lowest, X.min(axis=0, keepdims=True))
    np.testing.assert_array_equal(traced(lambda x: (x * 0).argmax(last=True), X), [2, 2])
    np.testing.assert_array_equal(traced(lambda x: x.cumprod(1), X), np.cumprod(X, axis=1))
    assert traced(lambda x: x.variance(), X) == pytest.approx(X.astype(float).var(), rel=1e-6)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "var"])
def test_reductions_take_the_arguments_of_numpy(name):
    def reduced(x, **arguments):
        known = {"var": "variance"}.get(name, name) if isinstance(x, rlx.Tensor) else name
        return getattr(x, known)(**arguments)

    x = np.arange(8, dtype=np.float32).reshape(2, 2, 2)  # every mean and variance is exact
    for axis in (None, 1, -1, np.int64(0), (0, 2), [1]):
        for keepdims in (False, True):
            arguments = {"axis": tuple(axis) if isinstance(axis, list) else axis}
            expected = reduced(x, keepdims=keepdims, **arguments)
            found = traced(lambda y, a=axis, k=keepdims: reduced(y, axis=a, keepdims=k), x)
            np.testing.assert_array_equal(found, expected)


def test_reductions_take_axes_in_either_way():
    same(lambda x: x.sum((0, 1)), X)
    same(lambda x: x.sum(None), X)
    same(lambda x: x.sum(1, keepdims=True), X)
    found = traced(lambda x: x.max(axis=1, keep_dims=True), X)
    np.testing.assert_array_equal(found, X.max(1)[:, None])
    for name in ("argmax", "argmin"):
        for axis in (0, -1):
            arguments = {"axis": axis, "keepdims": True}
            found = traced(lambda x, n=name, a=arguments: getattr(x, n)(**a), X)
            np.testing.assert_array_equal(found, getattr(X, name)(**arguments))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(0, axis=1), lambda x: x.variance(0, 1, axis=(0, 1)),
        lambda x: x.mean(axis=0, keepdims=True, keep_dims=True), lambda x: x.max(axis=()),
        lambda x: x.argmax(0, keepdims=False, keep_dims=True),
        lambda x: x.min(axis=1.5), lambda x: x.prod("ab"), lambda x: x.sum(axis=True),
        lambda x: x.sum(dim=1), lambda x: x.softmax(dim=1), lambda x: x.exp(2),
        list, float, int, lambda x: X[x], lambda x: [*x],
    ],
)  # fmt: skip
def test_calls_that_do_not_fit_name_the_tensor(function):
    x = rlx.Graph("g").input("x", (2, 3))
    with raises(TypeError):
        function(x)


def test_shapes():
    same(lambda x: x.reshape(3, 2), X)
    same(lambda x: x.reshape(-1), X)
    same(lambda x: x.reshape(1, -1, 2), X)
    same(lambda x: x.transpose(), X)
    same(lambda x: x.transpose(1, 0), X)
    same(lambda x: x.transpose(-1, 0), X)
    same(lambda x: x.T, X)
    same(lambda x: x.squeeze(1), X[:, None])
    same(lambda x: x.squeeze(), X[:, None, :, None])
    np.testing.assert_array_equal(traced(lambda x: x.permute(1, 0), X), X.T)
    np.testing.assert_array_equal(traced(lambda x: x.unsqueeze(-1), X), X[..., None])
    np.testing.assert_array_equal(traced(lambda x: x.narrow(1, 1, 2), X), X[:, 1:3])
    np.testing.assert_array_equal(traced(lambda x: x.flatten(0), X), X.ravel())
    np.testing.assert_array_equal(traced(lambda x: x.expand(4, 2, 3), X), np.stack([X] * 4))
    np.testing.assert_array_equal(traced(lambda x: x.split(3, axis=1)[2], X), X[:, 2:])
    np.testing.assert_array_equal(traced(lambda x: x.split([2, 1], axis=1)[0], X), X[:, :2])
    np.testing.assert_array_equal(
        traced(lambda x: x.pad((0, 1), (1, 0), 9.0), X),
        np.pad(X, ((0, 1), (1, 0)), constant_values=9.0),
    )
    np.testing.assert_array_equal(traced(lambda x: x.concat(x, axis=0), X), np.concatenate([X, X]))


def test_shape_errors():
    x = Graph("g").input("x", ("batch", 2, 3))
    assert x.reshape(-1, 6).type == f32(Dim("batch"), 6)
    assert x.reshape(2, -1, 3).type == f32(2, Dim("batch"), 3)
    assert x.reshape(-1).type == f32(6 * Dim("batch"))
    y = Graph("h").input("y", ("batch", Dim("past") + 1, 6))
    assert y.reshape(-1, 6).type == f32(Dim("batch") * Dim("past") + Dim("batch"), 6)
    assert y.reshape(Dim("batch"), -1).type == f32(Dim("batch"), 6 * Dim("past") + 6)
    assert y.reshape(-1, 3, Dim("past") + 1).type == f32(2 * Dim("batch"), 3, Dim("past") + 1)
    with raises(ShapeError):
        x.reshape(-1, -1)
    with raises(ShapeError):
        x.reshape(-1, 4)
    with raises(ValueError):
        x.squeeze(1)
    with raises(ValueError):
        x.split(2, axis=2)


def test_functions():
    pairs = [("exp", np.exp), ("tanh", np.tanh), ("sin", np.sin), ("cos", np.cos), ("tan", np.tan),
             ("floor", np.floor), ("ceil", np.ceil), ("round", np.rint), ("sign", np.sign),
             ("atan", np.arctan), ("expm1", np.expm1)]  # fmt: skip
    for name, function in pairs:
        found = traced(lambda x, name=name: getattr(x, name)(), X)
        np.testing.assert_array_equal(found, function(X))
    for name, function in (("log", np.log), ("log1p", np.log1p), ("sqrt", np.sqrt)):
        found = traced(lambda x, name=name: getattr(abs(x), name)(), X)
        np.testing.assert_array_equal(found, function(np.abs(X)))
    np.testing.assert_array_equal(traced(lambda x, y: x.maximum(y), X, Y), np.maximum(X, Y))
    np.testing.assert_array_equal(traced(lambda x: x.minimum(1), X), np.minimum(X, 1))
    assert traced(lambda x: x.cast("i8"), X).tolist() == X.astype(np.int8).tolist()


LAYERS = [
    "relu", "leaky_relu", "elu", "selu", "gelu", "silu", "mish", "softplus", "softsign",
    "hard_sigmoid", "hard_swish", "softmax", "log_softmax", "log_sum_exp", "sigmoid", "erf",
    "clamp",
]  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers_append_the_op_of_their_name(name):
    graph = Graph("g")
    result = getattr(graph.input("x", (2, 3)), name)()
    assert result.value.node.op.name.partition(".")[2] == name


def test_layers_with_weights():
    graph = Graph("g")
    x = graph.input("x", ("batch", 6))
    ones = np.ones(6, np.float32)
    assert x.linear(np.zeros((4, 6))).shape == (Dim("batch"), 4)
    assert x.linear(np.zeros((4, 6)), np.zeros(4)).shape == (Dim("batch"), 4)
    for result in (
        x.layer_norm(ones), x.layer_norm(ones, ones), x.rms_norm(ones), x.prelu(ones),
        x.group_norm(2, ones, ones), x.batch_norm(ones, ones, ones, ones),
    ):  # fmt: skip
        assert result.type == x.type
    table = graph.input("table", (9, 4))
    assert table.embedding(graph.input("ids", (2, 3), "i32")).shape == (2, 3, 4)
    q = graph.input("q", (2, 5, 4))
    assert q.attention(q, q, causal=True).type == q.type
    assert q.attention(q, q, graph.constant(np.ones((5, 5), bool)), scale=0.1).type == q.type


def test_recurrent_layers():
    x = Graph("g").input("x", ("steps", "batch", 4))
    steps, batch = Dim("steps"), Dim("batch")
    y, h = x.rnn(np.zeros((3, 4)), np.zeros((3, 3)))
    assert (y.shape, h.shape) == ((steps, batch, 3), (batch, 3))
    w, r, bias = np.zeros((9, 4)), np.zeros((9, 3)), np.zeros(9)
    y, h = x.gru(w, r, bias, h, inner=np.zeros(3), reverse=True)
    assert (y.shape, h.shape) == ((steps, batch, 3), (batch, 3))
    w, r, bias = np.zeros((12, 4)), np.zeros((12, 3)), np.zeros(12)
    lengths = x.builder.input("lengths", ("batch",), "i32")
    y, h, c = x.lstm(w, r, bias, h, peepholes=np.zeros(9), lengths=lengths)
    assert (y.shape, h.shape, c.shape) == ((steps, batch, 3), (batch, 3), (batch, 3))
    assert h.value.node.op.peepholes
    assert h.value.node.op.masked
    with raises(ShapeError):
        x.lstm(w, r[:9])


def test_states_that_are_left_out_are_0():
    random = np.random.default_rng(0)
    w, r, x = (random.standard_normal(s) for s in ((12, 4), (12, 3), (5, 2, 4)))
    left_out = rlx.trace("g", lambda x: x.lstm(w, r)[0], f32(5, 2, 4))
    zero, bias = np.zeros((2, 3)), np.zeros(12)
    written = rlx.trace("g", lambda x: x.lstm(w, r, bias, zero, zero)[0], f32(5, 2, 4))
    inputs = {"x": x.astype(np.float32)}
    (a,), (b,) = (evaluate(g.graph, inputs) for g in (left_out, written))
    np.testing.assert_array_equal(a, b)
    assert np.abs(a).max() > 0.0


def test_images():
    image = Graph("g").input("image", ("batch", 9, 8, 3))
    n = Dim("batch")
    w = np.zeros((5, 3, 3, 3), np.float32)
    assert image.conv(w).shape == (n, 7, 6, 5)
    assert image.conv(w, np.zeros(5), stride=2, padding="same").shape == (n, 5, 4, 5)
    assert image.conv(w, padding=1).shape == (n, 9, 8, 5)
    assert image.conv(w, padding=[(1, 0), 2], dilation=(2, 1)).shape == (n, 6, 10, 5)
    assert image.conv(np.zeros((6, 3, 3, 1)), groups=3).shape == (n, 7, 6, 6)
    assert image.max_pool(2).shape == (n, 4, 4, 3)
    assert image.max_pool((3, 2), stride=1, padding="SAME").shape == (n, 9, 8, 3)
    assert image.average_pool(2, padding=1).shape == (n, 5, 5, 3)
    first = Layout.CHANNELS_FIRST
    other = Graph("h").input("image", (2, 3, 9, 8))
    assert other.conv(np.zeros((5, 3, 3, 3)), layout=first, padding="same").shape == (2, 5, 9, 8)
    assert other.max_pool(2, layout=first).shape == (2, 3, 4, 4)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"stride": (1, 2, 3)}, ValueError),
        ({"padding": "full"}, ValueError),
        ({"padding": [1]}, ValueError),
    ],
)
def test_bad_windows(arguments, error):
    image = Graph("g").input("image", (1, 9, 8, 3))
    with raises(error):
        image.max_pool(2, **arguments)


def test_same_needs_known_axes():
    image = Graph("g").input("image", (1, "h", 8, 3))
    with raises(ShapeError):
        image.max_pool(2, padding="same")


@pytest.mark.parametrize(
    ("dtype", "other"),
    [
        ("i8", 1.5),
        ("i8", 300),
        ("i8", np.array([1.0, 2.0])),
        ("bool", 1),
        ("f32", "a"),
        ("f32", 1j),
        ("f32", None),
    ],
)
def test_operands_that_do_not_fit(dtype, other):
    x = Graph("g").input("x", 2, dtype)
    with raises(TypeError):
        x.maximum(other)


def test_constants_take_the_element_type_of_the_tensor():
    graph = Graph("g")
    for dtype in ("f16", "bf16", "f64", "f8e4m3"):
        x = graph.input(dtype, 2, dtype)
        assert (x * 2.5).dtype is DType(dtype)
        assert (np.array([1, 2]) - x).dtype is DType(dtype)
    codes = graph.input("i8", 2, "i8")
    assert (codes + np.array([1, -128])).dtype is DType.I8


def test_a_tensor_has_no_value():
    x = Graph("g").input("x", (2, 3))
    with raises(TypeError):
        bool(x)
    with pytest.raises(TypeError, match="cannot iterate over"):
        list(x)
    assert len(x) == 2
    with raises(TypeError):
        len(x.builder.input("y", ("n",)))
    assert {x: 1}[x] == 1


def test_two_axes_are_swapped_or_none():
    for swap in (lambda x: x.t(), lambda x: x.mT):
        with raises(ValueError):
            rlx.trace("g", swap, f32(3))
