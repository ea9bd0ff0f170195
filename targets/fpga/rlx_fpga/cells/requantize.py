"""From accumulators to int8 codes: fixed-point factor, rounding shift, zero point, clamp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.pipe import delayed, register
from rlx_fpga.cells.scaling import PART_BITS, Codes, Scaling, saturated_width
from rlx_fpga.cells.streams import Cell, raw, require_divisor, stream_of

if TYPE_CHECKING:
    from collections.abc import Sequence


SERIAL_BITS: Final = {8: 4, 16: 2, 31: 1}
"""Bits of the factor in each cycle, by cycles of a beat, where nothing is multiplied."""


def lane_multipliers(parts: int) -> dict[int, int]:
    """Return the multipliers of a lane, by the cycles that it may take for each beat.

    Args:
        parts: Products of 18 by 18 bits that one multiplication takes (``Scaling.parts``).
    """
    return {1: parts, parts: 1, **dict.fromkeys(SERIAL_BITS, 0)}


class Requantize(Cell):
    """Scale by ``multiplier * 2^(shift - 31)``, round, add the zero point, clamp.

    ``rounding="double"`` is the arithmetic of TensorFlow Lite Micro and CMSIS-NN: a doubling high
    multiply that rounds half up, then a shift that rounds half away from zero. ``"single"`` rounds
    once, half up, in the shift of the whole product. With multipliers that are not negative nothing
    can saturate but the final clamp.

    Members:
        i: In, ``lanes`` times int ``acc_width``.
        o: Out, ``lanes`` times int8.

    Accumulators are saturated to as few bits as give the same codes. Takes a beat in every
    ``beat_cycles`` cycles. A product has parts of 18 by 18 bits: two if these bits (plus the
    greatest left shift) are at most 18, else four. Cost of each lane:
    - ``beat_cycles=1``: as many multipliers as parts;
    - as many cycles as parts: one multiplier;
    - 8, 16 or 31 (``SERIAL_BITS``): no multiplier; 4, 2 or 1 bits of the factor in a cycle are
      multiplied by adding.
    And the constants of all channels, if they differ. Shifts to the left beyond 13 widen the
    accumulator in ``single``, any in ``double``.

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
        beat_cycles: Cycles for each beat: one of ``lane_multipliers``.
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
        beat_cycles: int = 1,
    ) -> None:
        require_divisor(lanes, channels)
        if not 1 <= acc_width <= 32 or not -128 <= low <= high <= 127:
            msg = f"bad requantizer: acc_width {acc_width}, low {low}, high {high}"
            raise ValueError(msg)
        self.lanes, self.acc_width = lanes, acc_width
        self.zero_point, self.low, self.high = zero_point, low, high
        Scaling.of(channels, acc_width, multiplier, shift, rounding)  # Checks their ranges.
        codes = Codes(zero_point, low, high)
        self.width = saturated_width(acc_width, multiplier, shift, rounding, codes)
        self.scaling = Scaling.of(channels, self.width, multiplier, shift, rounding)
        self.rom = self.scaling.rom(lanes)
        self.memory_bits = self.rom.memory_bits
        parts = self.scaling.parts
        forms = lane_multipliers(parts)
        if beat_cycles not in forms:
            msg = f"a beat can take {', '.join(map(str, forms))} cycles, not {beat_cycles}"
            raise ValueError(msg)
        self.beat_cycles = beat_cycles
        self.multipliers = lanes * forms[beat_cycles]
        pipelined = 7 + parts // 2 + self.scaling.has_left
        self.latency = 6 + beat_cycles if beat_cycles > 1 else pipelined
        super().__init__({"i": In(stream_of(lanes, acc_width)), "o": Out(stream_of(lanes))})

    def elaborate(self, platform: object) -> Module:
        """Build one pipeline for each lane; all move together."""
        m = Module()
        enable, valid, accept = Signal(), Signal(), Signal()
        m.d.comb += [
            enable.eq(~valid | self.o.ready),
            accept.eq(self.i.valid & self.i.ready),
            self.o.valid.eq(valid),
        ]
        phase = self._phase(m, enable, accept) if self.beat_cycles > 1 else None
        if phase is None:
            m.d.comb += self.i.ready.eq(enable)
            stages, started = self.latency, accept
        else:
            stages, started = 6, phase.last
        m.submodules.constants = self.rom
        m.d.comb += self.rom.step.eq(accept)
        values = [_saturated(self.i.payload[lane], self.width) for lane in range(self.lanes)]
        accumulators = register(m, accept, Cat(*values), "accumulators")
        size = len(self.rom.data) // self.lanes
        codes = []
        for lane in range(self.lanes):
            value = accumulators[lane * self.width : (lane + 1) * self.width].as_signed()
            constants = self.rom.data[lane * size : (lane + 1) * size]
            codes.append(_Lane(m, enable, lane, self).result(value, constants, phase))
        m.d.comb += raw(self.o).eq(Cat(*codes))
        m.d.comb += valid.eq(delayed(m, enable, started, "valid", stages))
        return m

    def _phase(self, m: Module, enable: Value, accept: Value) -> _Phase:
        """Count the parts of the product that a beat takes."""
        busy, last = Signal(), Signal()
        number = Signal(range(self.beat_cycles))
        m.d.comb += [
            last.eq(busy & (number == self.beat_cycles - 1)),
            self.i.ready.eq(enable & (~busy | last)),
        ]
        with m.If(accept):
            m.d.sync += [busy.eq(1), number.eq(0)]
        with m.Elif(enable):
            m.d.sync += [busy.eq(busy & ~last), number.eq(number + 1)]
        return _Phase(number, last)


@dataclass(frozen=True)
class _Phase:
    """Which part of the product is at work in a cycle, and whether it is the last one."""

    number: Signal
    last: Signal


