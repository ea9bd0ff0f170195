"""Reciprocals of square roots in 32-bit fixed point, and normalization by them.

Source: tflite-micro ``GetInvSqrtQuantizedMultiplierExp`` and
``reference_integer_ops::L2Normalization``.

Tests: tests/unit/frontends/tflite/ops/test_functions.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ops.numerics.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    multiply_by_quantized_multiplier,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
    wrap_int32,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir.types import Array
    from rlx.ops.numerics.fixed_point import Int64

_STEPS: Final = 5
_THREE_HALVES: Final = 3 << 27
_SQRT_HALF: Final = 1518500250
_RESULT_BITS: Final = 7
"""Fraction bits of normalized values, whose scale is 1/128."""


def inverse_root(x: Int64) -> tuple[Int64, Int64]:
    """Return ``(multiplier, shift)`` with ``1 / sqrt(x) ~ multiplier * 2^(shift - 31)``.

    Args:
        x: Integers from 0 to 2^31 - 1; 0 counts as 1.
    """
    multiply = saturating_rounding_doubling_high_multiply
    is_large = x >= 1 << 29
    reduced = np.maximum(np.where(is_large, x >> 2, x), 1)
    pairs = (31 - np.frexp(reduced.astype(np.float64))[1].astype(np.int64)) // 2 - 1
    number = (reduced << 2 * pairs) >> 1
    half = rounding_divide_by_power_of_two(number, 1)
    estimate = np.full_like(x, 1 << 28)
    for _ in range(_STEPS):
        cube = _saturate(multiply(multiply(estimate, estimate), estimate) << 6)
        step = wrap_int32(multiply(estimate, _THREE_HALVES) - multiply(half, cube))
        estimate = _saturate(step << 3)
    left = pairs - 11 - is_large
    multiplier = multiply(estimate, _SQRT_HALF) << np.maximum(left, 0)
    # The reference has a case of its own for 1.
    is_one = x <= 1
    return np.where(is_one, INT32_MAX, multiplier), np.where(is_one, 0, np.minimum(left, 0))


def l2_normalized(x: Array, zero_point: int) -> npt.NDArray[np.int8]:
    """Return int8 ``x`` divided by the root of the sum of squares over its last axis, times 128."""
    centred = x.astype(np.int64) - zero_point
    squares = np.square(centred).sum(axis=-1, keepdims=True)
    multiplier, shift = inverse_root(squares)
    scaled = multiply_by_quantized_multiplier(centred, multiplier, shift + _RESULT_BITS)
    result: npt.NDArray[np.int8] = np.clip(scaled, -128, 127).astype(np.int8)
    return result


def _saturate(x: Int64) -> Int64:
    return np.clip(x, INT32_MIN, INT32_MAX)
