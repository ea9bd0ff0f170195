"""Activation functions of int8 values in fixed point, as TensorFlow Lite Micro computes them.

Each function is applied to the 256 int8 values when a model is imported, and becomes a table.

Source: gemmlowp ``fixedpoint.h`` (``logistic``, ``tanh``); tflite-micro
``reference_integer_ops::Logistic`` and ``Tanh``, ``reference_ops::HardSwish`` and
``QuantizeLeakyRelu``.

Tests: tests/unit/frontends/tflite/ops/test_table.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rlx.ops.numerics.exponential import exp_on_negative_values, one_over_one_plus_x
from rlx.ops.numerics.fixed_point import (
    INT32_MAX,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ops.numerics.fixed_point import Int64

Table = tuple[int, ...]

_INTEGER_BITS = 4
_INT16_MIN, _INT16_MAX = -(2**15), 2**15 - 1


def logistic_q4(x: Int64) -> Int64:
    """Return ``1 / (1 + exp(-x))`` in Q0.31 for ``x`` in Q4.27."""
    positive = one_over_one_plus_x(exp_on_negative_values(-np.abs(x), _INTEGER_BITS))
    result: Int64 = np.where(x > 0, positive, np.where(x < 0, INT32_MAX - positive, 1 << 30))
    return result


def tanh_q4(x: Int64) -> Int64:
    """Return ``tanh(x)`` in Q0.31 for ``x`` in Q4.27."""
    # exp(2x): the same bits read as Q5.26 are twice the value.
    magnitude = one_minus_x_over_one_plus_x(exp_on_negative_values(-np.abs(x), _INTEGER_BITS + 1))
    result: Int64 = np.sign(x) * magnitude
    return result


def one_minus_x_over_one_plus_x(a: Int64) -> Int64:
    """Return (1 - a) / (1 + a) in Q0.31 for ``a`` in [0, 1] as Q0.31."""
    multiply = saturating_rounding_doubling_high_multiply
    # 2 / (1 + a) by three Newton-Raphson steps, in Q2.29.
    half_denominator = (a + INT32_MAX + 1) // 2
    x = 1515870810 + multiply(half_denominator, np.int64(-1010580540))
    for _ in range(3):
        error = (1 << 29) - multiply(half_denominator, x)
        x = x + (multiply(x, error) << 2)
    result: Int64 = np.minimum((x - (1 << 29)) << 2, INT32_MAX)
    return result


def input_radius(left_shift: int, integer_bits: int) -> int:
    """Return the minimum magnitude of a difference of int8 values outside the fixed-point range.

    Source: tflite-micro ``CalculateInputRadius`` with 31 bits in total.
    """
    return math.floor((2.0**integer_bits - 1) * 2.0 ** (31 - integer_bits - left_shift))


def logistic_table(scale: float, zero_point: int) -> Table:
    """Return the logistic function of every int8 value, with scale 1/256, zero point -128."""
    return _sigmoid_table(scale, zero_point, logistic_q4, bits=8, result_zero_point=-128)


def tanh_table(scale: float, zero_point: int) -> Table:
    """Return tanh of every int8 value, with scale 1/128, zero point 0."""
    return _sigmoid_table(scale, zero_point, tanh_q4, bits=7, result_zero_point=0)


def _sigmoid_table(
    scale: float,
    zero_point: int,
    function: Callable[[Int64], Int64],
    *,
    bits: int,
    result_zero_point: int,
) -> Table:
    """Tabulate a function of Q4.27 whose result in Q0.31 is rounded to ``bits`` fraction bits."""
    real = scale * 2.0 ** (31 - _INTEGER_BITS)
    multiplier, shift = quantize_multiplier(real)
    x = int8_values() - zero_point
    # From a scale of 8 on the radius is 0 and the (then saturated) multiplier has no effect.
    radius = input_radius(math.frexp(real)[1], _INTEGER_BITS)
    # Outside the radius the scaled value does not fit; its function value is saturated anyway.
    near = np.clip(x, -radius, radius)
    fixed = multiply_by_quantized_multiplier(near, np.int64(multiplier), np.int64(shift))
    value = rounding_divide_by_power_of_two(function(fixed), 31 - bits) + result_zero_point
    saturated = np.where(x <= -radius, -128, np.where(x >= radius, 127, value))
    return to_table(saturated)


def leaky_relu_table(
    scale: float,
    zero_point: int,
    alpha: float,
    to_scale: float,
    to_zero_point: int,
    precision: type[np.float32] | type[np.float64] = np.float64,
) -> Table:
    """Return ``x if x >= 0 else alpha * x`` of every int8 value; ``alpha`` is not negative.

    Scales are multiplied and divided in ``precision``.
    """
    x_scale, y_scale = precision(scale), precision(to_scale)
    identity = quantize_multiplier(float(x_scale / y_scale))
    leak = quantize_multiplier(float(x_scale * precision(alpha) / y_scale))
    x = int8_values() - zero_point
    scaled = [
        multiply_by_quantized_multiplier(x, np.int64(multiplier), np.int64(shift))
        for multiplier, shift in (identity, leak)
    ]
    return to_table(np.where(x >= 0, *scaled) + to_zero_point)


def hard_swish_multipliers(
    scale: float, to_scale: float, precision: type[np.float32] | type[np.float64] = np.float64
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the 16-bit multipliers and shifts towards the result and towards relu6's range.

    Scales are divided in ``precision``.
    """
    fine = precision(scale) / precision(128)
    (out, out_shift), (relu, relu_shift) = (
        quantize_multiplier(float(fine / precision(other))) for other in (to_scale, 3 / 32768)
    )
    return (_to_int16(out), out_shift), (_to_int16(relu), relu_shift)


