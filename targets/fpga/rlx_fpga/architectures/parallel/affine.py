"""Requantizers as one short multiplication: ``clamp((a * factor + addend) >> shift)``.

A requantizer is monotonic, so it is determined by its steps: for each result, the minimum
accumulator with it. A line is equal if it reaches every result exactly at its step: two
monotonic functions that agree on both sides of every step agree everywhere. Of these lines, the one
with the fewest signed digits in its factor is used: far fewer than the 31 bits of the definition,
with the same results. If values of both signs are rounded away from zero, two addends are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from rlx_fpga.architectures.parallel.program import signed_digits

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ops.numerics.fixed_point import Rescale
    from rlx_fpga.cells.rom import Integers

    Quantizer: TypeAlias = Callable[[Integers], Integers]

MAX_SHIFT: Final = 52
"""Maximum shift that is tried."""

MAX_PRODUCT: Final = 1 << 62
"""Exclusive limit of products of accumulator and factor."""

MAX_FACTOR_DISTANCE: Final = 40
"""Factors to each side of the ideal one that are tried for each shift."""

MAX_EXTRA_SHIFTS: Final = 4
"""Shifts beyond the first one with a line that are tried for a factor with fewer digits."""


@dataclass(frozen=True, slots=True)
class AffineLine:
    """``clamp((a * factor + addend) >> shift, low, high)``.

    Attributes:
        factor: Slope.
        addend: Intercept.
        below: Intercept for negative accumulators.
        shift: Bits that are dropped.
        low: Minimum result.
        high: Maximum result.
    """

    factor: int
    addend: int
    below: int
    shift: int
    low: int
    high: int


@lru_cache(1024)
def requantizer_line(op: Any, channel: int, ends: tuple[int, int]) -> AffineLine | None:  # noqa: ANN401
    """Return the line that equals the op's requantizer for accumulators within ``ends``.

    Lanes of one channel, often hundreds, share a line.

    Args:
        op: An op with ``rescale``, ``zero_point``, ``low`` and ``high``.
        channel: Index of one of its channels.
        ends: Minimum and maximum accumulator.

    Returns:
        None if no line was found, or the definition may wrap around.
    """
    rescale: Rescale = op.rescale.take([channel])
    (shift,), (factor,) = rescale.shift, rescale.multiplier
    if max(abs(end) for end in ends) << max(shift, 0) >= 1 << 31:
        return None

    def quantizer(accumulators: Integers) -> Integers:
        clipped: Integers = np.clip(rescale.apply(accumulators) + op.zero_point, op.low, op.high)
        return clipped

    return line_through(quantizer, factor * 2.0 ** (shift - 31), ends)


def line_through(quantizer: Quantizer, slope: float, ends: tuple[int, int]) -> AffineLine | None:
    """Return a line that equals ``quantizer`` within ``ends``, or None.

    Args:
        quantizer: A monotonic function: close to a line of ``slope``, rounded and clamped.
        slope: Slope of the ideal line.
        ends: Minimum and maximum argument.
    """
    first, zero, last = quantizer(np.array([ends[0], 0, ends[1]], np.int64)).tolist()
    reached = np.arange(first + 1, last + 1, dtype=np.int64)
    if not len(reached):
        return AffineLine(0, first, first, 0, first, last)
    steps = _min_arguments(quantizer, reached, ends)
    whole = [_Limits(steps, reached, steps - 1, reached)]
    constants = _best(whole, slope)
    if constants is None and ends[0] < 0 <= ends[1]:
        constants = _best(_by_sign(steps, reached, zero), slope)
    return None if constants is None else AffineLine(*constants, first, last)


@dataclass(frozen=True, slots=True)
class _Limits:
    """Constraints of a line: results that it must reach, and results that it must stay below.

    Attributes:
        at: Accumulators at which results must be reached.
        reach: These results.
        before: Accumulators at which the line must stay below results.
        miss: These results.
    """

    at: Integers
    reach: Integers
    before: Integers
    miss: Integers

    def addends(self, factors: Integers, shift: int) -> tuple[Integers, Integers]:
        """Return the minimum and the maximum addend for each factor."""
        column = factors[:, np.newaxis]
        low = ((self.reach << shift) - self.at * column).max(axis=1, initial=_MIN_INT)
        high = ((self.miss << shift) - self.before * column).min(axis=1, initial=-_MIN_INT) - 1
        return low, high


_MIN_INT: Final = -(1 << 62)


def _by_sign(steps: Integers, results: Integers, zero: int) -> list[_Limits]:
    """Return the limits of a line for accumulators from 0 on, and of one for negative ones."""
    above, below, reached = steps > 0, steps <= 0, steps < 0
    return [
        _Limits(np.append(steps[above], 0), np.append(results[above], zero),
                steps[above] - 1, results[above]),
        _Limits(steps[reached], results[reached],
                np.append(steps[below] - 1, -1), np.append(results[below], zero + 1)),
    ]  # fmt: skip


def _min_arguments(quantizer: Quantizer, results: Integers, ends: tuple[int, int]) -> Integers:
    """Return for each result the minimum accumulator that reaches it (binary search)."""
    low = np.full(len(results), ends[0], np.int64)
    high = np.full(len(results), ends[1], np.int64)
    while (low < high).any():
        middle = (low + high) >> 1
        enough = quantizer(middle) >= results
        high = np.where(enough, middle, high)
        low = np.where(enough, low, middle + 1)
    return low


def _best(parts: list[_Limits], slope: float) -> tuple[int, int, int, int] | None:
    """Return factor, both addends and shift with the fewest digits, or None."""
    solutions: list[tuple[int, int, int, int, int]] = []
    first_shift = MAX_SHIFT
    max_accumulator = max(int(np.abs(part.at).max(initial=1)) for part in parts)
    for shift in range(MAX_SHIFT + 1):
        ideal = round(slope * 2**shift)
        if (
            shift > first_shift + MAX_EXTRA_SHIFTS
            or (ideal + MAX_FACTOR_DISTANCE) * max_accumulator >= MAX_PRODUCT
        ):
            break
        factors = np.arange(
            max(ideal - MAX_FACTOR_DISTANCE, 1), ideal + MAX_FACTOR_DISTANCE + 1, dtype=np.int64
        )
        limits = [part.addends(factors, shift) for part in parts]
        possible = np.logical_and.reduce([low <= high for low, high in limits])
        for index in np.flatnonzero(possible):
            factor = int(factors[index])
            addends = [_roundest(int(low[index]), int(high[index])) for low, high in limits]
            digits = len(signed_digits(factor))
            solutions.append((digits, shift, factor, addends[0], addends[-1]))
            first_shift = min(first_shift, shift)
    if not solutions:
        return None
    _, shift, factor, addend, below = min(solutions)
    return factor, addend, below, shift


def _roundest(low: int, high: int) -> int:
    """Return the integer in ``low`` .. ``high`` with the most trailing zero bits."""
    for zeros in range(60, -1, -1):
        number = -(-low >> zeros) << zeros
        if number <= high:
            return number
    raise AssertionError(f"expected a range, got {low} .. {high}")