class _Lane:
    """Builder of one lane's pipeline."""

    def __init__(self, m: Module, enable: Value, index: int, cell: Requantize) -> None:
        self.m, self.enable, self.index, self.cell = m, enable, index, cell
        self.scaling = cell.scaling
        # ``double`` drops 31 bits of the product and rounds half up, ``single`` drops all but the
        # one behind the point of the least shift. PART_BITS of them go first: they never carry.
        double = self.scaling.rounding == "double"
        self.half = 1 << (30 - PART_BITS) if double else 0
        self.drop = 31 - PART_BITS if double else self.scaling.base - 1 - PART_BITS

    def result(self, value: Value, constants: Value, phase: _Phase | None) -> Value:
        """Return the code, ``cell.latency`` steps after the accumulator came in."""
        s, cell = self.scaling, self.cell
        factor = constants[:31]
        left = constants[31 : 31 + s.left_bits]
        right = constants[31 + s.left_bits :]
        if s.has_left:
            value = (value << left)[: s.width].as_signed()
        if phase is not None:
            multiply = self._serial if cell.multipliers == 0 else self._sequential
            high = multiply(value, factor, phase)
            # The next beat may bring its constants before this one is done with its own.
            right = register(self.m, self.enable & phase.last, right, f"right_held_{self.index}")
        else:
            if s.has_left:
                value, factor = self._stage(value, "shifted"), self._stage(factor, "factor")
                right = self._stage(right, "right_0")
            high, right = self._parallel(value, factor, right)
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

    def _operands(self, value: Value, factor: Value) -> tuple[list[Value], list[Value]]:
        """Return the parts of both operands, low ones first; ``value`` may need no splitting."""
        factors = [_unsigned(factor[:PART_BITS]), factor[PART_BITS:]]
        if self.scaling.parts == 2:
            return [value], factors
        return [_unsigned(value[:PART_BITS]), value[PART_BITS:].as_signed()], factors

    def _parallel(self, value: Value, factor: Value, right: Value) -> tuple[Value, Value]:
        """Return the high part of the product, and ``right`` of the same stage."""
        values, factors = self._operands(value, factor)
        low_low = self._stage(values[0] * factors[0], "low_low") >> PART_BITS
        low_high = self._stage(values[0] * factors[1], "low_high")
        right = self._stage(right, "right_1")
        if len(values) == 1:
            upper = self._stage(low_high + self.half, "upper")
            lower = self._stage(low_low, "lower")
            right = self._stage(right, "right_2")
            total = self._stage((upper + lower) >> self.drop, "high")
            return total, self._stage(right, "right_3")
        high_low = self._stage(values[1] * factors[0], "high_low")
        high_high = self._stage(values[1] * factors[1], "high_high")
        middle = self._stage(low_high + high_low, "middle")
        lower = self._stage(low_low + self.half, "lower")
        upper = self._stage(high_high, "upper")
        sum_ = self._stage(middle + lower, "sum")
        upper = self._stage(upper, "upper_2")
        total = self._stage(((upper << PART_BITS) + sum_) >> self.drop, "high")
        for stage in (2, 3, 4):
            right = self._stage(right, f"right_{stage}")
        return total, right

    def _sequential(self, value: Value, factor: Value, phase: _Phase) -> Value:
        """Return the same from one multiplier, a cycle after the last part has been multiplied.

        Parts in order: low by low, low by high, high by low, high by high.
        """
        values, factors = self._operands(value, factor)
        number = phase.number
        chosen = Mux(number[1], values[1], values[0]) if len(values) == 2 else values[0]
        product = self._stage(chosen * Mux(number[0], factors[1], factors[0]), "product")
        part = self._stage(number, "part")
        bits = len(value) + 31 - PART_BITS + 1
        total = Signal(signed(bits), name=f"total_{self.index}", reset_less=True)
        with self.m.If(self.enable):
            with self.m.If(part == 0):
                self.m.d.sync += total.eq((product >> PART_BITS) + self.half)
            with self.m.Elif(part == 3):
                self.m.d.sync += total.eq(total + (product << PART_BITS))
            with self.m.Else():
                self.m.d.sync += total.eq(total + product)
        return total >> self.drop

    def _serial(self, value: Value, factor: Value, phase: _Phase) -> Value:
        """Return the same without a multiplier: bits of the factor in turn, low ones first.

        Low bits of the product take the places that bits of the factor leave.
        """
        step = SERIAL_BITS[self.cell.beat_cycles]
        first = phase.number == 0
        upper = Signal(signed(len(value) + 1), name=f"upper_{self.index}", reset_less=True)
        lower = Signal(step * self.cell.beat_cycles, name=f"lower_{self.index}", reset_less=True)
        rest = Mux(first, factor, lower)
        total = Mux(first, 0, upper)
        for bit in range(step):
            total = total + Mux(rest[bit], value << bit, 0)
        with self.m.If(self.enable):
            self.m.d.sync += [
                upper.eq(total >> step),
                lower.eq(Cat(rest[step : len(lower)], total[:step])),
            ]
        product = Cat(lower, upper)[: len(value) + 31].as_signed()
        return self._stage((product >> PART_BITS) + self.half, "product") >> self.drop

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


def _saturated(value: Value, width: int) -> Value:
    """Return a signed number, or the number of ``width`` bits that is nearest to it."""
    top, sign = value[width - 1 :], value[-1]
    fits = top.all() | ~top.any()
    return Mux(fits, value[:width], Cat((~sign).replicate(width - 1), sign))


def _unsigned(value: Value) -> Value:
    """Return a number that is not negative as a signed one."""
    return Cat(value, Const(0, 1)).as_signed()
