"""Accumulators of a folded unit: sum or maximum over a group of beats, then drained in order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.pipe import register
from rlx_fpga.cells.rom import CyclicRom, pack, signed_bits
from rlx_fpga.cells.streams import Lanes, Part, stream_of

if TYPE_CHECKING:
    from rlx_fpga.cells.rom import Integers


@dataclass(frozen=True)
class Ranges:
    """Widths that follow from the values that can occur.

    Attributes:
        sum_bits: Of the sums without bias, partial sums included.
        bias_bits: Of the biases; 0 if there are none.
        out_bits: Of the results, bias included.
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
    w = weights.astype(np.int64)
    high = np.maximum(w * 127, w * -128).sum(axis=1)
    low = np.minimum(w * 127, w * -128).sum(axis=1)
    b = np.zeros(len(w), np.int64) if bias is None else bias.astype(np.int64)
    out_bits = signed_bits(int((low + b).min()), int((high + b).max()))
    if out_bits > 32:
        msg = f"an accumulator of {out_bits} bits would be needed, 32 are the limit"
        raise ValueError(msg)
    return Ranges(
        sum_bits=signed_bits(int(low.min()), int(high.max())),
        bias_bits=signed_bits(int(b.min()), int(b.max())) if b.any() else 0,
        out_bits=out_bits,
    )


def drain_lanes(pe: int, group: int, beat_cycles: int = 1, outputs: int = 0) -> int | None:
    """Return the least number of output lanes that drains ``pe`` results in ``group`` cycles.

    A beat never holds results of two pixels: lanes divide ``pe`` and ``outputs``. None if no number
    of lanes is enough.

    Args:
        pe: Results of a group.
        group: Cycles of a group.
        beat_cycles: Cycles that the consumer needs for a beat.
        outputs: Results of a pixel, if ``pe`` does not divide them.
    """
    common = math.gcd(pe, outputs)
    least = -(-pe * beat_cycles // group)
    return next((n for n in range(least, common + 1) if common % n == 0), None)


class Accumulator(Part):
    """Reduce ``group`` beats of ``pe`` terms to ``pe`` results, and give them ``lanes`` at a time.

    If ``pe`` does not divide ``outputs``, the last results of every pixel's last group are idle
    ones: they are not given.

    The pipeline that feeds it moves with ``enable``: it stands still when a group is complete while
    the one before has not been drained.

    Members:
        enable: Out, 1 bit: the pipeline moves at the end of this cycle.
        valid: In, 1 bit: there are terms in this cycle.
        terms: In, ``pe`` times int ``term_bits``.
        o: Out, ``lanes`` times int ``out_bits``: results with bias, in order.

    Latency 2 from the last terms of a group if ``lanes == pe``, else 3.

    Args:
        kind: ``sum`` or ``max``.
        pe: Terms of a beat.
        group: Beats of a group.
        term_bits: Bits of a term.
        ranges: Widths.
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
        bias: Integers | None = None,
        beat_cycles: int = 1,
        outputs: int = 0,
    ) -> None:
        self.kind = kind
        self.pe = pe
        self.group = group
        self.ranges = ranges
        lanes = drain_lanes(pe, group, beat_cycles, outputs)
        self.idle = -outputs % pe
        if lanes is None and self.idle:
            msg = f"{pe} results in {group} cycles cannot be drained as parts of {outputs}"
            raise ValueError(msg)
        self.lanes = lanes or pe
        self.rounds = pe // self.lanes
        self.groups = -(-outputs // pe)
        self.latency = 2 if self.rounds == 1 else 3
        self.bias = None
        if bias is not None and ranges.bias_bits:
            words = pack(bias.reshape(-1, self.lanes), ranges.bias_bits)
            self.bias = CyclicRom(words, ranges.bias_bits * self.lanes)
        self.memory_bits = self.bias.memory_bits if self.bias else 0
        super().__init__(
            {
                "enable": Out(1),
                "valid": In(1),
                "terms": In(Lanes(pe, term_bits)),
                "o": Out(stream_of(self.lanes, ranges.out_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build accumulators, the register they are drained from, and the bias adders."""
        m = Module()
        ending, results = self._accumulate(m)
        done = register(m, self.enable, ending, "done", reset=True)
        free = Signal()
        m.d.comb += free.eq(~self.o.valid | self.o.ready)
        if self.rounds == 1:
            m.d.comb += self.enable.eq(~done | free)
            self._output(m, free, done, self.enable & ending, results)
            return m
        bits = self.ranges.sum_bits
        held = Signal(self.pe * bits, reset_less=True)
        left = Signal(range(self.rounds + 1))
        load, empties = Signal(), Signal()
        m.d.comb += [
            empties.eq((left == 0) | ((left == 1) & free)),
            load.eq(done & empties),
            self.enable.eq(~done | empties),
        ]
        rounds = self._rounds(m, load)
        with m.If(load):
            m.d.sync += [held.eq(results), left.eq(rounds)]
        with m.Elif(free & (left != 0)):
            m.d.sync += [held.eq(held[self.lanes * bits :]), left.eq(left - 1)]
        self._output(m, free, left != 0, load | (free & (left > 1)), held[: self.lanes * bits])
        return m

    def _rounds(self, m: Module, load: Value) -> Value:
        """Return in how many beats the group that is loaded goes out."""
        if not self.idle:
            return Const(self.rounds)
        place = Signal(range(self.groups))
        is_last = place == self.groups - 1
        with m.If(load):
            m.d.sync += place.eq(Mux(is_last, 0, place + 1))
        return Mux(is_last, self.rounds - self.idle // self.lanes, self.rounds)

    def _accumulate(self, m: Module) -> tuple[Value, Value]:
        """Return whether the terms of this cycle end a group, and the accumulators."""
        step = self.enable & self.valid
        first, last = Signal(init=1), Signal(init=1)
        if self.group > 1:
            beat = Signal(range(self.group))
            m.d.comb += [first.eq(beat == 0), last.eq(beat == self.group - 1)]
            with m.If(step):
                m.d.sync += beat.eq(Mux(last, 0, beat + 1))
        sums = Signal(Lanes(self.pe, self.ranges.sum_bits), reset_less=True)
        for index in range(self.pe):
            term, held = self.terms[index], sums[index]
            if self.kind == "max":
                value = Mux(first | (term > held), term, held)
            elif self.group == 1:
                value = term
            else:
                value = Mux(first, 0, held) + term
            with m.If(step):
                m.d.sync += sums[index].eq(value)
        return self.valid & last, sums.as_value()

    def _output(self, m: Module, free: Value, valid: Value, read_bias: Value, sums: Value) -> None:
        """Add the bias and register the output whenever that is free."""
        bits = self.ranges.sum_bits
        terms = [sums[i * bits : (i + 1) * bits].as_signed() for i in range(self.lanes)]
        if self.bias:
            m.submodules.bias = self.bias
            m.d.comb += self.bias.step.eq(read_bias)
            wide = self.ranges.bias_bits
            terms = [
                term + self.bias.data[i * wide : (i + 1) * wide].as_signed()
                for i, term in enumerate(terms)
            ]
        with m.If(free):
            m.d.sync += self.o.valid.eq(valid)
            for index, term in enumerate(terms):
                m.d.sync += self.o.payload[index].eq(term)
