"""Accumulators of a folded unit: sum or maximum over a group of beats, drained in order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out, connect, flipped

from rlx.ops.numerics.products import sum_range
from rlx_fpga.cells.credit import LATENCY, ResultQueue, counter, queue_depth, queue_logic
from rlx_fpga.cells.pipe import follow
from rlx_fpga.cells.rom import CyclicRom, pack, signed_bits
from rlx_fpga.cells.streams import Lanes, Part, stream_of
from rlx_fpga.cost.logic import Logic, total

if TYPE_CHECKING:
    from rlx_fpga.cells.rom import Integers


@dataclass(frozen=True)
class Ranges:
    """Widths that follow from the values that can occur.

    Attributes:
        sum_bits: Bits of the sums without bias, partial sums included.
        bias_bits: Bits of the biases; 0 without biases.
        out_bits: Bits of the results, bias included.
    """

    sum_bits: int
    bias_bits: int
    out_bits: int


def ranges_of(weights: Integers, bias: Integers | None) -> Ranges:
    """Return the widths of ``bias + weights @ x`` for any int8 ``x``.

    Args:
        weights: int8 [outputs, terms].
        bias: int32 [outputs] or None.

    Raises:
        ValueError: If a result may not fit 32 bits.
    """
    low, high = sum_range(weights.T)
    b = np.zeros(len(weights), np.int64) if bias is None else bias.astype(np.int64)
    out_bits = signed_bits(int((low + b).min()), int((high + b).max()))
    if out_bits > 32:
        msg = f"expected an accumulator of at most 32 bits, got {out_bits}"
        raise ValueError(msg)
    return Ranges(
        sum_bits=signed_bits(int(low.min()), int(high.max())),
        bias_bits=signed_bits(int(b.min()), int(b.max())) if b.any() else 0,
        out_bits=out_bits,
    )


def drain_lanes(pe: int, group: int, beat_cycles: int = 1, outputs: int = 0) -> int | None:
    """Return the minimum number of output lanes that drains ``pe`` results in ``group`` cycles.

    A beat never has results of two pixels: lanes divide ``pe`` and ``outputs``. None if no number
    of lanes is enough.

    Args:
        pe: Results of a group.
        group: Cycles of a group.
        beat_cycles: Cycles that the consumer needs for a beat.
        outputs: Results of a pixel, if ``pe`` does not divide them.
    """
    common = math.gcd(pe, outputs)
    minimum = -(-pe * beat_cycles // group)
    return next((n for n in range(minimum, common + 1) if common % n == 0), None)


class Accumulator(Part):
    """Reduce ``group`` beats of ``pe`` terms to ``pe`` results, and send them ``lanes`` at a time.

    If ``pe`` does not divide ``outputs``, the last results of every pixel's last group are unused:
    they are not sent.

    The pipeline between ``enter`` and ``terms`` belongs to the user and never stalls: the last beat
    of a group may enter only if there is space for the results.

    Members:
        offered: In, 1 bit: a beat is ready to enter the pipeline.
        open: Out, 1 bit: it may enter, and does if it is offered.
        valid: In, 1 bit: there are terms in this cycle: a beat that entered ``delay`` cycles ago.
        terms: In, ``pe`` times int ``term_bits``.
        o: Out, ``lanes`` times int ``out_bits``: results with bias, in order.

    Latency ``latency`` from the last terms of a group to its first results: 4 if ``lanes == pe``,
    else 5. ``drain``: cycles from the first to the last results of a pixel's last group. Initiation
    interval 1: terms in every cycle.

    Args:
        kind: ``sum`` or ``max``.
        pe: Terms of a beat.
        group: Beats of a group.
        term_bits: Bits of a term.
        ranges: Widths.
        delay: Cycles from entering to ``valid``.
        bias: int32, added to the results in turn, or None.
        beat_cycles: Cycles that the consumer of ``o`` needs for a beat; decides on ``lanes``.
        outputs: Results of a pixel, if ``pe`` does not divide them.

    Raises:
        ValueError: If ``pe`` does not divide ``outputs``, and no number of lanes keeps up.
    """

    def __init__(
        self,
        kind: Literal["sum", "max"],
        *,
        pe: int,
        group: int,
        term_bits: int,
        ranges: Ranges,
        delay: int = 0,
        bias: Integers | None = None,
        beat_cycles: int = 1,
        outputs: int = 0,
    ) -> None:
        self.kind = kind
        self.pe = pe
        self.group = group
        self.ranges, self.delay = ranges, delay
        lanes = drain_lanes(pe, group, beat_cycles, outputs)
        self.idle = -outputs % pe
        if lanes is None and self.idle:
            msg = (
                f"expected results that can be drained as parts of {outputs}, got {pe} in {group}"
                " cycles"
            )
            raise ValueError(msg)
        self.lanes = lanes or pe
        self.rounds = pe // self.lanes
        self.groups = -(-outputs // pe)
        steps = 2 if self.rounds == 1 else 3
        self.latency = steps + LATENCY
        self.drain = (self.rounds - 1 - self.idle // self.lanes) * beat_cycles
        self.depth = queue_depth(
            delay + steps, burst=self.rounds, group=group, beat_cycles=beat_cycles
        )
        self.bias = None
        if bias is not None and ranges.bias_bits:
            words = pack(bias.reshape(-1, self.lanes), ranges.bias_bits)
            self.bias = CyclicRom(words, ranges.bias_bits * self.lanes)
        self.memory_bits = self.bias.memory_bits if self.bias else 0
        super().__init__(
            lambda: {
                "offered": In(1),
                "open": Out(1),
                "valid": In(1),
                "terms": In(Lanes(pe, term_bits)),
                "o": Out(stream_of(self.lanes, ranges.out_bits)),
            }
        )

    @cached_property
    def logic(self) -> Logic:
        """Sums, the register that they are drained from, bias, counters and queue."""
        ranges, lanes = self.ranges, self.lanes
        sums, drained = self.pe * ranges.sum_bits, lanes * ranges.sum_bits
        parts = [Logic(register=sums + drained + 2, test=13), self._drain_logic()]
        if self.kind == "max":
            parts.append(Logic(compare=sums, mux=sums))
        elif self.group > 1:
            parts.append(Logic(add=sums))
        if self.group > 1:
            index_bits = (self.group - 1).bit_length()
            parts.append(Logic(2 * index_bits + 3, add=2 * index_bits, test=12 + 2 * index_bits))
        if self.bias:
            bias_bits = 0 if self.bias.constant else lanes * ranges.bias_bits
            parts += [self.bias.logic, Logic(register=bias_bits, add=lanes * ranges.out_bits)]
        return total([*parts, queue_logic(lanes * ranges.out_bits, self.depth)])

    def _drain_logic(self) -> Logic:
        """Return the logic that sends a group's results in several beats, some of them unused."""
        drain = Logic()
        if self.rounds > 1:
            result_bits, count = self.pe * self.ranges.sum_bits, self.rounds.bit_length()
            shifted_bits = result_bits - self.lanes * self.ranges.sum_bits
            drain += Logic(result_bits + 2 * count, count, count, 8 + 2 * count, mux=shifted_bits)
        if self.idle:
            index_bits = (self.groups - 1).bit_length()
            drain += Logic(2 * index_bits + 2, 2 * index_bits, 2, 10 + 2 * index_bits)
        return drain

    def elaborate(self, platform: object) -> Module:
        """Build the gate, accumulators, the register they are drained from, bias and queue."""
        m = Module()
        queue = ResultQueue(self.lanes, self.ranges.out_bits, self.depth, self.rounds)
        m.submodules.queue = queue
        self._gate(m, queue)
        ending, results = self._accumulate(m)
        if self.rounds == 1:
            self._output(m, queue, follow(m, ending, "done", reset=True), ending, results)
        else:
            self._drain(m, queue, follow(m, ending, "done", reset=True), results)
        connect(m, queue.o, flipped(self.o))
        return m

    def _gate(self, m: Module, queue: ResultQueue) -> None:
        """Admit the last beat of a group if there is space for the group's results."""
        enters = Signal()
        ends = Signal()
        _, last = counter(m, enters, self.group, "beat_entering")
        m.d.comb += [
            self.open.eq(~last | queue.open),
            enters.eq(self.offered & self.open),
            ends.eq(enters & last),
            queue.reserve.eq(Mux(ends, self._rounds(m, ends, "entering"), 0)),
        ]

    def _drain(self, m: Module, queue: ResultQueue, load: Value, results: Value) -> None:
        """Load the results, and shift them out ``lanes`` at a time."""
        bits = self.ranges.sum_bits
        shift_register = Signal(self.pe * bits, reset_less=True, name="held")
        left = Signal(range(self.rounds + 1))
        rounds = self._rounds(m, load, "drained")
        any_left = Signal()
        more = Signal()
        with m.If(load):
            m.d.sync += [
                shift_register.eq(results),
                left.eq(rounds),
                any_left.eq(1),
                more.eq(rounds > 1),
            ]
        with m.Else():
            m.d.sync += [
                shift_register.eq(shift_register[self.lanes * bits :]),
                left.eq(left - any_left),
                any_left.eq(more),
                more.eq(left > 2),
            ]
        self._output(m, queue, any_left, load | more, shift_register[: self.lanes * bits])

    def _rounds(self, m: Module, step: Value, name: str) -> Value:
        """Return the number of output beats of the group that ``step`` ends."""
        if not self.idle:
            return Const(self.rounds)
        _, last = counter(m, step, self.groups, f"group_{name}")
        return Mux(last, self.rounds - self.idle // self.lanes, self.rounds)

    def _accumulate(self, m: Module) -> tuple[Value, Value]:
        """Return whether the terms of this cycle end a group, and the accumulators."""
        first, last = counter(m, self.valid, self.group, "beat")
        sums = [
            Signal(signed(self.ranges.sum_bits), name=f"sum_{index}", reset_less=True)
            for index in range(self.pe)
        ]
        with m.If(self.valid):
            m.d.sync += [
                held.eq(self._reduced(first, held, self.terms[index]))
                for index, held in enumerate(sums)
            ]
        return self.valid & last, Cat(*sums)

    def _reduced(self, first: Value, accumulator: Signal, term: Value) -> Value:
        """Return the value of an accumulator after ``term``, which begins a group if ``first``."""
        if self.kind == "max":
            return Mux(first | (term > accumulator), term, accumulator)
        if self.group == 1:
            return term
        # A signed zero makes the sum signed in SystemVerilog. Yosys then knows the term's own
        # width and feeds it to Xilinx's carry chain: each bit needs one LUT, not two.
        return Mux(first, Const(0, accumulator.shape()), accumulator) + term

    def _output(
        self, m: Module, queue: ResultQueue, valid: Value, read_bias: Value, sums: Value
    ) -> None:
        """Add the bias, and put the results into the queue."""
        bits, wide = self.ranges.sum_bits, self.ranges.bias_bits
        sums = follow(m, sums, "drained")
        terms = [sums[i * bits : (i + 1) * bits].as_signed() for i in range(self.lanes)]
        if self.bias:
            m.submodules.bias = self.bias
            m.d.comb += self.bias.step.eq(read_bias)
            biases = follow(m, self.bias.data, "biases")
            terms = [
                term + biases[i * wide : (i + 1) * wide].as_signed() for i, term in enumerate(terms)
            ]
        m.d.comb += queue.push.eq(follow(m, valid, "push", reset=True))
        for index, term in enumerate(terms):
            m.d.comb += queue.payload[index].eq(term)
