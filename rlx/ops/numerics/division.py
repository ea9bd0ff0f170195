"""Quotients of small integers in 32-bit fixed point.

Source: tflite-micro ``reference_ops::DivElementwise``, ``GetReciprocal``.

Tests: tests/unit/frontends/tflite/ops/test_division.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ops.numerics.exponential import reciprocal
from rlx.ops.numerics.fixed_point import (
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
)

if TYPE_CHECKING:
    from rlx.ops.numerics.fixed_point import Int64

_BEYOND: Final = 512
"""Quotient by zero, outside of int8 with any zero point."""


def scaled_quotients(x: Int64, y: Int64, multiplier: int, shift: int) -> Int64:
    """Return ``x / y * multiplier * 2^(shift - 31)``, rounded.

    A quotient by zero has the sign of ``x`` and is beyond int8. Where the reference shifts by more
    than 31 bits, which C leaves undefined, the quotient is below half a step: 0.

    Args:
        x: Dividends of magnitude up to 255.
        y: Divisors from 0 to 255.
        multiplier: Q0.31 part of the factor.
        shift: Its power of two, at most 23.
    """
    multiply = saturating_rounding_doubling_high_multiply
    inverse, bits = reciprocals(np.maximum(y, 1))
    # Bits to the left that leave the dividend in int32.
    headroom = 31 - bit_lengths(np.where(x < 0, -x - 1, x))
    scaled = multiply(multiply(x << headroom, inverse), np.int64(multiplier))
    total = bits + headroom - shift
    rounded = rounding_divide_by_power_of_two(scaled, np.minimum(total, 31))
    return np.where(y == 0, _BEYOND * np.sign(x), np.where(total > 31, 0, rounded))


def reciprocals(y: Int64) -> tuple[Int64, Int64]:
    """Return ``(inverse, bits)`` with ``1 / y ~ inverse / 2^(31 + bits)`` of positive integers."""
    return reciprocal(y, 31)


def bit_lengths(x: Int64) -> Int64:
    """Return the number of bits of integers from 0 on, 0 for 0."""
    lengths: Int64 = np.frexp(x.astype(np.float64))[1].astype(np.int64)
    return lengths
