"""Constants of a requantizer, in the form in which the hardware uses them.

Tests: tests/targets/fpga/cells/test_requantize.py
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from rlx.ops.numerics.fixed_point import Rounding, multiply_by_quantized_multiplier
from rlx_fpga.cells.rom import CyclicRom, pack

RoundingName: TypeAlias = Literal["double", "single", "even", "odd", "float32"]
"""Value of a ``Rounding``."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx_fpga.cells.rom import Integers

# Fraction bits that decide the rounding of a product in float32: one below the last bit of 1/2.
FLOAT32_BITS = 25

# Bits of accumulators that float32 holds exactly, with their sign.
MAX_FLOAT32_WIDTH = 25

# Bits of the low part of an operand: 17 unsigned bits fit a multiplier of 18 signed bits.
PART_BITS = 17


@dataclass(frozen=True)
class OutputRange:
    """Zero point and range of a requantizer's results.

    Attributes:
        zero_point: Added to the rounded value.
        low: Minimum result.
        high: Maximum result.
    """

    zero_point: int
    low: int
    high: int


@lru_cache(maxsize=256)
def saturated_width(
    acc_width: int,
    multiplier: tuple[int, ...],
    shift: tuple[int, ...],
    rounding: RoundingName,
    outputs: OutputRange,
) -> int:
    """Return the bits to which accumulators can be saturated without changing any result.

    Results increase monotonically with accumulators: every accumulator above one with the maximum
    result has the maximum result too, and likewise for the minimum.

    Args:
        acc_width: Bits of an accumulator.
        multiplier: Non-negative Q0.31 values.
        shift: A power of two for each multiplier.
        rounding: Value of a ``Rounding``.
        outputs: Zero point and range of results.
    """
    factors, shifts = np.array(multiplier, np.int64), np.array(shift, np.int64)
    factors, shifts = factors[factors != 0], shifts[factors != 0]
    if not len(factors) or acc_width + int(shifts.max()) > 32:
        # The definition wraps at 32 bits: results may not be monotonic.
        return acc_width
    width = acc_width
    while width > 1:
        half = 1 << (width - 2)
        ends = [
            multiply_by_quantized_multiplier(
                np.full(len(factors), value, np.int64), factors, shifts, Rounding(rounding)
            ).astype(np.int64)
            + outputs.zero_point
            for value in (-half, half - 1)
        ]
        if ends[0].max() > outputs.low or ends[1].min() < outputs.high:
            break
        width -= 1
    return width


@dataclass(frozen=True)
class ChannelScaling:
    """The constants of all channels, in the form in which the hardware uses them.

    Attributes:
        rounding: Value of a ``Rounding``.
        multiplier: int64 [channels].
        left: Left shifts before the multiplication, [channels].
        right: Right shifts after it minus ``base``, [channels].
        base: Minimum right shift, common to all channels.
        width: Bits of a left-shifted accumulator.
    """

    rounding: RoundingName
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
        rounding: RoundingName,
    ) -> ChannelScaling:
        """Return the constants for arguments of ``Requantize``.

        Raises:
            ValueError: They are out of range, or their count does not match the channels.
        """
        factors = np.array(multiplier, np.int64)
        shifts = np.array(shift, np.int64)
        if len(factors) != len(shifts) or len(factors) not in (1, channels):
            msg = (
                f"expected a multiplier and a shift, or one of each for {channels} channels, got"
                f" {len(factors)} and {len(shifts)}"
            )
            raise ValueError(msg)
        if factors.min() < 0 or factors.max() >= 1 << 31 or shifts.min() < -31 or shifts.max() > 30:
            msg = (
                "expected multipliers in [0, 2^31 - 1] and shifts in [-31, 30], got"
                f" {factors.min()} .. {factors.max()} and {shifts.min()} .. {shifts.max()}"
            )
            raise ValueError(msg)
        factors = np.broadcast_to(factors, channels)
        shifts = np.broadcast_to(shifts, channels)
        # With a multiplier of 0 the result is 0 for any shift: choose one that costs nothing.
        used = shifts[factors != 0]
        shifts = np.where(factors == 0, used.min() if len(used) else 0, shifts)
        if rounding == "double":
            left, right = np.maximum(shifts, 0), np.maximum(-shifts, 0)
            # The definition wraps at 32 bits.
            width = min(acc_width + int(left.max()), 32)
            limit = width + 1
        else:
            # The product loses its low part: accumulators are pre-scaled for smaller shifts.
            right = 31 - shifts
            fraction_bits = FLOAT32_BITS if rounding == "float32" else 1
            left = np.maximum(PART_BITS + fraction_bits - right, 0)
            right = right + left
            width = acc_width + int(left.max())
            # The fraction bits that are kept must be there.
            limit = max(width + 31, PART_BITS + fraction_bits)
        # From the limit on every result is 0.
        right = np.minimum(right, limit)
        base = int(right.min())
        return ChannelScaling(rounding, factors, left, right - base, base, width)

    @property
    def parts(self) -> int:
        """Products of 18 by 18 bits in one multiplication: two, or four."""
        return 2 if self.width <= PART_BITS + 1 else 4

    @property
    def has_left(self) -> bool:
        """Whether any channel has a left shift."""
        return bool(self.left.any())

    @property
    def left_bits(self) -> int:
        """Bits of a left shift amount."""
        return int(self.left.max()).bit_length()

    @property
    def right_bits(self) -> int:
        """Bits of a right shift amount beyond ``base``."""
        return int(self.right.max()).bit_length()

    def rom(self, lanes: int) -> CyclicRom:
        """Return the constants of each beat: for each lane, multiplier, left and right shift."""
        bits = 31 + self.left_bits + self.right_bits
        rows = self.multiplier | (self.left << 31) | (self.right << (31 + self.left_bits))
        return CyclicRom(pack(rows.reshape(-1, lanes), bits), bits * lanes)
