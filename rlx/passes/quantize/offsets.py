"""Factors and offsets of accumulators that round in other ways than an integer op does.

Integer ops scale an accumulator ``a`` by ``multiplier / 2^t`` and round to the nearest integer,
halves up. With the factor ``2^-k``, ``a`` less half of ``2^k`` is rounded down, and half of it less
1 more rounds up. A multiplier that is one unit larger sends halves away from zero, and one that is
smaller toward it: accumulators are too small for other values to differ.

Tests: tests/unit/passes/quantize/test_halves.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ops.numerics.fixed_point import INT32_MAX, Rescale
from rlx.ops.real import Ties

if TYPE_CHECKING:
    from rlx.ops.numerics.fixed_point import Int64

_POWER_OF_TWO: Final = 1 << 30
"""Multiplier of a factor that is a power of two: a multiplier has 31 bits, the highest one set."""

DIRECTIONS: Final = {
    Ties.FLOOR: "down",
    Ties.CEIL: "up",
    Ties.TOWARD: "with halves toward zero",
}
"""Roundings that integer ops do not have themselves, for messages."""


def offsets(rescale: Rescale, ties: Ties) -> Int64 | None:
    """Return the addend of accumulators, for each factor; None if integers cannot express it.

    Args:
        rescale: Factors that round halves up.
        ties: Required rounding of the scaled accumulators.
    """
    addends = np.zeros(rescale.channels, np.int64)
    if ties not in (Ties.FLOOR, Ties.CEIL):
        return addends
    for channel, (multiplier, shift) in enumerate(
        zip(rescale.multiplier, rescale.shift, strict=True)
    ):
        fraction_bits = 1 - shift
        # Only with a power of two is half a step an integer for every accumulator.
        if multiplier not in (0, _POWER_OF_TWO):
            return None
        if multiplier and fraction_bits > 0:
            half = 1 << (fraction_bits - 1)
            addends[channel] = -half if ties is Ties.FLOOR else half - 1
    return addends


def turn_halves(rescale: Rescale, ties: Ties, magnitude: int) -> Rescale:
    """Return factors that send halves away from zero or toward it, in place of up.

    Args:
        rescale: Factors that round halves up.
        ties: Required rounding; factors of others stay.
        magnitude: Largest magnitude of an accumulator.
    """
    if ties not in (Ties.AWAY, Ties.TOWARD):
        return rescale
    pairs = [
        _turn_multiplier(multiplier, shift, ties, magnitude)
        for multiplier, shift in zip(rescale.multiplier, rescale.shift, strict=True)
    ]
    return replace(rescale, multiplier=tuple(m for m, _ in pairs), shift=tuple(s for _, s in pairs))


def _turn_multiplier(multiplier: int, shift: int, ties: Ties, magnitude: int) -> tuple[int, int]:
    """Return a multiplier and its shift, one unit larger or smaller where halves are reached."""
    zeros = (multiplier & -multiplier).bit_length() - 1
    # Products are multiples of 2^zeros, among which one unit for each step is not seen.
    if multiplier == 0 or zeros > 30 - shift or magnitude >= 1 << zeros:
        return multiplier, shift
    if ties is Ties.AWAY:
        return multiplier + 1, shift
    if multiplier == _POWER_OF_TWO and shift > -31:
        return INT32_MAX, shift - 1
    return multiplier - 1, shift