def hard_swish_table(
    output: tuple[int, int], relu: tuple[int, int], zero_point: int, to_zero_point: int
) -> Table:
    """Return ``x * relu6(x + 3) / 6`` of every int8 value, in 16-bit arithmetic.

    Args:
        output: Multiplier and shift towards the result's scale; the shift in [-15, 0].
        relu: Multiplier and shift that make 3.0 the number 32768; the shift in [-15, 31].
        zero_point: Zero point of the operand.
        to_zero_point: Zero point of the result.
    """
    fine = (int8_values() - zero_point) << 7
    on_output_scale = _multiply_int16(fine, output[0])
    gate = fine if relu[1] <= 0 else _saturate_int16(fine << (relu[1] - 1))
    gate = _multiply_int16(gate, relu[0])
    if relu[1] > 0:
        gate = _saturate_int16(gate << 1)
    gate = rounding_divide_by_power_of_two(gate, max(-relu[1], 0))
    gate = (gate + (1 << 15)) >> 1
    # Truncated, not rounded: that cancels the bias of the rounded products above.
    product = gate * on_output_scale
    swished = np.sign(product) * (np.abs(product) >> 15)
    return to_table(rounding_divide_by_power_of_two(swished, -output[1]) + to_zero_point)


def int8_values() -> Int64:
    """Return -128 to 127, the operands of a table's entries."""
    return np.arange(-128, 128, dtype=np.int64)


def to_table(values: Int64) -> Table:
    """Return a table of values saturated to int8."""
    return tuple(int(v) for v in np.clip(values, -128, 127))


def _to_int16(multiplier: int) -> int:
    """Return a Q0.31 multiplier in Q0.15."""
    return min((multiplier + (1 << 15)) >> 16, _INT16_MAX)


def _saturate_int16(x: Int64) -> Int64:
    return np.clip(x, _INT16_MIN, _INT16_MAX)


def _multiply_int16(a: Int64, b: int) -> Int64:
    """Return ``round(a * b / 2^15)`` saturated to int16."""
    product = a * b
    nudged = product + np.where(product >= 0, 1 << 14, 1 - (1 << 14))
    result: Int64 = np.minimum(np.sign(nudged) * (np.abs(nudged) >> 15), _INT16_MAX)
    return result
