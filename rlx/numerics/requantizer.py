"""Accumulators to codes through floating point, proven equal to the integer definition.

``Rescale.apply`` and a clamp make of an accumulator a code: a step function that never falls. Two
such functions are equal where they agree on both sides of every step of one of them. So the fast
form, a multiplication, an addition and a truncation of float64 numbers, is checked once at the
at most 255 steps of every channel, and used only if it agrees there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from rlx.numerics.fixed_point import INT32_MAX, INT32_MIN, Rounding

if TYPE_CHECKING:
    from rlx.ir.types import Array
    from rlx.numerics.fixed_point import Int64, Rescale

Float64: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[np.int8]

# Elements that are scaled at a time, so that the temporary stays in the cache.
_BLOCK = 1 << 16
_SIGN_BIT = np.int64(-(2**63))


@dataclass(frozen=True, slots=True, kw_only=True)
class Requantization:
    """``clamp(rescale(x + offset) + zero_point, low, high)``: what ``Requantizer`` computes.

    Attributes:
        rescale: One factor, or one for each channel.
        offset: Added first: int64, one number or one for each channel.
        zero_point: Added to what is scaled.
        low: Least code.
        high: Greatest code.
    """

    rescale: Rescale
    offset: Int64
    zero_point: int
    low: int
    high: int

    def exact(self, x: npt.NDArray[np.integer]) -> Codes:
        """Return the codes of accumulators ``x``, channels last, by the definition."""
        scaled = self.rescale.apply(x.astype(np.int64) + self.offset)
        codes: Codes = np.clip(scaled + self.zero_point, self.low, self.high).astype(np.int8)
        return codes


class Requantizer:
    """Brings accumulators to codes, as fast as can be proven exact.

    Attributes:
        is_fast: Whether the floating-point form was proven.
    """

    def __init__(self, what: Requantization, least: Int64, greatest: Int64) -> None:
        """Prepare ``what`` for accumulators between ``least`` and ``greatest``, by channel."""
        self._what = what
        shift = np.array(what.rescale.shift)
        double = what.rescale.rounding is Rounding.DOUBLE
        # The second of two roundings moves halves away from zero: on the scale of the result,
        # half a unit of the first rounding, to the side of the number's sign.
        tie = np.where(double & (shift < 0), np.ldexp(0.5, np.minimum(shift, 0)), 0.0)
        self._factor: Float64 = np.array(what.rescale.real)
        self._addend: Float64 = self._factor * what.offset
        self._half = what.zero_point + 128.5
        self._tie: Float64 | None = None
        self.is_fast = False
        points = _points(what, least, greatest)
        if points is None:
            return
        expected = what.exact(points)
        self.is_fast = True
        for split in (False, True):
            # Where no code below the zero point comes out, all numbers round as positive ones.
            self._tie = tie if split else None
            self._constant = self._addend + self._half + (0.0 if split else tie)
            if np.array_equal(self._approximate(points), expected):
                return
        self.is_fast = False

    def __call__(self, accumulator: Array) -> Codes:
        """Return the codes of ``accumulator``: integers of any type, float ones too."""
        if not self.is_fast:
            return self._what.exact(accumulator.astype(np.int64))
        channels = accumulator.shape[-1] if accumulator.ndim else 1
        rows = np.ascontiguousarray(accumulator).reshape(-1, channels)
        codes = np.empty(rows.shape, np.int8)
        step = max(1, _BLOCK // channels)
        for start in range(0, len(rows), step):
            codes[start : start + step] = self._approximate(rows[start : start + step])
        return codes.reshape(accumulator.shape)

    def _approximate(self, x: Array) -> Codes:
        """Return the codes of ``x`` by the floating-point form."""
        y = np.multiply(x, self._factor, dtype=np.float64)
        if self._tie is not None:
            y += self._addend
            # The tie with the sign of y, by bits: less than half of copysign's time.
            signed = y.view(np.int64) & _SIGN_BIT
            signed |= self._tie.view(np.int64)
            y += signed.view(np.float64)
            y += self._half
        else:
            y += self._constant
        # Numbers are shifted by 128, so that truncation is rounding down.
        np.clip(y, self._what.low + 128, self._what.high + 128.5, out=y)
        codes = y.astype(np.uint8)
        codes ^= 128
        return codes.view(np.int8)


def _points(what: Requantization, least: Int64, greatest: Int64) -> Int64 | None:
    """Return accumulators around every step of every channel, [..., channels], within the range.

    None if they cannot be told: a number may wrap, or a step is not where it should be.
    """
    factor = np.array(what.rescale.real)
    least, greatest, offset, _ = np.broadcast_arrays(least, greatest, what.offset, factor)
    ends = np.stack([least, greatest])
    shifted = (ends + offset) << np.maximum(np.array(what.rescale.shift), 0)
    if shifted.min() < INT32_MIN or shifted.max() > INT32_MAX:
        return None
    steps = np.arange(what.low + 1, what.high + 1)[:, np.newaxis]
    with np.errstate(divide="ignore"):
        real = (steps - 0.5 - what.zero_point) / factor - offset
    guess = np.clip(np.floor(real), least - 1, greatest + 1).astype(np.int64)
    # The first rounding moves a step by up to half a unit of its result: one accumulator, or two
    # where the multiplier is a mean's; truncation of the guess by one more.
    reach = 2 if min(what.rescale.multiplier) >= 1 << 30 else 3
    near = np.arange(-reach, reach + 1).reshape(-1, 1, 1) + guess
    points = np.clip(near, least, greatest)
    codes = what.exact(points)
    # The step lies within reach, unless it lies outside of the range.
    below = (codes[0] < steps) | (near[0] <= least)
    above = (codes[-1] >= steps) | (near[-1] >= greatest)
    if not (below.all() and above.all()):
        return None
    return np.concatenate([points.reshape(-1, least.size), ends])
