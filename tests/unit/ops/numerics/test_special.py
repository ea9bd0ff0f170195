from __future__ import annotations

import math

import numpy as np
import pytest

from rlx.ops.numerics.special import erf

PLACES = np.concatenate([np.linspace(-8, 8, 20001), 10.0 ** np.linspace(-30, 0, 301)])


@pytest.mark.parametrize(("dtype", "ulps"), [(np.float64, 12), (np.float32, 4)])
def test_erf_is_within_units_in_the_last_place_of_the_c_library(dtype, ulps):
    x = PLACES.astype(dtype)
    exact = np.array([math.erf(v) for v in x.astype(np.float64)])
    result = erf(x)
    assert result.dtype == dtype
    error = np.abs(result.astype(np.float64) - exact)
    assert (error <= ulps * np.spacing(np.abs(exact).astype(dtype)).astype(np.float64)).all()


def test_erf_is_odd_and_bounded():
    x = PLACES.astype(np.float32)
    np.testing.assert_array_equal(erf(-x), -erf(x))
    assert np.abs(erf(x)).max() == 1.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_erf_of_special_numbers(dtype):
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)
    result = erf(x)
    np.testing.assert_array_equal(result, [np.nan, 1.0, -1.0, 0.0, -0.0])
    np.testing.assert_array_equal(np.signbit(result[3:]), [False, True])


def test_erf_of_many_blocks_is_that_of_each_number():
    x = np.linspace(-4, 4, 3 * 16384 + 5, dtype=np.float32).reshape(-1, 1)
    np.testing.assert_array_equal(
        erf(x), np.concatenate([erf(part) for part in np.split(x, [9, 16400])])
    )


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_erf_keeps_odd_shapes(shape):
    assert erf(np.zeros(shape)).shape == shape
