from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Dim, DType, TensorType, f32, i32
from rlx.ops import real
from rlx.support.errors import ShapeError
from support.messages import raises

X = np.arange(24).reshape(2, 3, 4) - 7

REDUCTIONS = [
    (real.RealReduceSum, sum),
    (real.RealReduceProd, math.prod),
    (real.RealReduceMax, max),
    (real.RealReduceMin, min),
    (real.RealReduceMean, lambda numbers: sum(numbers) / len(numbers)),
]
names = [op.name for op, _ in REDUCTIONS]


@pytest.mark.parametrize(("op", "definition"), REDUCTIONS, ids=names)
@pytest.mark.parametrize("axes", [(0,), (1,), (-1,), (0, 2), (2, 0), (0, 1, 2)])
def test_reduction_is_over_the_axes(op, definition, axes):
    kept = [a for a in range(3) if a not in {x % 3 for x in axes}]
    expected = np.empty([X.shape[a] for a in kept])
    for place in np.ndindex(expected.shape):
        index = [slice(None)] * 3
        for axis, i in zip(kept, place, strict=True):
            index[axis] = i
        expected[place] = definition([float(v) for v in X[tuple(index)].ravel()])
    (dropped,) = op(axes=axes).evaluate(X.astype(np.float64))
    (held,) = op(axes=axes, keep_dims=True).evaluate(X.astype(np.float64))
    np.testing.assert_array_equal(dropped, expected)
    assert held.shape == tuple(n if a in kept else 1 for a, n in enumerate(X.shape))
    assert held.ravel().tolist() == expected.ravel().tolist()


def test_types_of_reductions():
    batch = Dim("batch")
    assert real.RealReduceSum(axes=(-1,)).infer(f32(batch, 3)) == (f32(batch),)
    assert real.RealReduceSum(axes=(0,), keep_dims=True).infer(f32(batch, 3)) == (f32(1, 3),)
    assert real.RealReduceMax(axes=(0,)).infer(i32(batch, 3)) == (i32(3),)


def test_integers_wrap():
    x = np.array([100, 100, 3], np.int8)
    assert real.RealReduceSum(axes=(0,)).evaluate(x)[0].tolist() == 203 - 256
    assert real.RealReduceProd(axes=(0,)).evaluate(x)[0].tolist() == 30000 % 256
    assert real.RealCumsum(axis=0).evaluate(x)[0].tolist() == [100, -56, -53]


def test_half_precision_accumulates_in_single():
    x = np.ones(4096, np.float16)
    assert real.RealReduceSum(axes=(0,)).evaluate(x)[0] == 4096
    assert real.RealReduceMean(axes=(0,)).evaluate(x)[0] == 1


def test_extremes_of_booleans_are_any_and_all():
    x = np.array([[True, False], [True, True]])
    assert real.RealReduceMax(axes=(1,)).evaluate(x)[0].tolist() == [True, True]
    assert real.RealReduceMin(axes=(1,)).evaluate(x)[0].tolist() == [False, True]


def test_sums_of_nothing():
    x = np.zeros((0, 2), np.float32)
    assert real.RealReduceSum(axes=(0,)).evaluate(x)[0].tolist() == [0.0, 0.0]
    assert real.RealReduceProd(axes=(0,)).evaluate(x)[0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("dtype", "least", "greatest"),
    [(np.float32, -math.inf, math.inf), (np.float16, -math.inf, math.inf), (np.int8, -128, 127),
     (np.uint16, 0, 65535), (np.bool_, False, True)],
)  # fmt: skip
def test_extremes_of_nothing(dtype, least, greatest):
    x = np.zeros((0, 2), dtype)
    assert real.RealReduceMax(axes=(0,)).evaluate(x)[0].tolist() == [least] * 2
    assert real.RealReduceMin(axes=(0,), keep_dims=True).evaluate(x)[0].tolist() == [[greatest] * 2]


def test_running_products():
    x = np.array([[2, 3, 4]], np.int8)
    assert real.RealCumprod(axis=1).evaluate(x)[0].tolist() == [[2, 6, 24]]
    assert real.RealCumprod(axis=1, exclusive=True).evaluate(x)[0].tolist() == [[1, 2, 6]]
    assert real.RealCumprod(axis=0).evaluate(x)[0].tolist() == x.tolist()


