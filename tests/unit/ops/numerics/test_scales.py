"""Scales that are the same: products and quotients of float32 numbers, in any order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlx.ops.numerics.scales import FLOAT32, MIN_FACTOR, TFLM_POOL, same_scale

scales = st.floats(2.0**-16, 2.0**4, width=32)


@given(scales, scales, scales)
def test_factors_agree_in_any_order_and_width(x, w, y):
    first, second, third = map(np.float32, (x, w, y))
    exact = x * w / y
    for factor in (first * second / third, first / third * second, second / third * first):
        assert same_scale(float(factor), exact)
        assert same_scale(exact, float(factor))


@given(scales)
def test_neighbours_further_than_the_tolerance_do_not(scale):
    assert not same_scale(scale * (1 + 4 * FLOAT32), scale)
    assert not same_scale(scale * (1 - 4 * FLOAT32), scale)


def test_a_difference_that_is_always_allowed():
    assert same_scale(2e-7, 1e-7, TFLM_POOL)
    assert not same_scale(2e-7, 1e-7)
    assert same_scale(0.0, MIN_FACTOR, MIN_FACTOR)
