"""From accumulators to int8 codes: fixed-point factor, rounding shift, zero point, clamp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.pipe import delayed, register
from rlx_fpga.cells.rom import CyclicRom, pack
from rlx_fpga.cells.streams import Cell, raw, require_divisor, stream_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx_fpga.cells.rom import Integers

# Bits of a multiplier's operand that are split off: 17 unsigned bits fit 18 signed ones.
PART_BITS = 17


class Requantize(Cell):
    """Scale by ``multiplier * 2^(shift - 31)``, round, add the zero point, clamp.

    ``rounding="double"`` is the arithmetic of TensorFlow Lite Micro and CMSIS-NN: a doubling high
    multiply that rounds half up, then a shift that rounds half away from zero. ``"single"`` rounds
    once, half up, in the shift of the whole product. With multipliers that are not negative nothing
    can saturate but the final clamp.

    Members:
        i: In, ``lanes`` times int ``acc_width``.
        o: Out, ``lanes`` times int8.

    Takes a beat in every cycle. Cost: ``multipliers`` products of at most 18 by 18 bits: two for
    each lane if ``acc_width`` (plus the greatest left shift) is at most 18, else four; and the
    constants of all channels, if they differ. Shifts to the left beyond 13 widen the accumulator
    in ``single``, any in ``double``.

    Args:
        channels: Channels of a pixel; constants are used in turn.
        lanes: Channels of a beat; divides ``channels``.
        acc_width: Bits of an accumulator, at most 32.
        multiplier: Q0.31 numbers in [0, 2^31 - 1]: one for each channel, or one for all.
        shift: Powers of two in [-31, 30], positive to the left; as many.
        zero_point: Added to the rounded result.
        low: Least code.
        high: Greatest code.
        rounding: ``double`` or ``single``.
    """

    def __init__(
        self,
        *,
        channels: int,
        lanes: int,
        acc_width: int,
        multiplier: Sequence[int],
        shift: Sequence[int],
        zero_point: int = 0,
        low: int = -128,
        high: int = 127,
        rounding: Literal["double", "single"] = "double",
    ) -> None:
        require_divisor(lanes, channels)
        if not 1 <= acc_width <= 32 or not -128 <= low <= high <= 127:
            msg = f"bad requantizer: acc_width {acc_width}, low {low}, high {high}"
            raise ValueError(msg)
        self.lanes, self.acc_width = lanes, acc_width
        self.zero_point, self.low, self.high = zero_point, low, high
        self.scaling = _Scaling.of(channels, acc_width, multiplier, shift, rounding)
        self.rom = self.scaling.rom(lanes)
        self.memory_bits = self.rom.memory_bits
        self.multipliers = lanes * 2 * (1 if self.scaling.width <= PART_BITS + 1 else 2)
        self.latency = 8 + self.scaling.has_left + (self.scaling.width > PART_BITS + 1)
        super().__init__({"i": In(stream_of(lanes, acc_width)), "o": Out(stream_of(lanes))})

    def elaborate(self, platform: object) -> Module:
        """Build one pipeline for each lane; all move together."""
        m = Module()
        enable, valid = Signal(), Signal()
        m.d.comb += [
            enable.eq(~valid | self.o.ready),
            self.i.ready.eq(enable),
            self.o.valid.eq(valid),
        ]
        m.submodules.constants = self.rom
        m.d.comb += self.rom.step.eq(enable & self.i.valid)
        accumulators = register(m, enable, raw(self.i), "accumulators")
        size = len(self.rom.data) // self.lanes
        codes = []
        for lane in range(self.lanes):
            value = accumulators[lane * self.acc_width : (lane + 1) * self.acc_width].as_signed()
            constants = self.rom.data[lane * size : (lane + 1) * size]
            codes.append(_Lane(m, enable, lane, self.scaling).result(value, constants, self))
        m.d.comb += raw(self.o).eq(Cat(*codes))
        m.d.comb += valid.eq(delayed(m, enable, self.i.valid, "valid", self.latency))
        return m


@dataclass(frozen=True)
class _Scaling:
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
    ) -> _Scaling:
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
        return _Scaling(rounding, factors, left, right - base, base, width)

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


def lane_multipliers(acc_width: int, shift: Sequence[int]) -> int:
    """Return the multipliers of one lane, without building it (rounding ``double``)."""
    return 2 if acc_width + max(0, *shift) <= PART_BITS + 1 else 4


class _Lane:
    """Builder of one lane's pipeline."""

    def __init__(self, m: Module, enable: Value, index: int, scaling: _Scaling) -> None:
        self.m, self.enable, self.index, self.scaling = m, enable, index, scaling

    def result(self, value: Value, constants: Value, cell: Requantize) -> Value:
        """Return the code, ``cell.latency`` steps after the accumulator came in."""
        s = self.scaling
        factor = constants[:31]
        left = constants[31 : 31 + s.left_bits]
        right = constants[31 + s.left_bits :]
        if s.has_left:
            value = self._stage((value << left)[: s.width].as_signed(), "shifted")
            factor, right = self._stage(factor, "factor"), self._stage(right, "right_0")
        high, right = self._high_product(value, factor, right)
        nudged = self._stage(high + self._nudge(high, right), "nudged")
        right = self._stage(right, "right_nudged")
        rounded = self._stage((nudged >> self._fixed_shift) >> right, "rounded")
        low, top = cell.low - cell.zero_point, cell.high - cell.zero_point
        clamped = Mux(rounded < low, low, Mux(rounded > top, top, rounded))
        bounded = self._stage(clamped, "clamped")
        code = Signal(signed(8), name=f"code_sum_{self.index}")
        self.m.d.comb += code.eq(bounded + cell.zero_point)
        return self._stage(code, "code")

    def _stage(self, value: Value, name: str) -> Signal:
        return register(self.m, self.enable, value, f"{name}_{self.index}")

    def _high_product(self, value: Value, factor: Value, right: Value) -> tuple[Value, Value]:
        """Return the product without its low bits, and ``right`` of the same stage.

        ``double`` drops 31 bits and rounds half up, ``single`` drops all bits but the one behind
        the point of the least shift. The low part of the low product never carries.
        """
        double = self.scaling.rounding == "double"
        half = 1 << (30 - PART_BITS) if double else 0
        drop = 31 - PART_BITS if double else self.scaling.base - 1 - PART_BITS
        split = len(value) > PART_BITS + 1
        low = Cat(value[:PART_BITS], Const(0, 1)).as_signed() if split else value
        parts = Cat(factor[:PART_BITS], Const(0, 1)).as_signed(), factor[PART_BITS:]
        low_low = self._stage(low * parts[0], "low_low") >> PART_BITS
        low_high = self._stage(low * parts[1], "low_high")
        right = self._stage(right, "right_1")
        if not split:
            upper = self._stage(low_high + half, "upper")
            lower = self._stage(low_low, "lower")
            right = self._stage(right, "right_2")
            total = self._stage((upper + lower) >> drop, "high")
            return total, self._stage(right, "right_3")
        above = value[PART_BITS:].as_signed()
        high_low = self._stage(above * parts[0], "high_low")
        high_high = self._stage(above * parts[1], "high_high")
        middle = self._stage(low_high + high_low, "middle")
        lower = self._stage(low_low + half, "lower")
        upper = self._stage(high_high, "upper")
        sum_ = self._stage(middle + lower, "sum")
        upper = self._stage(upper, "upper_2")
        total = self._stage(((upper << PART_BITS) + sum_) >> drop, "high")
        for stage in (2, 3, 4):
            right = self._stage(right, f"right_{stage}")
        return total, right

    def _nudge(self, high: Value, right: Value) -> Value:
        """Return what makes the shift to the right round."""
        base = self.scaling.base
        if self.scaling.rounding == "single":
            return Const(1) << right
        # Half away from zero: half of the divisor, less one for negative numbers.
        half = ((Const(1) << base) << right) >> 1
        return half - (high[-1] & (half != 0))

    @property
    def _fixed_shift(self) -> int:
        return self.scaling.base if self.scaling.rounding == "double" else 1
