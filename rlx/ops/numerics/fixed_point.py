"""Fixed-point scaling, exactly as TensorFlow Lite Micro and CMSIS-NN compute it.

This is the only definition in the project. The C macros and the hardware cells are tested
against it.

Source: gemmlowp ``fixedpoint.h``; tflite-micro ``kernels/internal/common.cc``
(``MultiplyByQuantizedMultiplier``) and ``quantization_util.cc`` (``QuantizeMultiplier``).
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

Int64: TypeAlias = npt.NDArray[np.int64]
Scalar: TypeAlias = np.int64 | int

INT32_MIN = -(2**31)
INT32_MAX = 2**31 - 1

WIDE_MASK = (1 << 16) - 1
"""Bits of a multiplier that are 0 if it has 15 bits, as those of sums beyond int32."""
_WIDE_SHIFTS = range(-31, 8)
"""Shifts of multipliers of 15 bits, as the reference accepts them."""

# Multipliers of 31 bits that are exact in float32, which has 24.
_FLOAT32_STEP = 1 << 7


class Rounding(enum.Enum):
    """Rounding of the product of accumulator and multiplier to an integer.

    ``DOUBLE`` rounds twice: half up in the doubling high multiply, then half away from zero in the
    shift. It is the default of TFLite Micro and CMSIS-NN. The others round the exact product once,
    and differ in halves only: ``SINGLE`` rounds them up, ``EVEN`` to the even integer as ONNX and
    QONNX do, ``ODD`` to the odd one. ``ODD`` is for formats that add an odd zero point before they
    round to even, as ``QLinearAdd`` of ONNX Runtime. ``FLOAT32`` rounds accumulator and product to
    float32 first, then to the even integer, as ``QLinearConv`` of ONNX Runtime; its factors are
    float32 values.
    """

    DOUBLE = "double"
    SINGLE = "single"
    EVEN = "even"
    ODD = "odd"
    FLOAT32 = "float32"

    @property
    def to_parity(self) -> int | None:
        """Parity of the integers that halves round to: 0 for even, 1 for odd, None for neither."""
        return {Rounding.EVEN: 0, Rounding.ODD: 1}.get(self)


def saturating_rounding_doubling_high_multiply(a: Int64, b: Int64 | Scalar) -> Int64:
    """Return ``round(a * b / 2^31)`` saturated to int32; ``a`` and ``b`` in int32's range.

    Halves round up. The sources nudge the product by its sign and let the division truncate;
    that is the same: ``trunc((p + 1 - 2^30) / 2^31) = floor((p + 2^30) / 2^31)`` for negative p.
    """
    high: Int64 = np.minimum((a * b + (1 << 30)) >> 31, INT32_MAX)
    return high


def rounding_divide_by_power_of_two(x: Int64, exponent: Int64 | Scalar) -> Int64:
    """Return ``round(x / 2^exponent)``, ties away from zero; ``exponent`` in [0, 31]."""
    mask = (np.int64(1) << exponent) - 1
    remainder = x & mask
    threshold = (mask >> 1) + (x < 0)
    return (x >> exponent) + (remainder > threshold)


def wrap_int32(x: Int64) -> Int64:
    """Return ``x`` reduced to int32's range as two's complement arithmetic wraps."""
    return ((x - INT32_MIN) & 0xFFFFFFFF) + INT32_MIN


def _has_15_bits(multiplier: Int64 | Scalar, shift: Int64 | Scalar) -> bool:
    """Return whether the low bits of multipliers are 0, and are not needed to round."""
    return not np.any(np.bitwise_and(multiplier, WIDE_MASK)) and bool(np.all(np.less(shift, 15)))


def multiply_by_quantized_multiplier(
    x: Int64,
    multiplier: Int64 | Scalar,
    shift: Int64 | Scalar,
    rounding: Rounding = Rounding.DOUBLE,
) -> Int64:
    """Return ``x * multiplier * 2^(shift - 31)``, rounded.

    Args:
        x: Accumulators in int32's range.
        multiplier: Q0.31 values in [2^30, 2^31 - 1], or 0.
        shift: Power of two, positive to the left, in [-31, 30].
        rounding: One of the definitions.
    """
    if rounding is Rounding.FLOAT32:
        factor = np.ldexp(np.asarray(multiplier, np.float32), np.asarray(shift) - 31)
        whole: Int64 = np.rint(x.astype(np.float32) * factor).astype(np.int64)
        return whole
    if rounding is not Rounding.DOUBLE:
        total, product = np.int64(31) - shift, x * multiplier
        if rounding is Rounding.SINGLE and _has_15_bits(multiplier, shift):
            # Products of sums beyond int32 fit int64 so.
            total, product = total - 16, x * (multiplier >> np.int64(16))
        half = np.int64(1) << (total - 1)
        if rounding.to_parity is not None:
            # The integer below a half is rounded up only if it has the wrong parity.
            half = half - 1 + ((product >> total & 1) ^ rounding.to_parity)
        return (product + half) >> total
    left = np.maximum(shift, 0)
    right = np.maximum(-np.asarray(shift), 0)
    shifted = wrap_int32(x << left)
    return rounding_divide_by_power_of_two(
        saturating_rounding_doubling_high_multiply(shifted, multiplier), right
    )


def quantize_multiplier(real: float) -> tuple[int, int]:
    """Return ``(multiplier, shift)`` with ``real ~ multiplier * 2^(shift - 31)``.

    Args:
        real: A finite number, not negative.
    """
    if not math.isfinite(real) or real < 0:
        raise ValueError(f"a multiplier must be finite and not negative, got {real!r}")
    if real == 0.0:
        return 0, 0
    fraction, shift = math.frexp(real)
    multiplier = math.floor(fraction * (1 << 31) + 0.5)
    # The fraction was rounded up to 1, which 31 bits do not hold.
    if multiplier == 1 << 31:
        multiplier //= 2
        shift += 1
    # Shifts of an int32: smaller factors round to 0, larger ones saturate.
    if shift < -31:
        return 0, 0
    if shift > 30:
        return INT32_MAX, 30
    return multiplier, shift


@dataclass(frozen=True, slots=True)
class Rescale:
    """A scaling by one fixed-point factor, or by one for each channel (last axis).

    Attributes:
        multiplier: Q0.31 multipliers, one or one for each channel.
        shift: The same number of shifts, positive to the left.
        rounding: One of the definitions.
    """

    multiplier: tuple[int, ...]
    shift: tuple[int, ...]
    rounding: Rounding = Rounding.DOUBLE

    def __post_init__(self) -> None:
        if len(self.multiplier) != len(self.shift) or not self.multiplier:
            raise ValueError(f"{len(self.multiplier)} multipliers but {len(self.shift)} shifts")
        if not all(0 <= m <= INT32_MAX for m in self.multiplier):
            raise ValueError(f"expected multipliers in [0, 2^31 - 1], got {list(self.multiplier)}")
        if not all(-31 <= s <= 30 for s in self.shift):
            raise ValueError(f"expected shifts in [-31, 30], got {list(self.shift)}")
        if self.rounding is Rounding.FLOAT32 and any(m % _FLOAT32_STEP for m in self.multiplier):
            raise ValueError("every multiplier must be a float32 number")

    @staticmethod
    def of(*reals: float, rounding: Rounding = Rounding.DOUBLE) -> Rescale:
        """Return the fixed-point form of real factors."""
        if rounding is Rounding.FLOAT32:
            reals = tuple(float(np.float32(r)) for r in reals)
        pairs = [quantize_multiplier(r) for r in reals]
        return Rescale(tuple(m for m, _ in pairs), tuple(s for _, s in pairs), rounding)

    @staticmethod
    def wide(*reals: float) -> Rescale:
        """Return the scaling of int64 sums: multipliers of 15 bits, halves up, rounded once.

        Source: tflite-micro ``MultiplyByQuantizedMultiplier`` for ``int64_t``.
        """
        exact = Rescale.of(*reals)
        reduced = ((m + (1 << 15)) >> 16 if m < 0x7FFF0000 else 0x7FFF for m in exact.multiplier)
        return Rescale(tuple(m << 16 for m in reduced), exact.shift, Rounding.SINGLE)

    @property
    def is_wide(self) -> bool:
        """Whether every sum below 2^47 can be scaled: see ``wide``."""
        return (
            self.rounding is Rounding.SINGLE
            and not any(m & WIDE_MASK for m in self.multiplier)
            and all(s in _WIDE_SHIFTS for s in self.shift)
        )

    @property
    def channels(self) -> int:
        """Number of factors: 1, or one for each channel."""
        return len(self.multiplier)

    @property
    def real(self) -> tuple[float, ...]:
        """The factors as floats."""
        return tuple(m * 2.0 ** (s - 31) for m, s in zip(self.multiplier, self.shift, strict=True))

    def take(self, channels: Sequence[int]) -> Rescale:
        """Return the scaling of some channels only; one factor for all stays one."""
        if self.channels == 1:
            return self
        return Rescale(
            tuple(self.multiplier[c] for c in channels),
            tuple(self.shift[c] for c in channels),
            self.rounding,
        )

    def divided(self, count: int) -> Rescale:
        """Return the scaling that also divides by ``count``, as TFLite Micro folds a mean's count.

        The quotient is taken of the multiplier moved up by the bits of ``count`` (as far as the
        shift allows) and truncated; so it is not the fixed-point form of ``real / count``.

        Source: tflite-micro ``reference_ops::QuantizedMeanOrSum``.
        """
        if count < 1:
            raise ValueError(f"a count must be at least 1, got {count}")
        # Limits of the reference: 32 keeps the moved multiplier within int64, 31 + s the shift
        # within -31.
        moves = [min(count.bit_length() - 1, 32, 31 + s) for s in self.shift]
        return Rescale(
            tuple((m << k) // count for m, k in zip(self.multiplier, moves, strict=True)),
            tuple(s - k for s, k in zip(self.shift, moves, strict=True)),
            self.rounding,
        )

    def apply(self, x: npt.NDArray[np.integer]) -> Int64:
        """Return ``x`` scaled, rounded, as int64, channels last.

        Args:
            x: Values of int32, or magnitudes below 2^47 if the factors are wide. Where products
                are rounded twice, larger values are taken modulo 2^32.
        """
        # One factor is a scalar, so that x may be one too.
        shape = () if self.channels == 1 else (self.channels,)
        multiplier = np.array(self.multiplier, np.int64).reshape(shape)
        shift = np.array(self.shift, np.int64).reshape(shape)
        return multiply_by_quantized_multiplier(
            x.astype(np.int64), multiplier, shift, self.rounding
        )
