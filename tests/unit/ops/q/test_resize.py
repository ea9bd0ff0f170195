"""Resized images against TensorFlow Lite Micro, and at the places where rules differ."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rlx.ir import Dim, QuantParams, i8, i32
from rlx.ops.numerics.resampling import Resampling
from rlx.ops.q import QResizeBilinear, QResizeNearest
from rlx.support.errors import ShapeError
from support.messages import raises
from support.references.oracle import Quant, codes, quants, run_operator

FLAGS = [(False, False), (True, False), (False, True), (True, True)]
SIZES = st.tuples(st.integers(1, 12), st.integers(1, 12))
EXTREMES = np.array([-128, 127], np.int8).reshape(1, 1, 2, 1)


def tflm(kind, op, x, quant: Quant) -> np.ndarray:
    code = "RESIZE_BILINEAR" if kind is QResizeBilinear else "RESIZE_NEAREST_NEIGHBOR"
    shape = (x.shape[0], *op.size, x.shape[3])
    options = {"alignCorners": op.align_corners, "halfPixelCenters": op.half_pixel_centers}
    size = np.array(op.size, np.int32)
    return run_operator(code, [(x, quant)], (shape, quant), [(size, {})], **options)


def check(kind, old, new, flags, quant: Quant, x) -> None:
    op = kind(size=new, align_corners=flags[0], half_pixel_centers=flags[1])
    (result,) = op.evaluate(x)
    assert op.infer(i8(*x.shape)) == (i8(*result.shape),)
    assert np.array_equal(result, tflm(kind, op, x, quant))


@pytest.mark.parametrize("flags", FLAGS)
@given(
    old=SIZES, new=SIZES, batch=st.integers(1, 2), channels=st.integers(1, 3), quant=quants(),
    seed=st.integers(0, 2**16),
)  # fmt: skip
def test_nearest_equals_tflm(flags, old, new, batch, channels, quant: Quant, seed: int) -> None:
    check(QResizeNearest, old, new, flags, quant, codes(seed, (batch, *old, channels)))


@pytest.mark.parametrize("flags", FLAGS[:3])
@given(
    old=SIZES, new=SIZES, batch=st.integers(1, 2), channels=st.integers(1, 3), quant=quants(),
    seed=st.integers(0, 2**16),
)  # fmt: skip
def test_bilinear_equals_tflm(flags, old, new, batch, channels, quant: Quant, seed: int) -> None:
    check(QResizeBilinear, old, new, flags, quant, codes(seed, (batch, *old, channels)))


@pytest.mark.parametrize("flags", FLAGS)
@given(old=st.integers(1, 300), new=st.integers(1, 300))
def test_long_axes_equal_tflm(flags, old: int, new: int) -> None:
    x = (np.arange(old) % 256 - 128).astype(np.int8).reshape(1, 1, old, 1)
    check(QResizeNearest, None, (1, new), flags, Quant(0.5, 3), x)
    last = Resampling(old, new, *flags).last >> 10
    if not all(flags) and last < old:
        check(QResizeBilinear, None, (1, new), flags, Quant(0.5, 3), x)


@pytest.mark.parametrize("flags", FLAGS)
def test_every_short_axis_equals_tflm(flags) -> None:
    """All pairs of an axis and a new size, one along rows and another along columns."""
    for old in range(1, 11):
        x = (np.arange(old * old) * 37 % 256 - 128).astype(np.int8).reshape(1, old, old, 1)
        for new in range(1, 11):
            size = (new, 11 - new)
            check(QResizeNearest, None, size, flags, Quant(0.5, 3), x)
            if not all(flags):
                check(QResizeBilinear, None, size, flags, Quant(0.5, 3), x)


@pytest.mark.parametrize("flags", FLAGS[:3])
def test_halves_equal_tflm(flags) -> None:
    """Between neighbours of odd sums, sums of four and differences of all kinds lie halves."""
    pairs = np.array([(a, b) for a in range(-128, 128) for b in (a + 1, a + 3, a - 7, -a)])
    x = np.clip(pairs, -128, 127).astype(np.int8).T.reshape(1, 1, 2, -1)
    for new in (3, 4, 8):
        check(QResizeBilinear, None, (1, new), flags, Quant(0.5, 3), x)
        check(QResizeBilinear, None, (new, 1), flags, Quant(0.5, 3), x.reshape(1, 2, 1, -1))
        check(QResizeBilinear, None, (new, 4), flags, Quant(0.5, 3), x.reshape(1, 2, 2, -1))


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ((False, True), [-128, -64, 63, 127]),
        # -1/2 rounds down, 1/2 rounds up: away from 0.
        ((False, False), [-128, -1, 127, 127]),
        ((True, False), [-128, -43, 42, 127]),
    ],
)
def test_four_elements_between_two(flags, expected) -> None:
    op = QResizeBilinear(size=(1, 4), align_corners=flags[0], half_pixel_centers=flags[1])
    assert op.evaluate(EXTREMES)[0].ravel().tolist() == expected
    assert op.evaluate(-1 - EXTREMES)[0].ravel().tolist()[0] == 127


@pytest.mark.parametrize(
    ("flags", "expected"),
    [((True, True), [1, 3, 4]), ((True, False), [0, 2, 4]), ((False, True), [0, 2, 4]),
     ((False, False), [0, 1, 3])],
)  # fmt: skip
def test_three_elements_of_five(flags, expected) -> None:
    assert Resampling(5, 3, *flags).nearest.tolist() == expected


def test_indices_follow_float32() -> None:
    """Exact arithmetic has the half 7.5 there, which rounds up."""
    exact = Fraction(15, 29) * (14 + Fraction(1, 2))
    assert exact == Fraction(15, 2)
    assert Resampling(16, 30, True, True).nearest[14] == 7


@given(old=st.integers(1, 4000), new=st.integers(1, 4000), flags=st.sampled_from(FLAGS[:3]))
def test_weights_are_shares_of_neighbours(old: int, new: int, flags) -> None:
    axis = Resampling(old, new, *flags)
    assume(axis.last >> 10 < old)
    lower, upper, weights = axis.neighbours
    assert axis.first + axis.step * np.arange(new)[-1] == axis.last
    assert ((lower >= 0) & (lower <= upper) & (upper < old) & (upper - lower <= 1)).all()
    assert (weights < 1024).all()
    assert ((weights >= 0) | (lower == upper)).all()


def test_quantization_stays() -> None:
    quant = QuantParams.per_tensor(0.5, 3)
    x, expected = i8(2, 3, 3, 5, quant=quant), i8(2, 4, 6, 5, quant=quant)
    for kind in (QResizeNearest, QResizeBilinear):
        assert kind(size=(4, 6)).infer(x) == (expected,)


@pytest.mark.parametrize(
    ("op", "image"),
    [
        (QResizeNearest(size=(4, 4)), i32(1, 2, 2, 1)),
        (QResizeNearest(size=(4, 4)), i8(2, 2, 1)),
        (QResizeNearest(size=(4, 0)), i8(1, 2, 2, 1)),
        (QResizeBilinear(size=(4, 4)), i8(1, Dim("h"), 2, 1)),
        (QResizeBilinear(size=(4, 4), align_corners=True, half_pixel_centers=True), i8(1, 2, 2, 1)),
        (QResizeBilinear(size=(1, 682)), i8(1, 1, 1, 1)),
        (QResizeBilinear(size=(1, 1)), i8(1, 1 << 21, 1, 1)),
    ],
    ids=str,
)  # fmt: skip
def test_refusals(op, image) -> None:
    with raises(ShapeError):
        op.infer(image)
