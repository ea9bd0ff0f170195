from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import Dim, f32, i32
from rlx.ops.real import RealGather, RealScatter, RealTakeAlong, Scatter
from rlx.support.errors import ShapeError
from support.messages import raises

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_gather_reads_slices(axis):
    size = X.shape[axis]
    indices = np.array([[0, size - 1, -1], [-size, 1, 0]], np.int64)
    (y,) = RealGather(axis=axis).evaluate(X, indices)
    front = axis % 3
    assert y.shape == (*X.shape[:front], 2, 3, *X.shape[front + 1 :])
    for place in np.ndindex(indices.shape):
        expected = X[(slice(None),) * front + (int(indices[place]),)]
        found = y[(slice(None),) * front + place]
        np.testing.assert_array_equal(found, expected)


def test_gather_by_one_number_drops_the_axis():
    (y,) = RealGather(axis=1).evaluate(X, np.array(2, np.int32))
    np.testing.assert_array_equal(y, X[:, 2])


def test_take_along_reads_elements():
    indices = np.array([[[0, 1, -1, 2]], [[2, 2, 0, 0]]], np.int32)
    (y,) = RealTakeAlong(axis=1).evaluate(X, indices)
    for a, _, b in np.ndindex(indices.shape):
        assert y[a, 0, b] == X[a, indices[a, 0, b], b]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scatter_add_is_the_adjoint_of_gather(axis):
    """<gather(x), u> == <x, scatter_add(0, u)> for integers, exactly."""
    generator = np.random.default_rng(0)
    indices = generator.integers(0, X.shape[axis], (2, 3))
    (y,) = RealGather(axis=axis).evaluate(X, indices)
    updates = generator.integers(-3, 4, y.shape).astype(np.float32)
    (back,) = RealScatter(axis=axis, merge=Scatter.ADD).evaluate(np.zeros_like(X), indices, updates)
    assert (y * updates).sum() == (X * back).sum()


def test_scatter_add_repeats_add_up_and_leave_the_operand_alone():
    x = np.array([1, 2, 3], np.int8)
    (y,) = RealScatter(merge=Scatter.ADD).evaluate(
        x, np.array([0, -1, 0]), np.array([10, 20, 120], np.int8)
    )
    assert y.tolist() == [131 - 256, 2, 23]
    assert x.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("merge", "expected"),
    [
        (Scatter.REPLACE, [-2, 2, 5]),
        (Scatter.ADD, [9, 2, 8]),
        (Scatter.MULTIPLY, [-20, 2, 15]),
        (Scatter.MINIMUM, [-2, 2, 3]),
        (Scatter.MAXIMUM, [10, 2, 5]),
    ],
)
def test_scatter_merges_updates_in_their_order(merge, expected):
    x, updates = np.array([1, 2, 3], np.float32), np.array([10, 5, -2], np.float32)
    (y,) = RealScatter(merge=merge).evaluate(x, np.array([0, -1, -3]), updates)
    assert y.tolist() == expected
    assert x.tolist() == [1, 2, 3]


def test_scatter_replaces_elements_of_any_type():
    x = np.array([[True, False]])
    (y,) = RealScatter(axis=1).evaluate(x, np.array(1), np.array([True]))
    assert y.tolist() == [[True, True]]


def test_types():
    batch = Dim("batch")
    assert RealGather(axis=1).infer(f32(batch, 5, 2), i32(7)) == (f32(batch, 7, 2),)
    assert RealGather().infer(f32(5, 2), i32(batch, 3)) == (f32(batch, 3, 2),)
    assert RealTakeAlong(axis=1).infer(f32(batch, 5), i32(batch, 2)) == (f32(batch, 2),)
    assert RealScatter().infer(f32(5, 2), i32(3), f32(3, 2)) == (f32(5, 2),)


def test_index_outside_the_axis_is_an_error():
    for op in (RealGather(axis=0), RealTakeAlong(axis=0)):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 3"):
            op.evaluate(np.zeros(3), np.array([3]))
    with raises(IndexError):
        RealScatter().evaluate(np.zeros(3), np.array([3]), np.zeros(1))


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        (RealGather(), (f32(3), f32(2))),
        (RealGather(axis=1), (f32(3), i32(2))),
        (RealTakeAlong(axis=0), (f32(3, 2), i32(2, 4))),
        (RealScatter(), (f32(3, 2), i32(4), f32(4, 3))),
        (RealScatter(), (f32(3, 2), i32(4), i32(4, 2))),
    ],
)
def test_refusals(op, operands):
    with raises(ShapeError):
        op.infer(*operands)
