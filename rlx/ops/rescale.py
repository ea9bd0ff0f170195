"""Quantization arithmetic: scales and zero points become the integers of ``q.*`` ops.

Frontends of integer files and the conversion of float networks use it. Functions accept scales,
zero points and element types as plain values, know no file format, and refuse values beyond the
integers with ``ScaleError``.

Scales are float32 values. Two widths and one rounding are used, those of the reference
(docs/design/0005-one-reference.md):

- Scales are widened to double (Python's ``float``) before they are multiplied or divided. A product
  of two float32 values is exact there, so that the multiplier of 31 bits is the nearest one; in
  float32 about every multiplier would differ in its last bits.
- The ends of activations are quotients in float32, as the reference computes them.
- Floats become integers by rounding to the nearest, halves away from zero (C's ``round``),
  never half to even as NumPy's ``round`` does.

Tests: tests/unit/frontends/test_quantization.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlx.ops.checks import ACCUMULATOR_MAX, WIDE_SUM_MAX, accumulator_bound
from rlx.ops.numerics import exponential
from rlx.ops.numerics.fixed_point import INT32_MAX, Rescale, Rounding
from rlx.ops.q.linear_view import accumulator_bounds
from rlx.ops.real.cast import integer_range
from rlx.support.errors import QuantizationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rlx.ir import Array, DType
    from rlx.ops.numerics.fixed_point import Int64

Bounds = tuple[int, int]
Precision = type[np.float32] | type[np.float64]
"""Type that scales are multiplied and divided in."""

_MAX_FACTOR = 2.0**30 - 1
"""Largest factor: from 2^30 on the reference shifts an int32 out of itself."""
_MAX_WIDE_FACTOR = 127.0
"""Factor of an int64 sum from which its shift would be 8, which the reference excludes."""
SUM_LEFT_SHIFT = {8: 20, 16: 15}
"""Bits by which the operands of a sum are shifted first, by their bits.

Source: tflite-micro ``CalculateOpDataAdd``.
"""
_MULTIPLIER_STEPS = (0, 1, -1, 2, -2, 3, -3)
"""Distances from the nearest multiplier, in the order in which they are tried."""

_SQUARE_LEFT_SHIFT = 7
"""Bits by which the operands of a squared difference are shifted first."""


class ScaleError(QuantizationError):
    """Scales are so far apart, or so small, that the integers of an op cannot hold them."""


class RangeError(ScaleError):
    """The end of an activation's range is beyond all quantized values of its scale."""


def rescale_of(*factors: float, rounding: Rounding = Rounding.DOUBLE) -> Rescale:
    """Return the fixed-point form of factors: multipliers of 31 bits, halves away from zero.

    Args:
        factors: Products and quotients of scales in double, none negative; one, or one for each
            channel.
        rounding: Rounding of products with the factors; the reference rounds twice.

    Raises:
        ScaleError: A factor is 2^30 or more, where the reference shifts an int32 out of
            itself, which C leaves undefined.
    """
    for factor in factors:
        if not factor <= _MAX_FACTOR:
            raise ScaleError(
                f"the scales give a factor of {factor:.3g}, expected less than 2^30",
                hint="quantize the model again; a scale is out of proportion",
            )
    return Rescale.of(*factors, rounding=rounding)


def linear_rescale(
    x_scale: float,
    weight_scales: Iterable[float],
    scale: float,
    rounding: Rounding = Rounding.DOUBLE,
    precision: Precision = np.float64,
    *,
    wide: bool = False,
) -> Rescale:
    """Return the scaling of a convolution's or dense layer's accumulators to its result.

    In this order: ``x_scale * weight_scale``, then ``/ scale`` in double. Another order rounds
    differently, which in rare cases results in another multiplier.

    Source: tflite-micro ``PopulateConvolutionQuantizationParams`` and
    ``GetQuantizedConvolutionMultipler``.

    Args:
        x_scale: Scale of the input.
        weight_scales: Scale of the weights, or one for each output channel.
        scale: Scale of the result.
        rounding: Rounding of products with the factors.
        precision: That of the product of two scales.
        wide: Whether accumulators are int64, whose factors have 15 bits.

    Raises:
        ScaleError: A factor is beyond those that the reference shifts by.
    """
    products = [float(precision(x_scale) * precision(w)) for w in weight_scales]
    if wide:
        return _wide_rescale(*(p / scale for p in products))
    return rescale_of(*(p / scale for p in products), rounding=rounding)


