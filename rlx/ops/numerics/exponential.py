"""Exponential, reciprocal and softmax in 32-bit fixed point, as gemmlowp defines them.

A number in ``Qm.n`` is an int32 with ``n`` fractional bits; every step saturates or rounds as the
C++ templates do, so that results equal TensorFlow Lite Micro's to the last bit.

Source: gemmlowp ``fixedpoint.h`` (``exp_on_negative_values``,
``one_over_one_plus_x_for_x_in_0_1``); tflite-micro ``reference_ops::Softmax``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rlx.ops.numerics.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    quantize_multiplier,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
)

if TYPE_CHECKING:
    from rlx.ir.types import Array
    from rlx.ops.numerics.fixed_point import Int64

# (n, exp(-2^n) in Q0.31)
_EXP_FACTORS = (
    (-2, 1672461947),
    (-1, 1302514674),
    (0, 790015084),
    (1, 290630308),
    (2, 39332535),
    (3, 720401),
    (4, 242),
)
_ACCUMULATION_INTEGER_BITS = 12
"""Integer bits of a sum of exponentials (``kAccumulationIntegerBits`` of the reference)."""


def _saturate(x: Int64) -> Int64:
    return np.clip(x, INT32_MIN, INT32_MAX)


def _exp_near_zero(a: Int64) -> Int64:
    """Return exp(a) in Q0.31 for ``a`` in [-1/4, 0) as Q0.31, by a polynomial at -1/8."""
    multiply = saturating_rounding_doubling_high_multiply
    # exp(-1/8) and 1/3 in Q0.31. A Taylor polynomial of degree 4 at -1/8.
    constant_term, one_third = np.int64(1895147668), np.int64(715827883)
    x = a + (1 << 28)
    x2 = multiply(x, x)
    x3 = multiply(x2, x)
    x4 = multiply(x2, x2)
    x4_over_4 = rounding_divide_by_power_of_two(x4, 2)
    cubic = multiply(x4_over_4 + x3, one_third)
    tail = rounding_divide_by_power_of_two(cubic + x2, 1)
    return _saturate(constant_term + multiply(x + tail, constant_term))


def exp_on_negative_values(a: Int64, integer_bits: int = 5) -> Int64:
    """Return exp(a) in Q0.31 for ``a`` <= 0 with ``integer_bits`` (2 to 5) integer bits."""
    fraction_bits = 31 - integer_bits
    quarter = np.int64(1 << (fraction_bits - 2))
    remainder_quarter = (a & (quarter - 1)) - quarter
    result = _exp_near_zero(remainder_quarter << integer_bits)
    magnitude = remainder_quarter - a
    for exponent, factor in _EXP_FACTORS:
        if exponent < integer_bits:
            scaled = saturating_rounding_doubling_high_multiply(result, np.int64(factor))
            result = np.where(magnitude & (1 << (fraction_bits + exponent)), scaled, result)
    return np.where(a == 0, INT32_MAX, result)


def one_over_one_plus_x(a: Int64) -> Int64:
    """Return 1 / (1 + a) in Q0.31 for ``a`` in [0, 1) as Q0.31: three Newton-Raphson steps."""
    multiply = saturating_rounding_doubling_high_multiply
    total = a + INT32_MAX
    half_denominator = (total + np.where(total >= 0, 1, -1)) // 2
    # 48/17 - 32/17 d in Q2.29: the usual first estimate of a division by Newton-Raphson.
    x = 1515870810 + multiply(half_denominator, np.int64(-1010580540))
    for _ in range(3):
        error = (1 << 29) - multiply(half_denominator, x)
        x = x + _saturate(multiply(x, error) << 2)
    return _saturate(x << 1)


def reciprocal(x: Int64, integer_bits: int) -> tuple[Int64, Int64]:
    """Return ``(scale, bits)`` with ``1 / x ~ scale / 2^bits``, scale in Q0.31.

    Args:
        x: Positive numbers with ``integer_bits`` integer bits in int32.
        integer_bits: Integer bits of ``x``.
    """
    bit_length = np.frexp(x.astype(np.float64))[1].astype(np.int64)
    headroom_plus_one = 32 - bit_length
    shifted = (x << headroom_plus_one) - (np.int64(1) << 31)
    return one_over_one_plus_x(shifted), integer_bits - headroom_plus_one


def softmax_scaling(scale: float, beta: float = 1.0) -> tuple[int, int, int]:
    """Return ``(multiplier, left_shift, diff_min)`` of a softmax over int8 values of ``scale``.

    The factor converts differences of int8 values to Q5.26, whose minimum is that of ``diff_min``.

    Args:
        scale: Scale of the values; times ``beta`` at least 2^-26.
        beta: Factor on the exponents.

    Raises:
        ValueError: The product is too small, or not a number.

    Source: tflite-micro ``PreprocessSoftmaxScaling`` and ``CalculateInputRadius``.
    """
    real = beta * scale * 2.0**26
    if not real >= 1:
        raise ValueError(f"softmax needs beta * scale of at least 2^-26, got {beta * scale!r}")
    multiplier, left_shift = quantize_multiplier(min(real, 2.0**31 - 1))
    # At 31 only the largest value counts (diff_min is 0): all shifts have the same results.
    return multiplier, min(left_shift, 30), -((31 << 26) >> left_shift)


def softmax_int8(x: Array, multiplier: int, left_shift: int, diff_min: int) -> npt.NDArray[np.int8]:
    """Return the softmax of int8 ``x`` over its last axis as int8, scale 1/256, zero point -128."""
    return softmax_by_table(x, softmax_table(multiplier, left_shift, diff_min))


def softmax_by_table(x: Array, table: Int64) -> npt.NDArray[np.int8]:
    """Return the softmax of int8 ``x`` over its last axis; ``table`` is from ``softmax_table``."""
    wide = x.astype(np.int64)
    exponentials = table[wide - wide.max(axis=-1, keepdims=True) + 255]
    rescaled = rounding_divide_by_power_of_two(exponentials, _ACCUMULATION_INTEGER_BITS)
    total = rescaled.sum(axis=-1, keepdims=True)
    scale, bits = reciprocal(total, _ACCUMULATION_INTEGER_BITS)
    product = saturating_rounding_doubling_high_multiply(scale, exponentials)
    # The scale 1/256 leaves 8 of the 31 fraction bits.
    unsaturated = rounding_divide_by_power_of_two(product, bits + 31 - 8)
    result: npt.NDArray[np.int8] = np.clip(unsaturated - 128, -128, 127).astype(np.int8)
    return result


def softmax_table(multiplier: int, left_shift: int, diff_min: int) -> Int64:
    """Return exp of each scaled difference -255 .. 0 in Q0.31; 0 below ``diff_min``."""
    difference = np.arange(-255, 1, dtype=np.int64)
    # Differences below diff_min would overflow the shift; their results are not used.
    clipped = np.maximum(difference, diff_min)
    scaled = saturating_rounding_doubling_high_multiply(clipped << left_shift, np.int64(multiplier))
    return np.where(difference >= diff_min, exp_on_negative_values(scaled), 0)
