from __future__ import annotations

import math

import numpy as np
import pytest

from rlx.ir import Dim, f32, i8
from rlx.ops.nn import NnLogSoftmax, NnLogSumExp, NnSoftmax
from rlx.support.errors import ShapeError
from support.messages import raises

X = np.random.default_rng(0).standard_normal((2, 3, 4)) * 3


def rows(axis):
    """Each row along ``axis`` with its place."""
    moved = np.moveaxis(X, axis, -1)
    for place in np.ndindex(moved.shape[:-1]):
        yield place, [float(v) for v in moved[place]]


# Sums of at most 4 exponentials in float64: a relative error below 1e-14.
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_definitions(axis):
    (softmax,) = NnSoftmax(axis=axis).evaluate(X)
    (logarithm,) = NnLogSoftmax(axis=axis).evaluate(X)
    (total,) = NnLogSumExp(axis=axis).evaluate(X)
    for place, row in rows(axis):
        whole = math.fsum(math.exp(v) for v in row)
        shares = [math.exp(v) / whole for v in row]
        np.testing.assert_allclose(np.moveaxis(softmax, axis, -1)[place], shares, rtol=1e-14)
        # A logarithm near 0 is a difference of numbers of order 10.
        np.testing.assert_allclose(
            np.moveaxis(logarithm, axis, -1)[place], np.log(shares), rtol=1e-13, atol=1e-14
        )
        np.testing.assert_allclose(total[place], math.log(whole), rtol=1e-13)


def test_great_numbers_do_not_overflow():
    x = np.array([[1000.0, 1000.0], [-1000.0, 0.0]], np.float32)
    assert NnSoftmax().evaluate(x)[0].tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert NnLogSoftmax().evaluate(x)[0][1].tolist() == [-1000.0, 0.0]
    assert NnLogSumExp().evaluate(x)[0].tolist() == [float(np.float32(1000 + math.log(2))), 0.0]


def test_types():
    batch = Dim("batch")
    assert NnSoftmax(axis=0).infer(f32(batch, 3)) == (f32(batch, 3),)
    assert NnLogSumExp(axis=-1).infer(f32(batch, 3)) == (f32(batch),)


@pytest.mark.parametrize("op", [NnSoftmax, NnLogSoftmax, NnLogSumExp])
def test_refusals(op):
    with raises(ShapeError):
        op(axis=2).infer(f32(2, 3))
    with raises(ShapeError):
        op().infer(i8(2))
