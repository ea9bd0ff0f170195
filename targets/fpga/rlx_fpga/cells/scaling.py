"""Constants of a requantizer, in the form in which the hardware uses them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from rlx.numerics.fixed_point import Rounding, multiply_by_quantized_multiplier
from rlx_fpga.cells.rom import CyclicRom, pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx_fpga.cells.rom import Integers

# Bits of an operand that are split off: 17 unsigned bits fit a multiplier of 18 signed ones.
PART_BITS = 17


@dataclass(frozen=True)
class Codes:
    """What a requantizer's results are brought to.

    Attributes:
        zero_point: Added to the rounded result.
        low: Least code.
        high: Greatest code.
    """

    zero_point: int
    low: int
    high: int


@lru_cache(maxsize=256)
def saturated_width(
    acc_width: int,
    multiplier: tuple[int, ...],
    shift: tuple[int, ...],
    rounding: Literal["double", "single"],
    codes: Codes,
) -> int:
    """Return to how many bits accumulators can be saturated without changing any code.

    Results never fall as accumulators grow: whatever lies beyond a number that gives the greatest
    (least) code gives that code too.

    Args:
        acc_width: Bits of an accumulator.
        multiplier: Q0.31 numbers that are not negative.
        shift: As many powers of two.
        rounding: ``double`` or ``single``.
        codes: Zero point and limits.
    """
    factors, shifts = np.array(multiplier, np.int64), np.array(shift, np.int64)
    factors, shifts = factors[factors != 0], shifts[factors != 0]
    if not len(factors) or acc_width + int(shifts.max()) > 32:
        # The definition wraps what it shifts out of 32 bits: results may fall.
        return acc_width
    width = acc_width
    while width > 1:
        half = 1 << (width - 2)
        ends = [
            multiply_by_quantized_multiplier(
                np.full(len(factors), value, np.int64), factors, shifts, Rounding(rounding)
            ).astype(np.int64)
            + codes.zero_point
            for value in (-half, half - 1)
        ]
        if ends[0].max() > codes.low or ends[1].min() < codes.high:
            break
        width -= 1
    return width


@dataclass(frozen=True)
class Scaling:
    """The constants of all channels, brought to the form in which the hardware uses them.

    Attributes:
        rounding: ``double`` or ``single``.
        multiplier: int64 [channels].
        left: Shifts to the left before the multiplication, [channels].
        right: Shifts to the right after it, less ``base``, [channels].
        base: Least shift to the right.
        width: Bits of a left-shifted accumulator.
    """

    rounding: Literal["double", "single"]
    multiplier: Integers
    left: Integers
    right: Integers
    base: int
    width: int

    @staticmethod
    def of(
        channels: int,
        acc_width: int,
        multiplier: Sequence[int],
        shift: Sequence[int],
        rounding: Literal["double", "single"],
    ) -> Scaling:
        """Return the form for numbers as ``Requantize`` takes them.

        Raises:
            ValueError: They are out of range, or not as many as channels.
        """
        factors = np.array(multiplier, np.int64)
        shifts = np.array(shift, np.int64)
        if len(factors) != len(shifts) or len(factors) not in (1, channels):
            msg = f"{len(factors)} multipliers and {len(shifts)} shifts for {channels} channels"
            raise ValueError(msg)
        if factors.min() < 0 or factors.max() >= 1 << 31 or shifts.min() < -31 or shifts.max() > 30:
            msg = "multipliers must lie in [0, 2^31 - 1] and shifts in [-31, 30]"
            raise ValueError(msg)
        factors = np.broadcast_to(factors, channels)
        shifts = np.broadcast_to(shifts, channels)
        # A multiplier of 0 gives 0 whatever the shift: take one that costs nothing.
        used = shifts[factors != 0]
        shifts = np.where(factors == 0, used.min() if len(used) else 0, shifts)
        if rounding == "double":
            left, right = np.maximum(shifts, 0), np.maximum(-shifts, 0)
            # The definition wraps what it shifts out of 32 bits.
            width = min(acc_width + int(left.max()), 32)
            limit = width + 1
        else:
            # The product loses its low part first: accumulators make up for smaller shifts.
            right = 31 - shifts
            left = np.maximum(PART_BITS + 1 - right, 0)
            right = right + left
            width = acc_width + int(left.max())
            limit = width + 31
        # From the limit on every result is 0.
        right = np.minimum(right, limit)
        base = int(right.min())
        return Scaling(rounding, factors, left, right - base, base, width)

    @property
    def parts(self) -> int:
        """Products of 18 by 18 bits that one multiplication takes: two, or four."""
        return 2 if self.width <= PART_BITS + 1 else 4

    @property
    def has_left(self) -> bool:
        """Whether any channel shifts to the left."""
        return bool(self.left.any())

    @property
    def left_bits(self) -> int:
        """Width of a shift to the left."""
        return int(self.left.max()).bit_length()

    @property
    def right_bits(self) -> int:
        """Width of a shift to the right beyond ``base``."""
        return int(self.right.max()).bit_length()

    def rom(self, lanes: int) -> CyclicRom:
        """Return the constants of each beat: for each lane, multiplier, left and right shift."""
        bits = 31 + self.left_bits + self.right_bits
        rows = self.multiplier | (self.left << 31) | (self.right << (31 + self.left_bits))
        return CyclicRom(pack(rows.reshape(-1, lanes), bits), bits * lanes)
