"""Accumulators that reach a half that is not rounded up: a congruence, solved exactly.

``a * multiplier / 2^total`` is halfway between the integers ``k`` and ``k + 1`` if and only if
``a * multiplier = (2 k + 1) * 2^(total - 1)``. Halves to even and halves up differ where ``k`` is
even, halves to odd and halves up where it is odd: where the odd factor ``2 k + 1`` is 1, or 3,
modulo 4. That fixes ``a`` modulo a power of two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlx.ops.numerics.fixed_point import Rescale


@dataclass(frozen=True, slots=True)
class Accumulators:
    """The integers ``base + step * n`` within a range.

    Attributes:
        low: Minimum.
        high: Maximum.
        base: One of them, or an integer beyond the range that they lead to.
        step: Distance of neighbours; 0 if there is only ``base``.
    """

    low: int
    high: int
    base: int = 0
    step: int = 1

    def hold(self, residue: int, modulus: int) -> bool:
        """Return whether one of the integers is ``residue`` modulo ``modulus``, a positive one."""
        if not self.step:
            return self.low <= self.base <= self.high and (self.base - residue) % modulus == 0
        common = math.gcd(self.step, modulus)
        if (residue - self.base) % common:
            return False
        turns = (residue - self.base) // common * pow(self.step // common, -1, modulus // common)
        # Solutions are one period apart; the lowest one from low on decides.
        solution, period = self.base + self.step * turns, self.step // common * modulus
        return self.low + (solution - self.low) % period <= self.high

    def within(self, low: int, high: int) -> Accumulators:
        """Return those of the integers that are in another range too."""
        return Accumulators(max(self.low, low), min(self.high, high), self.base, self.step)


def rounds_up(
    rescale: Rescale, channel: int, accumulators: Accumulators, ends: tuple[int, int]
) -> bool:
    """Return whether all accumulators are rounded as ``Rounding.SINGLE`` does, once clamped.

    Args:
        rescale: Factors that round halves to even or to odd integers.
        channel: The factor's index.
        accumulators: Accumulators that may be scaled.
        ends: Minimum and maximum of the scaled value; values beyond are clamped.
    """
    multiplier, total = rescale.multiplier[channel], 31 - rescale.shift[channel]
    parity = rescale.rounding.to_parity
    assert parity is not None
    zeros = (multiplier & -multiplier).bit_length() - 1
    exponent = total - 1 - zeros
    if multiplier == 0 or exponent < 0:
        return True
    # Halves beyond the ends are clamped, in both directions of rounding.
    first, last = (2 * ends[0] + 1) << (total - 1), (2 * ends[1] - 1) << (total - 1)
    unclamped = accumulators.within(-(-first // multiplier), last // multiplier)
    # An odd integer is its own inverse modulo 4.
    odd = (multiplier >> zeros) * (1 + 2 * parity) % 4
    return not unclamped.hold(odd << exponent, 4 << exponent)