def _wide_rescale(*factors: float) -> Rescale:
    """Return the factors of int64 sums, below 2^7."""
    if not max(factors) < _MAX_WIDE_FACTOR:
        raise ScaleError(
            f"the scales give a factor of {max(factors):.3g}, expected less than 128",
            hint="quantize the model again; a scale is out of proportion",
        )
    return Rescale.wide(*factors)


def rounded_rescale(factor: float, bound: int, low: int, high: int) -> Rescale:
    """Return the scaling by ``round(x * factor)`` of C in double, halves away from zero.

    A multiplier of 31 bits may differ from it next to halves. Of those that are close to
    ``factor``, the first one without a difference is returned: it is compared on both sides of each
    half.

    Args:
        factor: Product and quotient of scales in double.
        bound: Largest magnitude of ``x``.
        low: Minimum of the result, which is clamped.
        high: Maximum of the result.

    Raises:
        ScaleError: Every multiplier differs.
    """
    nearest = rescale_of(factor, rounding=Rounding.SINGLE)
    (multiplier,), (shift,) = nearest.multiplier, nearest.shift
    if not multiplier:
        return nearest
    halves = np.rint((np.arange(low, high + 1) - 0.5) / factor)
    points = np.unique(np.clip(halves[:, np.newaxis] + np.arange(-2, 3), -bound, bound))
    magnitude = np.abs(points * factor)
    rounded = np.trunc(magnitude) + (magnitude - np.trunc(magnitude) >= 0.5)
    expected = np.clip(np.copysign(rounded, points), low, high)
    for candidate in (multiplier + d for d in _MULTIPLIER_STEPS):
        if 1 << 30 <= candidate <= INT32_MAX:
            rescale = Rescale((candidate,), (shift,), Rounding.SINGLE)
            results = np.clip(rescale.apply(points.astype(np.int64)), low, high)
            if np.array_equal(results, expected):
                return rescale
    raise ScaleError(
        f"accumulators up to {bound} times {factor!r}, rounded in double, equal no product with a "
        "multiplier of 31 bits",
        hint="quantize the layer again; its bias or its weights are out of proportion",
    )


