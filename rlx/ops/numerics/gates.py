"""Sigmoid and tanh on int16 by a table of 256 numbers, with linear interpolation.

Source: tflite-micro ``reference_integer_ops::Logistic`` and ``Tanh`` for int16.

Tests: tests/unit/ops/q/test_recurrent.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from rlx.ops.numerics.fixed_point import Int64

_ONE_MORE: Final = (
    4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39, 40, 41,
    43, 44, 45, 46, 49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255,
)  # fmt: skip
"""Indices at which the reference's table has one more than the nearest integer."""


def _table() -> Int64:
    exact = 65536 / (1 + np.exp(-np.arange(256) / 24))
    table: Int64 = np.rint(exact).astype(np.int64)
    table[list(_ONE_MORE)] += 1
    return table


SIGMOID: Final = _table()
"""``sigmoid(i / 24)`` in units of 2^-16."""


def gate_scaling(scale: float) -> tuple[int, int]:
    """Return multiplier and right shift of values of a scale to units of 2^-12 / 3.

    Source: tflite-micro ``CalculateArithmeticOpDataLogistic`` and ``TanhPrepare`` for int16: the
    multiplier is truncated.
    """
    real, shift = scale * 4096 * 3, 0
    while real <= 32767 / 2 and shift <= 30:
        real, shift = real * 2, shift + 1
    return int(real), shift


def scaled_gate(x: Int64, multiplier: int, shift: int) -> Int64:
    """Return int16 values in units of 2^-12 / 3, by the result of ``gate_scaling``."""
    return (x * multiplier + (1 << shift >> 1)) >> shift


def sigmoid16(x: Int64) -> Int64:
    """Return the sigmoid of values in units of 2^-12, in units of 2^-15."""
    return sigmoid_of(3 * x)


def sigmoid_of(scaled: Int64) -> Int64:
    """Return the sigmoid of values in units of 2^-12 / 3, in units of 2^-15."""
    y = _interpolated(scaled, 9)
    rounded: Int64 = np.where(scaled >= 0, y + 512, (1 << 25) - y + 511) >> 10
    return rounded


def tanh16(x: Int64, power: int) -> Int64:
    """Return the hyperbolic tangent of values in units of ``2^power``, in units of 2^-15."""
    left = 12 + power
    return tanh_of(x * (3 << left) if left >= 0 else (3 * x + (1 << (-left - 1))) >> -left)


def tanh_of(scaled: Int64) -> Int64:
    """Return the hyperbolic tangent of values in units of 2^-12 / 3, in units of 2^-15."""
    y = _interpolated(scaled, 8)
    rounded: Int64 = np.where(scaled >= 0, y - (1 << 23) + 128, -y + (1 << 23) + 127) >> 8
    return rounded


def _interpolated(x: Int64, bits: int) -> Int64:
    """Return the table at ``|x| / 2^bits``, in units of ``2^-16 / 2^bits``."""
    magnitude = np.abs(x)
    index, fraction = magnitude >> bits, magnitude & ((1 << bits) - 1)
    known = np.minimum(index, 254)
    between = (SIGMOID[known] << bits) + fraction * (SIGMOID[known + 1] - SIGMOID[known])
    # The end of the sigmoid has one bit less than that of tanh.
    end = 0x7FFF << 10 if bits == 9 else 0xFFFF << 8
    interpolated: Int64 = np.where(index >= 255, end, between)
    return interpolated
