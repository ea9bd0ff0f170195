"""Requantizers as one short multiplication: ``clamp((a * factor + addend) >> shift)``.

A requantizer never falls as its accumulator grows, so it is known by its steps: for each code the
least accumulator that gives it. A line goes through the same steps if it reaches every code at its
step, and not one before; two functions that never fall and agree on both sides of every step agree
everywhere. Of the lines that do, the one with the fewest signed digits in its factor is taken:
far fewer than the 31 bits of the definition, and the same codes. Where numbers of both signs are
rounded away from zero it takes two lines, that differ in the addend.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from rlx_fpga.unrolled.program import signed_digits

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.numerics.fixed_point import Rescale
    from rlx_fpga.cells.rom import Integers

    Codes: TypeAlias = Callable[[Integers], Integers]

MOST_SHIFT: Final = 52
"""Greatest shift of a line that is tried."""

MOST_PRODUCT: Final = 1 << 62
"""Products of accumulator and factor stay below."""

SPREAD: Final = 40
"""Factors to each side of the ideal one that are tried for each shift."""

EXTRA: Final = 4
"""Shifts beyond the first one with a line that are tried for a factor with fewer digits."""


@dataclass(frozen=True, slots=True)
class Line:
    """``clamp((a * factor + addend) >> shift, low, high)``.

    Attributes:
        factor: Slope.
        addend: Intercept.
        below: Intercept for negative accumulators.
        shift: Bits that are dropped.
        low: Least code.
        high: Greatest code.
    """

    factor: int
    addend: int
    below: int
    shift: int
    low: int
    high: int


def requantizer_line(op: Any, channel: int, ends: tuple[int, int]) -> Line | None:  # noqa: ANN401
    """Return the line that equals the op's requantizer for accumulators within ``ends``.

    Args:
        op: An op with ``rescale``, ``zero_point``, ``low`` and ``high``.
        channel: Which of its channels.
        ends: Least and greatest accumulator.

    Returns:
        None if no line was found, or the definition may wrap around.
    """
    rescale: Rescale = op.rescale.take([channel])
    (shift,), (factor,) = rescale.shift, rescale.multiplier
    if max(abs(end) for end in ends) << max(shift, 0) >= 1 << 31:
        return None

    def codes(accumulators: Integers) -> Integers:
        clipped: Integers = np.clip(rescale.apply(accumulators) + op.zero_point, op.low, op.high)
        return clipped

    return line_through(codes, factor * 2.0 ** (shift - 31), ends)


def line_through(codes: Codes, slope: float, ends: tuple[int, int]) -> Line | None:
    """Return the line that equals ``codes`` within ``ends``, or None if none was found.

    Args:
        codes: A function that never falls: close to a line of ``slope``, rounded and clamped.
        slope: Of the ideal line.
        ends: Least and greatest argument.
    """
    first, zero, last = (int(code) for code in codes(np.array([ends[0], 0, ends[1]], np.int64)))
    reached = np.arange(first + 1, last + 1, dtype=np.int64)
    if not len(reached):
        return Line(0, first, first, 0, first, last)
    steps = _least(codes, reached, ends)
    whole = [_Limits(steps, reached, steps - 1, reached)]
    found = _best(whole, slope)
    if found is None and ends[0] < 0 <= ends[1]:
        found = _best(_by_sign(steps, reached, zero), slope)
    return None if found is None else Line(*found, first, last)


@dataclass(frozen=True, slots=True)
class _Limits:
    """What a line must do: reach a code at an accumulator, or stay below one.

    Attributes:
        at: Accumulators where codes must be reached.
        reach: These codes.
        before: Accumulators where the line must stay below.
        miss: Of these codes.
    """

    at: Integers
    reach: Integers
    before: Integers
    miss: Integers

    def addends(self, factors: Integers, shift: int) -> tuple[Integers, Integers]:
        """Return the least and the greatest addend for each factor."""
        column = factors[:, np.newaxis]
        low = ((self.reach << shift) - self.at * column).max(axis=1, initial=_LEAST)
        high = ((self.miss << shift) - self.before * column).min(axis=1, initial=-_LEAST) - 1
        return low, high


_LEAST: Final = -(1 << 62)


def _by_sign(steps: Integers, codes: Integers, zero: int) -> list[_Limits]:
    """Return the limits of a line for accumulators from 0 on, and of one for negative ones."""
    above, below, reached = steps > 0, steps <= 0, steps < 0
    return [
        _Limits(np.append(steps[above], 0), np.append(codes[above], zero),
                steps[above] - 1, codes[above]),
        _Limits(steps[reached], codes[reached],
                np.append(steps[below] - 1, -1), np.append(codes[below], zero + 1)),
    ]  # fmt: skip


def _least(codes: Codes, wanted: Integers, ends: tuple[int, int]) -> Integers:
    """Return for each code the least accumulator that gives it or more, by halving."""
    low = np.full(len(wanted), ends[0], np.int64)
    high = np.full(len(wanted), ends[1], np.int64)
    while (low < high).any():
        middle = (low + high) >> 1
        enough = codes(middle) >= wanted
        high = np.where(enough, middle, high)
        low = np.where(enough, low, middle + 1)
    return low


def _best(parts: list[_Limits], slope: float) -> tuple[int, int, int, int] | None:
    """Return factor, both addends and shift with the fewest digits, or None."""
    found: list[tuple[int, int, int, int, int]] = []
    first_shift = MOST_SHIFT
    greatest = max(int(np.abs(part.at).max(initial=1)) for part in parts)
    for shift in range(MOST_SHIFT + 1):
        ideal = round(slope * 2**shift)
        if shift > first_shift + EXTRA or (ideal + SPREAD) * greatest >= MOST_PRODUCT:
            break
        factors = np.arange(max(ideal - SPREAD, 1), ideal + SPREAD + 1, dtype=np.int64)
        limits = [part.addends(factors, shift) for part in parts]
        possible = np.logical_and.reduce([low <= high for low, high in limits])
        for place in np.flatnonzero(possible):
            factor = int(factors[place])
            addends = [_roundest(int(low[place]), int(high[place])) for low, high in limits]
            digits = len(signed_digits(factor))
            found.append((digits, shift, factor, addends[0], addends[-1]))
            first_shift = min(first_shift, shift)
    if not found:
        return None
    _, shift, factor, addend, below = min(found)
    return factor, addend, below, shift


def _roundest(low: int, high: int) -> int:
    """Return the number of ``low`` .. ``high`` with the most zeros at its end."""
    for zeros in range(60, -1, -1):
        number = -(-low >> zeros) << zeros
        if number <= high:
            return number
    raise AssertionError("an empty range")
