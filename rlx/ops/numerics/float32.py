"""Float32 factors as fixed-point factors that scale every accumulator to the same value.

Accumulators are mapped to clamped integers by a staircase. ``Rounding.FLOAT32`` has its steps where
the float32 product rounds; a fixed-point factor has the same ones if it agrees on both sides of
each. So every step bounds the factor from below or above, and one within all bounds is as good.
There is none where products that float32 rounds to a half are rounded down at one step, and up at
another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rlx.ops.numerics.fixed_point import (
    INT32_MAX,
    Rescale,
    Rounding,
    multiply_by_quantized_multiplier,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx.ops.numerics.fixed_point import Int64
    from rlx.ops.numerics.halves import Accumulators

    Flags = npt.NDArray[np.bool_]
    Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Sides:
    """Accumulators on one side of each step: int64 [steps, channels].

    Attributes:
        numbers: The nearest one.
        exist: Whether there is one.
        steps: Integer below the step, [steps, 1].
        rises: Whether they are above the step.
    """

    numbers: Int64
    exist: Flags
    steps: Int64
    rises: bool

    def agree(self, factors: tuple[Int64, Int64], rounding: Rounding) -> Flags:
        """Return whether factors keep the numbers of each channel on their side."""
        scaled = multiply_by_quantized_multiplier(self.numbers, *factors, rounding)
        kept = (scaled > self.steps) == self.rises
        agree: Flags = (kept | ~self.exist).all(axis=0)
        return agree

    def bounds(self) -> tuple[Float64, Float64]:
        """Return the smallest and the largest factor of each channel that halves up allow."""
        with np.errstate(divide="ignore"):
            limit = (self.steps + 0.5) / self.numbers
        above = (self.numbers > 0) == self.rises
        used = self.exist & (self.numbers != 0)
        low = np.where(used & above, limit, 0.0).max(axis=0, initial=0.0)
        return low, np.where(used & ~above, limit, np.inf).min(axis=0, initial=np.inf)


def fixed_point_form(
    rescale: Rescale, accumulators: Sequence[Accumulators], ends: tuple[int, int]
) -> Rescale | None:
    """Return fixed-point factors that scale all accumulators to the same values, once clamped.

    Halves up if they can, else to even.

    Args:
        rescale: Factors with ``Rounding.FLOAT32``.
        accumulators: Accumulators that may be scaled, for each channel.
        ends: Minimum and maximum of the scaled value; values beyond are clamped.
    """
    sides = _sides(rescale, accumulators, ends)
    pairs = [side.bounds() for side in sides]
    low, high = np.maximum(pairs[0][0], pairs[1][0]), np.minimum(pairs[0][1], pairs[1][1])
    if rescale.channels == 1:
        low, high = low.max(keepdims=True), high.min(keepdims=True)
    nearest = np.clip(np.array(rescale.real), low, high)
    for rounding in (Rounding.SINGLE, Rounding.EVEN):
        agreeing = _find_agreeing(rescale, sides, nearest, rounding)
        if agreeing is not None:
            return agreeing
    return None


def _sides(
    rescale: Rescale, accumulators: Sequence[Accumulators], ends: tuple[int, int]
) -> tuple[_Sides, _Sides]:
    """Return the accumulators above and below each step, found by halving."""
    base = np.array([a.base for a in accumulators], np.int64)
    step = np.array([max(a.step, 1) for a in accumulators], np.int64)
    first = -((base - np.array([a.low for a in accumulators], np.int64)) // step)
    last = (np.array([a.high for a in accumulators], np.int64) - base) // step
    # The step above each result but the highest one.
    steps = np.arange(*ends, dtype=np.int64)[:, np.newaxis]
    low, high = (np.broadcast_to(n, (len(steps), len(base))) for n in (first, last + 1))
    low, high = low.copy(), np.maximum(low, high)
    # Binary search: the scaled value rises with the accumulator.
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        above = rescale.apply(base + step * middle) > steps
        high, low = np.where(above, middle, high), np.where(above, low, middle + 1)
        low = np.minimum(low, high)
    return (
        _Sides(base + step * high, high <= last, steps, rises=True),
        _Sides(base + step * (high - 1), high > first, steps, rises=False),
    )


def _find_agreeing(
    rescale: Rescale, sides: tuple[_Sides, _Sides], nearest: Float64, rounding: Rounding
) -> Rescale | None:
    """Return the given factors, or close ones, that agree on both sides of every step."""
    original = np.array(rescale.multiplier, np.int64), np.array(rescale.shift, np.int64)
    (multiplier, shift), agree = original, np.zeros(len(nearest), np.bool_)
    for candidate in _candidates(original, nearest):
        fits = sides[0].agree(candidate, rounding) & sides[1].agree(candidate, rounding)
        if rescale.channels == 1:
            fits = np.atleast_1d(fits.all())
        better = fits & ~agree
        multiplier = np.where(better, candidate[0], multiplier)
        shift = np.where(better, candidate[1], shift)
        agree |= fits
        if agree.all():
            return Rescale(tuple(multiplier.tolist()), tuple(shift.tolist()), rounding)
    return None


def _candidates(original: tuple[Int64, Int64], nearest: Float64) -> Iterator[tuple[Int64, Int64]]:
    """Yield multipliers and shifts: the given ones, and those next to the nearest factors."""
    yield original
    multiplier, shift = original
    # Twice as fine, so that a multiplier just below a power of two has 31 bits as well.
    near = np.clip(np.ldexp(nearest, 32 - shift), 0, 2.0**33)
    for steps in (-1, 0, 1, 2):
        finer = np.floor(near).astype(np.int64) + steps
        small = (finer <= INT32_MAX) & (shift > -31)
        whole = np.where(small, finer, finer >> 1)
        fits = (multiplier != 0) & (whole > 0) & (whole <= INT32_MAX)
        yield np.where(fits, whole, multiplier), np.where(fits & small, shift - 1, shift)
