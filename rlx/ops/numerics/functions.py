"""Functions of int8 values as tables, as the interpreters of TensorFlow Lite compute them.

``abs``, ``elu`` and ``rsqrt`` are those of TensorFlow Lite Micro, which has no int8 kernel for the
others; ``exp``, ``log``, ``gelu`` and ``sqrt`` are those of LiteRT. Of ``neg`` and ``square``, for
which neither has a right one, results are the nearest ones.

Source: tflite-micro ``abs.cc``, ``elu.cc``, ``GetInvSqrtQuantizedMultiplierExp``; LiteRT
``LUTPopulate``, ``elementwise.cc``.

Tests: tests/unit/frontends/tflite/ops/test_functions.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ops.numerics.activations import Table, int8_values, to_table
from rlx.ops.numerics.fixed_point import (
    Rescale,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from rlx.ops.numerics.roots import inverse_root

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ops.numerics.fixed_point import Int64

_EDGE = 1 << 20
"""Bound of quotients before the zero point is added; far outside of int8."""


def abs_table(scale: float, zero_point: int, to_scale: float, to_zero_point: int) -> Table:
    """Return magnitudes, rescaled."""
    magnitudes = np.abs(int8_values() - zero_point)
    return to_table(Rescale.of(scale / to_scale).apply(magnitudes) + to_zero_point)


def sqrt_table(scale: float, zero_point: int, to_scale: float, to_zero_point: int) -> Table:
    """Return square roots, the quotient truncated; negative values count as 0."""
    with np.errstate(over="ignore"):
        x = np.float32(scale) * (int8_values() - zero_point).astype(np.float32)
        quotients = np.sqrt(np.maximum(x, np.float32(0))) / np.float32(to_scale)
    return to_table(np.minimum(quotients, _EDGE).astype(np.int64) + to_zero_point)


def real_table(
    function: Callable[[float], float],
    scale: float,
    zero_point: int,
    to_scale: float,
    to_zero_point: int,
) -> Table:
    """Return a function of floats: argument, result and quotient are float32.

    Args:
        function: The function in double; it may return an infinity.
        scale: Scale of the operand.
        zero_point: Zero point of the operand.
        to_scale: Scale of the result.
        to_zero_point: Zero point of the result.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        xs = np.float32(scale) * (int8_values() - zero_point).astype(np.float32)
        results = np.array([function(float(x)) for x in xs]).astype(np.float32)
        quotients = results * (np.float32(1) / np.float32(to_scale))
    near = np.clip(np.nan_to_num(quotients), -_EDGE, _EDGE).astype(np.float64)
    rounded = np.sign(near) * np.floor(np.abs(near) + 0.5)
    return to_table(rounded.astype(np.int64) + to_zero_point)


def elu(x: float) -> float:
    """Return ``exp(x) - 1`` of a negative number, each step in float32; others unchanged."""
    return float(np.float32(math.exp(x)) - np.float32(1)) if x < 0 else x


def exp(x: float) -> float:
    """Return ``exp(x)``, infinite beyond double."""
    return math.exp(x) if x < _EXP_END else math.inf


_EXP_END: Final = 700.0


def log(x: float) -> float:
    """Return the natural logarithm, minus infinity from 0 on downwards."""
    return math.log(x) if x > 0 else -math.inf


def gelu(x: float) -> float:
    """Return ``x`` times the normal distribution's probability of less."""
    return 0.5 * x * (1 + math.erf(x * math.sqrt(0.5)))


def gelu_by_tanh(x: float) -> float:
    """Return the approximation of ``gelu`` by tanh."""
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def neg(x: float) -> float:
    """Return ``-x``."""
    return -x


def square(x: float) -> float:
    """Return ``x * x``."""
    return x * x


def rsqrt_factor(scale: float, to_scale: float) -> float:
    """Return the result of ``rsqrt`` for 1, in double."""
    return 1.0 / (math.sqrt(scale) * to_scale)


def rsqrt_table(scale: float, zero_point: int, to_scale: float, to_zero_point: int) -> Table:
    """Return reciprocals of square roots; 0 and negative values have the largest result.

    The factor (``rsqrt_factor``) must be in [2^-11, 2^30).
    """
    multiplier, shift = quantize_multiplier(rsqrt_factor(scale, to_scale))
    scaled = multiply_by_quantized_multiplier(
        inverse_roots(), np.int64(multiplier), np.int64(shift - ROOT_BITS)
    )
    positive = scaled[: 127 - zero_point] + to_zero_point
    return to_table(np.append(np.full(256 - len(positive), 127), positive))


ROOT_BITS: Final = 20
"""Fraction bits of ``inverse_roots``."""


def inverse_roots() -> Int64:
    """Return ``2^20 / sqrt(x)`` of the integers from 1 to 255, by five steps of Newton's method."""
    x = np.arange(1, 256, dtype=np.int64)
    multiplier, shift = inverse_root(x)
    return multiply_by_quantized_multiplier(np.ones_like(x), multiplier, shift + ROOT_BITS)