def fitted_rescale(factor: float, sums: Int64, rounded: Int64, low: int, high: int) -> Rescale:
    """Return a scaling by ``factor``, rounded once, that makes ``rounded`` of ``sums``.

    Of the multipliers of 31 bits with these results it is the nearest one.

    Args:
        factor: A quotient of scales in double.
        sums: The accumulators.
        rounded: Their results, clamped.
        low: Minimum of the results.
        high: Maximum of the results.

    Raises:
        ScaleError: No multiplier has these results.
    """
    nearest = rescale_of(factor, rounding=Rounding.SINGLE)
    (multiplier,), (shift,) = nearest.multiplier, nearest.shift
    if not multiplier:
        return nearest
    total = 31 - shift
    # rounded <= (sum * m + 2^(total-1)) / 2^total < rounded + 1, times the sum's sign.
    sign, magnitude = np.sign(sums), np.maximum(np.abs(sums), 1)
    first = (rounded << total) - (np.int64(1) << (total - 1))
    last = first + (np.int64(1) << total) - 1
    at_least = np.where(sign > 0, first, -last)
    at_most = np.where(sign > 0, last, -first)
    bounds_below = (sign > 0) & (rounded > low) | (sign < 0) & (rounded < high)
    bounds_above = (sign > 0) & (rounded < high) | (sign < 0) & (rounded > low)
    minimum = (-(-at_least // magnitude)).max(initial=1 << 30, where=bounds_below)
    maximum = (at_most // magnitude).min(initial=INT32_MAX, where=bounds_above)
    if minimum > maximum:
        raise ScaleError(
            f"sums times {factor!r}, rounded twice, equal no product with a multiplier of 31 bits",
            hint="quantize the model again with representative samples",
        )
    return Rescale((int(np.clip(multiplier, minimum, maximum)),), (shift,), Rounding.SINGLE)


def float32_rescale(
    x_scale: float, weight_scales: Iterable[float], scale: float, alpha: float = 1.0
) -> Rescale:
    """Return the scaling of a layer's accumulators as ONNX Runtime has it, all in float32.

    Args:
        x_scale: Scale of the input.
        weight_scales: Scale of the weights, or one for each output channel.
        scale: Scale of the result.
        alpha: Factor of the result.

    Source: onnxruntime ``QLinearConv``, ``QGemm``.
    """
    left = np.float32(alpha) * np.float32(x_scale)
    factors = left * np.array([*weight_scales], np.float32) / np.float32(scale)
    return rescale_of(*factors.tolist(), rounding=Rounding.FLOAT32)


@dataclass(frozen=True, slots=True)
class SumScaling:
    """Scalings of the operands of a sum or difference to one scale: the attributes of ``q.add``.

    Attributes:
        x_rescale: Factor of the first operand, after ``left_shift``.
        y_rescale: Factor of the second operand, after ``left_shift``.
        left_shift: Fraction bits that operands get beforehand.
        rescale: Factor of the sum.
    """

    x_rescale: Rescale
    y_rescale: Rescale
    left_shift: int
    rescale: Rescale


def sum_scaling(
    x_scale: float,
    y_scale: float,
    scale: float,
    rounding: Rounding = Rounding.DOUBLE,
    bits: int = 8,
) -> SumScaling:
    """Return the scalings of a sum: both operands get twice the larger scale, all in double.

    Source: tflite-micro ``CalculateOpDataAdd`` and ``CalculateOpDataSub``.

    Args:
        x_scale: Scale of the first operand.
        y_scale: Scale of the second operand.
        scale: Scale of the result.
        rounding: Rounding of products with the factors.
        bits: Bits of the operands.
    """
    twice, left_shift = 2 * max(x_scale, y_scale), SUM_LEFT_SHIFT[bits]
    return SumScaling(
        rescale_of(x_scale / twice, rounding=rounding),
        rescale_of(y_scale / twice, rounding=rounding),
        left_shift,
        rescale_of(twice / ((1 << left_shift) * scale), rounding=rounding),
    )


def square_scaling(
    x_scale: float,
    y_scale: float,
    scale: float,
    rounding: Rounding = Rounding.DOUBLE,
    bits: int = 8,
) -> SumScaling:
    """Return the scalings of a squared difference, both operands as in a sum, all in double.

    Source: tflite-micro ``SquaredDifferencePrepare``.

    Args:
        x_scale: Scale of the first operand.
        y_scale: Scale of the second operand.
        scale: Scale of the result.
        rounding: Rounding of products with the factors.
        bits: Bits of the operands.
    """
    assert bits == 8
    twice = 2 * max(x_scale, y_scale)
    return SumScaling(
        rescale_of(x_scale / twice, rounding=rounding),
        rescale_of(y_scale / twice, rounding=rounding),
        _SQUARE_LEFT_SHIFT,
        rescale_of(twice * twice / ((1 << 2 * _SQUARE_LEFT_SHIFT) * scale), rounding=rounding),
    )


@dataclass(frozen=True, slots=True)
class SoftmaxScaling:
    """Scaling of differences of inputs in a softmax: the attributes of ``q.softmax``.

    Attributes:
        multiplier: Multiplier of 31 bits.
        left_shift: Power of two of the multiplier.
        diff_min: Smallest difference to the largest input that counts, at most 0.
    """

    multiplier: int
    left_shift: int
    diff_min: int


def softmax_scaling(x_scale: float, beta: float) -> SoftmaxScaling:
    """Return the scaling of a softmax's inputs to Q5.26: ``beta * x_scale * 2^26`` in double.

    Source: tflite-micro ``CalculateSoftmaxParams``, ``PreprocessSoftmaxScaling``.

    Args:
        x_scale: Scale of the input.
        beta: Factor of the exponents, finite and above 0.

    Raises:
        ScaleError: The factor is at most 1.
    """
    if beta * x_scale * 2.0**26 <= 1:
        raise ScaleError(
            f"has the input scale {x_scale!r}, outside of the fixed point",
            hint="quantize the model again with representative samples",
        )
    return SoftmaxScaling(*exponential.softmax_scaling(x_scale, beta))


def quantized(real: float, scale: float, zero_point: int) -> int:
    """Return ``real / scale + zero_point``: the quotient in float32, halves away from zero.

    The result is not clamped to an element type.

    Args:
        real: A float, exact in float32.
        scale: A scale, exact in float32.
        zero_point: Quantized value of 0.

    Raises:
        RangeError: The quotient does not fit int32.
    """
    with np.errstate(over="ignore"):
        ratio = float(np.float32(real) / np.float32(scale))
    if not abs(ratio) <= INT32_MAX:
        raise RangeError(
            f"the scale {scale!r} is too small for the activation's range",
            hint="quantize the model again with representative samples",
        )
    return zero_point + math.floor(abs(ratio) + 0.5) * (1 if ratio >= 0 else -1)


def activation_bounds(
    low: float | None, high: float | None, scale: float, zero_point: int, dtype: DType
) -> Bounds:
    """Return the quantized values that an activation lets through; its ends are divided in float32.

    Source: tflite-micro ``CalculateActivationRangeQuantized``.

    Args:
        low: Smallest float that it lets through, exact in float32; None if it has no end.
        high: The largest one, likewise.
        scale: Scale of the result.
        zero_point: Zero point of the result.
        dtype: Integer type of the result.

    Raises:
        RangeError: An end divided by the scale does not fit int32.
    """
    lowest, highest = integer_range(dtype)
    return (
        lowest if low is None else max(lowest, quantized(low, scale, zero_point)),
        highest if high is None else min(highest, quantized(high, scale, zero_point)),
    )


def check_wide_sums(magnitudes: Int64, bias: Array, rescale: Rescale) -> None:
    """Refuse a layer of int16 values whose int64 sums could leave the reference's arithmetic.

    Args:
        magnitudes: Sum of the weights' magnitudes of each output channel, int64[O].
        bias: One for each output channel, int64[O].
        rescale: Scaling of the sums.

    Raises:
        ScaleError: A sum may reach 2^47, or a scaled one 2^31.
    """
    bounds = accumulator_bounds(magnitudes, bias, 1 << 15)
    scaled = bounds * np.array(rescale.real)
    if bounds.max() > WIDE_SUM_MAX or scaled.max() >= INT32_MAX:
        raise ScaleError(
            f"the accumulator may reach {bounds.max()}, beyond the fixed point",
            hint="quantize the layer again; its bias or its weights are out of proportion",
        )


def check_accumulator(magnitudes: Int64, bias: Array, zero_point: int) -> None:
    """Refuse a convolution or dense layer whose sum of products could leave int32.

    Exact integers, nothing is rounded. The input may hold any int8 code.

    Args:
        magnitudes: Sum of the weights' magnitudes of each output channel, int64[O]
            (``rlx.ops.numerics.products.magnitudes``).
        bias: One for each output channel, int32[O].
        zero_point: Zero point of the input.

    Raises:
        ScaleError: The accumulator of a channel may not fit.
    """
    bound = int(accumulator_bound(magnitudes, bias, zero_point).max())
    if bound > ACCUMULATOR_MAX:
        raise ScaleError(
            f"the accumulator may reach {bound}, which does not fit 32 bits",
            hint="quantize the layer again; its bias or its weights are out of proportion",
        )
