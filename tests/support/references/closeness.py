"""Comparison of results: integers bit for bit, floating-point numbers within rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from rlx.ir import DType

if TYPE_CHECKING:
    from rlx.ir import Array


def assert_close(found: Array, wanted: Array, ulps: float = 32) -> None:
    """Assert that two arrays are of one type and equal, floats up to rounding.

    Sums may be added in another order, so an error is measured against the larger of 1 and the
    largest magnitude in the array, in which terms of the sum may have been.

    Args:
        found: Numbers to check.
        wanted: Numbers that they should be.
        ulps: Units in the last place of that magnitude that numbers may differ by.
    """
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    if not DType.of(wanted).is_float:
        np.testing.assert_array_equal(found, wanted)
        return
    error = ulps * float(ml_dtypes.finfo(wanted.dtype).eps)
    with np.errstate(invalid="ignore"):  # a NaN of bfloat16 may signal
        a, b = found.astype(np.float64), wanted.astype(np.float64)
    magnitude = np.abs(b[np.isfinite(b)]).max(initial=1.0)
    np.testing.assert_allclose(a, b, rtol=0.0, atol=error * magnitude)
