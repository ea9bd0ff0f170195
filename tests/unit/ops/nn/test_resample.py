from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from rlx.ir import Dim, f32
from rlx.ops.nn import Border, Coordinates, Interpolation, Layout, NnPad, NnResize
from rlx.support.errors import ShapeError
from support.messages import raises

BORDERS = {
    Border.EDGE: [1, 1, 1, 2, 3, 4, 4, 4],
    Border.REFLECT: [3, 2, 1, 2, 3, 4, 3, 2],
    Border.SYMMETRIC: [2, 1, 1, 2, 3, 4, 4, 3],
    Border.WRAP: [3, 4, 1, 2, 3, 4, 1, 2],
}


@pytest.mark.parametrize("border", Border)
def test_pad_goes_on_as_its_border_says(border):
    x = np.array([[1.0, 2.0, 3.0, 4.0]])
    (y,) = NnPad(before=(0, 2), after=(0, 2), border=border).evaluate(x)
    assert y.tolist() == [BORDERS[border]]


def test_pad_of_two_axes():
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    (y,) = NnPad(before=(1, 0), after=(0, 1), border=Border.EDGE).evaluate(x)
    assert y.tolist() == [[1, 2, 2], [1, 2, 2], [3, 4, 4]]


def place(i: int, old: int, new: int, coordinates: Coordinates) -> Fraction:
    if coordinates is Coordinates.HALF_PIXEL:
        exact = (i + Fraction(1, 2)) * old / new - Fraction(1, 2)
    elif coordinates is Coordinates.ASYMMETRIC:
        exact = Fraction(i * old, new)
    else:
        exact = Fraction(i * (old - 1), max(new - 1, 1))
    return min(max(exact, Fraction(0)), Fraction(old - 1))


# Sizes whose places are exact in float64, so that no rounding decides between two neighbours.
@pytest.mark.parametrize(("old", "new"), [(4, 8), (8, 4), (3, 6), (5, 5), (4, 1), (1, 4), (2, 8)])
@pytest.mark.parametrize("coordinates", [Coordinates.HALF_PIXEL, Coordinates.ASYMMETRIC])
def test_nearest(old, new, coordinates):
    x = np.arange(float(old)).reshape(1, old, 1) * 10
    (y,) = NnResize(size=(new,), coordinates=coordinates).evaluate(x)
    (low,) = NnResize(size=(new,), coordinates=coordinates, floor=True).evaluate(x)
    for i in range(new):
        exact = place(i, old, new, coordinates)
        assert low[0, i, 0] == math.floor(exact) * 10
        assert y[0, i, 0] == math.ceil(exact - Fraction(1, 2)) * 10


@pytest.mark.parametrize("coordinates", Coordinates)
@pytest.mark.parametrize(("old", "new"), [(4, 8), (8, 4), (5, 7), (4, 1), (1, 4)])
def test_linear(old, new, coordinates):
    x = np.random.default_rng(0).standard_normal((1, old, 1))
    op = NnResize(size=(new,), interpolation=Interpolation.LINEAR, coordinates=coordinates)
    (y,) = op.evaluate(x)
    for i in range(new):
        exact = place(i, old, new, coordinates)
        below = math.floor(exact)
        above = min(below + 1, old - 1)
        expected = float(x[0, below, 0] + (x[0, above, 0] - x[0, below, 0]) * float(exact - below))
        # The place is rounded to float64, as is the sum.
        assert y[0, i, 0] == pytest.approx(expected, abs=1e-14)


def test_two_axes_and_layouts():
    x = np.arange(8.0).reshape(1, 2, 2, 2)
    (last,) = NnResize(size=(4, 2)).evaluate(x)
    (first,) = NnResize(size=(4, 2), layout=Layout.CHANNELS_FIRST).evaluate(np.moveaxis(x, -1, 1))
    np.testing.assert_array_equal(last, x.repeat(2, axis=1))
    np.testing.assert_array_equal(first, np.moveaxis(last, -1, 1))


def test_types():
    batch = Dim("batch")
    assert NnResize(size=(4, 6)).infer(f32(batch, 2, 3, 5)) == (f32(batch, 4, 6, 5),)
    assert NnPad(before=(0, 1), after=(0, 2)).infer(f32(batch, 3)) == (f32(batch, 6),)


@pytest.mark.parametrize(
    ("op", "x"),
    [
        (NnPad(before=(1,), after=(1, 1)), f32(3)),
        (NnPad(before=(-1,), after=(1,)), f32(3)),
        (NnPad(before=(1,), after=(0,)), f32(Dim("n"))),
        (NnResize(size=(4,)), f32(1, 2, 2, 3)),
        (NnResize(size=(0,)), f32(1, 2, 3)),
        (NnResize(size=(4,)), f32(1, Dim("w"), 3)),
    ],
)
def test_refusals(op, x):
    with raises(ShapeError):
        op.infer(x)
