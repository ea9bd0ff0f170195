from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Dim, i8
from rlx.ops.q import QMaxPool2d, Window
from rlx.support.errors import ShapeError
from support.messages import raises

SMALL = st.integers(1, 4)
PAIRS = st.tuples(SMALL, SMALL)
SIDES = st.tuples(st.integers(0, 3), st.integers(0, 3))


def counted(n: int, kernel: int, stride: int, dilation: int, before: int, after: int):
    """The taps inside of each window of one axis, by walking."""
    inside = [False] * before + [True] * n + [False] * after
    extent = (kernel - 1) * dilation + 1
    starts = range(0, len(inside) - extent + 1, stride)
    return tuple(sum(inside[s + t * dilation] for t in range(kernel)) for s in starts)


@given(PAIRS, PAIRS, PAIRS, PAIRS, SIDES, SIDES)
def test_windows_are_counted_and_cut_as_walked(size, kernel, stride, dilation, rows, columns):
    window = Window(kernel, stride, dilation, (rows, columns))
    axes = zip(size, kernel, stride, dilation, (rows, columns), strict=True)
    taps = tuple(counted(n, k, s, d, *sides) for n, k, s, d, sides in axes)
    assert window.taps_inside(size) == taps
    assert window.sees_nothing(size) == any(0 in axis for axis in taps)
    out = window.output_size(size)
    if min(out) < 1:
        return
    assert out == (len(taps[0]), len(taps[1]))
    image = np.ones((2, *size, 3), np.int8)
    patches = window.patches(image, 0)
    assert patches.shape == (2, *out, *kernel, 3)
    assert np.array_equal(patches[0, ..., 0].sum(axis=(2, 3)), np.outer(*taps))


WIDE = st.tuples(st.integers(0, 25), st.integers(0, 25))
NUMBERS = st.tuples(st.integers(1, 9), st.integers(1, 9))


@given(NUMBERS, NUMBERS, NUMBERS, st.tuples(st.integers(1, 12), st.integers(1, 12)), WIDE, WIDE)
def test_closed_forms_are_the_counts(size, kernel, stride, dilation, rows, columns) -> None:
    window = Window(kernel, stride, dilation, (rows, columns))
    axes = zip(size, kernel, stride, dilation, (rows, columns), strict=True)
    taps = tuple(counted(n, k, s, d, *sides) for n, k, s, d, sides in axes)
    assert window.taps_inside(size) == taps
    assert window.sees_nothing(size) == any(0 in axis for axis in taps)


@pytest.mark.parametrize("kernel", [2**31 - 1, 2**62])
def test_a_huge_kernel_is_counted_without_walking_it(kernel: int) -> None:
    window = Window.same((3, 3), (kernel, 1))
    assert window.taps_inside((3, 3)) == ((3, 3, 3), (1, 1, 1))
    assert not window.sees_nothing((3, 3))


@given(st.tuples(SMALL, st.integers(1, 9)), PAIRS, PAIRS, PAIRS)
def test_same_padding_gives_a_window_for_each_stride(size, kernel, stride, dilation) -> None:
    window = Window.same(size, kernel, stride, dilation)
    assert window.output_size(size) == tuple(-(-n // s) for n, s in zip(size, stride, strict=True))
    assert all(after - before in (0, 1) for before, after in window.padding)


def test_properties() -> None:
    window = Window((3, 2), dilation=(2, 5))
    assert (window.extent, window.taps, window.is_padded) == ((5, 6), 6, False)
    assert Window((1, 1), padding=((0, 0), (0, 1))).is_padded


@pytest.mark.parametrize(
    ("window", "image"),
    [
        (Window((1, 1)), i8(2, 2)),
        (Window((1, 1)), i8(1, Dim("height"), 2, 2)),
        (Window((0, 1)), i8(1, 2, 2, 2)),
        (Window((1, 1), (1, 0)), i8(1, 2, 2, 2)),
        (Window((1, 1), dilation=(0, 1)), i8(1, 2, 2, 2)),
        (Window((1, 1), padding=((0, -1), (0, 0))), i8(1, 2, 2, 2)),
        (Window((3, 1)), i8(1, 2, 2, 2)),
    ],
)
def test_refusals(window: Window, image) -> None:
    with raises(ShapeError):
        QMaxPool2d(window=window).infer(image)