@given(numbers=st.lists(st.integers(-3, 3), min_size=1, max_size=9))
def test_index_of_the_extremes_is_the_last_one_if_wanted(numbers):
    x, backwards = np.array(numbers, np.float32), numbers[::-1]
    most, fewest = (len(numbers) - 1 - backwards.index(f(numbers)) for f in (max, min))
    assert real.RealArgmax(last=True).evaluate(x)[0] == most
    assert real.RealArgmin(last=True).evaluate(x)[0] == fewest


@given(numbers=st.lists(st.integers(-3, 3), min_size=1, max_size=9))
def test_index_of_the_extremes_is_the_first_one(numbers):
    x = np.array(numbers, np.float32)
    assert real.RealArgmax().evaluate(x)[0] == numbers.index(max(numbers))
    assert real.RealArgmin().evaluate(x)[0] == numbers.index(min(numbers))


def test_index_is_along_its_axis():
    x = np.array([[1, 5], [4, 2]], np.int32)
    assert real.RealArgmax(axis=0).evaluate(x)[0].tolist() == [1, 0]
    assert real.RealArgmin(axis=1).evaluate(x)[0].tolist() == [0, 1]
    assert real.RealArgmax(axis=0).infer(f32(3, Dim("n"))) == (i32(Dim("n")),)


def test_running_sum():
    x = np.arange(6).reshape(2, 3).astype(np.float32)
    assert real.RealCumsum(axis=-1).evaluate(x)[0].tolist() == [[0, 1, 3], [3, 7, 12]]
    exclusive = real.RealCumsum(axis=0, exclusive=True).evaluate(x)[0]
    assert exclusive.tolist() == [[0, 0, 0], [0, 1, 2]]


@given(numbers=st.lists(st.integers(-128, 127), min_size=1, max_size=9), data=st.data())
def test_top_k_sorts_and_prefers_lower_indices(numbers, data):
    count = data.draw(st.integers(1, len(numbers)))
    order = sorted(range(len(numbers)), key=lambda i: (-numbers[i], i))[:count]
    for dtype in (np.float32, np.int8):
        values, indices = real.RealTopK(count=count).evaluate(np.array([numbers], dtype))
        assert indices.tolist() == [order]
        assert values.tolist() == [[numbers[i] for i in order]]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("smallest", [False, True])
def test_top_k_along_any_axis(axis, smallest):
    x = np.array([[3, 1, 2, 1], [0, 1, 2, 3], [3, 1, 0, 2]], np.int16)
    values, indices = real.RealTopK(count=2, axis=axis, smallest=smallest).evaluate(x)
    sign = 1 if smallest else -1
    rows, found = (np.moveaxis(a, axis, -1) for a in (x, indices))
    for row, places in zip(rows.tolist(), found.tolist(), strict=True):
        assert places == sorted(range(len(row)), key=lambda i: (sign * row[i], i))[:2]
    np.testing.assert_array_equal(values, np.take_along_axis(x, indices, axis))


def test_top_k_has_two_results():
    batch = Dim("batch")
    assert real.RealTopK(count=2).infer(f32(batch, 5)) == (f32(batch, 2), i32(batch, 2))


@pytest.mark.parametrize(
    ("op", "x"),
    [
        (real.RealReduceSum(axes=(2,)), f32(2, 3)),
        (real.RealReduceSum(axes=(1, -1)), f32(2, 3)),
        (real.RealReduceMean(axes=(0,)), i32(2)),
        (real.RealReduceSum(axes=(0,)), TensorType((2,), DType.BOOL)),
        (real.RealArgmax(axis=0), f32(0, 2)),
        (real.RealArgmin(axis=3), f32(2)),
        (real.RealCumsum(axis=1), f32(2)),
        (real.RealTopK(count=3), f32(2)),
        (real.RealTopK(count=1), f32(Dim("n"))),
    ],
)
def test_refusals(op, x):
    with raises(ShapeError):
        op.infer(x)
