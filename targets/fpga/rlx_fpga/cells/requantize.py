"""From accumulators to int8 values: fixed-point factor, rounding shift, zero point, clamp."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out, connect, flipped

from rlx_fpga.cells.credit import LATENCY, ResultQueue, queue_depth
from rlx_fpga.cells.pipe import follow
from rlx_fpga.cells.scale import SERIAL_BITS, Lane, lane_latency, lane_logic
from rlx_fpga.cells.scaling import MAX_FLOAT32_WIDTH, ChannelScaling, OutputRange, saturated_width
from rlx_fpga.cells.streams import Cell, require_divisor, stream_of
from rlx_fpga.cost.logic import Logic, total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx_fpga.cells.scaling import RoundingName

CODE_STAGES: Final = 2
"""Registers between the rounded value and the int8 result."""


def lane_multipliers(parts: int) -> dict[int, int]:
    """Return the multipliers of a lane by its cycles for each beat.

    Args:
        parts: Products of 18 by 18 bits in one multiplication (``ChannelScaling.parts``).
    """
    return {1: parts, parts: 1, **dict.fromkeys(SERIAL_BITS, 0)}


class Requantize(Cell):
    """Scale by ``multiplier * 2^(shift - 31)``, round, add the zero point, clamp.

    ``rounding="double"`` is the arithmetic of TensorFlow Lite Micro and CMSIS-NN: a doubling high
    multiply that rounds half up, then a shift that rounds half away from zero. ``"single"`` rounds
    once, half up, in the shift of the whole product; ``"even"`` and ``"odd"`` do so with halves to
    the even or odd integer; ``"float32"`` rounds the product to float32 before, and requires
    float32 factors and accumulators that saturate to 25 bits. With non-negative multipliers only
    the final clamp can saturate.

    Members:
        i: In, ``lanes`` times int ``acc_width``.
        o: Out, ``lanes`` times int8.

    Latency ``latency``, initiation interval ``beat_cycles``. Accumulators are saturated to the
    fewest bits with the same results. A product has parts of 18 by 18 bits: two if these bits
    (plus the maximum left shift) are at most 18, else four. Cost of each lane:
    - ``beat_cycles=1``: one multiplier for each part;
    - a cycle for each part: one multiplier;
    - 8, 16 or 31 (``SERIAL_BITS``): no multiplier; 4, 2 or 1 bits of the factor are added in each
      cycle.
    And the constants of all channels, if they differ. Left shifts beyond 13 widen the accumulator
    in all but ``double``, any in that.

    Args:
        channels: Channels of a pixel; their constants are used in turn.
        lanes: Channels of a beat; divides ``channels``.
        acc_width: Bits of an accumulator, at most 32.
        multiplier: Q0.31 values in [0, 2^31 - 1]: one for each channel, or one for all.
        shift: Powers of two in [-31, 30], positive to the left, one for each multiplier.
        zero_point: Added to the rounded result.
        low: Minimum result.
        high: Maximum result.
        rounding: Value of a ``Rounding``.
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
        rounding: RoundingName = "double",
        beat_cycles: int = 1,
    ) -> None:
        require_divisor(lanes, channels)
        if not 1 <= acc_width <= 32 or not -128 <= low <= high <= 127:
            msg = f"bad requantizer: acc_width {acc_width}, low {low}, high {high}"
            raise ValueError(msg)
        self.lanes, self.acc_width = lanes, acc_width
        self.zero_point, self.low, self.high = zero_point, low, high
        ChannelScaling.of(channels, acc_width, multiplier, shift, rounding)  # Checks their ranges.
        outputs = OutputRange(zero_point, low, high)
        self.width = saturated_width(acc_width, tuple(multiplier), tuple(shift), rounding, outputs)
        if rounding == "float32" and self.width > MAX_FLOAT32_WIDTH:
            msg = f"its sums have {self.width} bits, and float32 rounds those of more than 25"
            raise ValueError(msg)
        self.scaling = ChannelScaling.of(channels, self.width, multiplier, shift, rounding)
        self.rom = self.scaling.rom(lanes)
        self.memory_bits = self.rom.memory_bits
        parts = self.scaling.parts
        forms = lane_multipliers(parts)
        if beat_cycles not in forms:
            msg = f"beat_cycles must be one of {', '.join(map(str, forms))}, not {beat_cycles}"
            raise ValueError(msg)
        self.beat_cycles = beat_cycles
        self.multipliers = lanes * forms[beat_cycles]
        delay = 1 + lane_latency(self.scaling, beat_cycles, forms[beat_cycles]) + CODE_STAGES
        self.latency = delay + LATENCY
        self.depth = queue_depth(delay, group=beat_cycles)
        super().__init__({"i": In(stream_of(lanes, acc_width)), "o": Out(stream_of(lanes))})

    @cached_property
    def logic(self) -> Logic:
        """Saturation, constants, the lanes, and the queue after them."""
        scaling, lanes = self.scaling, self.lanes
        gate = Logic(register=7, test=13 + 2 * lanes * (self.acc_width - self.width))
        shared, lane = lane_logic(scaling, self.beat_cycles, serial=not self.multipliers)
        queue = ResultQueue(lanes, 8, self.depth)
        return total([gate, shared, lane.times(lanes), self.rom.logic, queue.logic])

    def elaborate(self, platform: object) -> Module:
        """Build the gate, one pipeline for each lane, and the queue after them."""
        m = Module()
        m.submodules.queue = queue = ResultQueue(self.lanes, 8, self.depth)
        accept = self._gate(m, queue)
        m.submodules.constants = self.rom
        m.d.comb += self.rom.step.eq(accept)
        accepted = follow(m, accept, "taken", reset=True)
        values = [_saturated(self.i.payload[lane], self.width) for lane in range(self.lanes)]
        accumulators = follow(m, Cat(*values), "accumulators")
        size = len(self.rom.data) // self.lanes
        stages = 0
        for index in range(self.lanes):
            value = accumulators[index * self.width : (index + 1) * self.width].as_signed()
            constants = self.rom.data[index * size : (index + 1) * size]
            lane = Lane(m, platform, index, self.scaling, self.beat_cycles, self.multipliers)
            rounded = lane.scaled(value, constants, accepted)
            m.d.comb += queue.payload[index].eq(self._code(m, rounded, index))
            stages = lane.stages + CODE_STAGES
        assert stages + 1 + LATENCY == self.latency, "the latency differs from the declared one"
        m.d.comb += queue.push.eq(follow(m, accepted, "valid", stages, reset=True))
        connect(m, queue.o, flipped(self.o))
        return m

    def _gate(self, m: Module, queue: ResultQueue) -> Value:
        """Return whether a beat is accepted: with space in the queue, after the previous one."""
        accept = Signal()
        pause = Signal()
        m.d.comb += [
            self.i.ready.eq(queue.open & ~pause),
            accept.eq(self.i.valid & self.i.ready),
            queue.reserve.eq(accept),
        ]
        if self.beat_cycles > 1:
            left = Signal(range(self.beat_cycles))
            with m.If(accept):
                m.d.sync += [left.eq(self.beat_cycles - 1), pause.eq(1)]
            with m.Elif(pause):
                m.d.sync += [left.eq(left - 1), pause.eq(left != 1)]
        return accept

    def _code(self, m: Module, rounded: Value, lane: int) -> Value:
        """Clamp and add the zero point, in ``CODE_STAGES``."""
        low, top = self.low - self.zero_point, self.high - self.zero_point
        clamped = Mux(rounded < low, low, Mux(rounded > top, top, rounded))
        bounded = follow(m, clamped, f"clamped_{lane}")
        code = Signal(signed(8), name=f"code_sum_{lane}")
        m.d.comb += code.eq(bounded + self.zero_point)
        return follow(m, code, f"code_{lane}")


def _saturated(value: Value, width: int) -> Value:
    """Return a signed value saturated to ``width`` bits."""
    top, sign = value[width - 1 :], value[-1]
    fits = top.all() | ~top.any()
    return Mux(fits, value[:width], Cat((~sign).replicate(width - 1), sign))
