from __future__ import annotations

import statistics

import numpy as np
import pytest

from rlx.ir import Dim, f32
from rlx.ops.nn import NnVariance
from rlx.support.errors import ShapeError
from support.messages import raises


def test_variance_is_that_of_a_population():
    x = np.random.default_rng(0).standard_normal((3, 7))
    (y,) = NnVariance(axes=(1,)).evaluate(x)
    for row, found in zip(x, y, strict=True):
        assert found == pytest.approx(statistics.pvariance(row.tolist()), rel=1e-14)
    (kept,) = NnVariance(axes=(0, 1), keep_dims=True).evaluate(x)
    assert kept[0, 0] == pytest.approx(statistics.pvariance(x.ravel().tolist()), rel=1e-14)


def test_types_and_refusals():
    batch = Dim("batch")
    assert NnVariance(axes=(-1,)).infer(f32(batch, 3)) == (f32(batch),)
    with raises(ShapeError):
        NnVariance(axes=(2,)).infer(f32(3))
