"""Index of the maximum."""

from __future__ import annotations

from functools import cached_property

from amaranth import Module, Mux, Signal, signed
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.sizes import index_signal
from rlx_fpga.cells.streams import Cell, raw, stream_of
from rlx_fpga.cost.logic import Logic


class Argmax(Cell):
    """Index of the maximum of every ``count`` consecutive values; the first on a tie.

    Members:
        i: In, one int8 a beat.
        o: Out, one int32 for every ``count`` beats.

    Latency 1, initiation interval ``count``.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            msg = f"expected at least one value, got {count}"
            raise ValueError(msg)
        self.count = count
        super().__init__({"i": In(stream_of(1)), "o": Out(stream_of(1, 32))})

    @cached_property
    def logic(self) -> Logic:
        """The best value and its place, their successors, the output register."""
        place = (max(self.count, 2) - 1).bit_length()
        return Logic(3 * place + 9, place, 8, 10 + 2 * place, place)

    def elaborate(self, platform: object) -> Module:
        """Keep the best so far; wait for a free output register only with the last value."""
        m = Module()
        index = index_signal(self.count, name="place")
        best_place = index_signal(self.count)
        best = Signal(signed(8))
        code = raw(self.i).as_signed()
        last = Signal()
        better = Signal()
        free = Signal()
        winner = index_signal(self.count)
        m.d.comb += [
            last.eq(index == self.count - 1),
            better.eq((index == 0) | (code > best)),
            winner.eq(Mux(better, index, best_place)),
            free.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(free | ~last),
        ]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [index.eq(Mux(last, 0, index + 1)), best_place.eq(winner)]
            with m.If(better):
                m.d.sync += best.eq(code)
            with m.If(last):
                m.d.sync += [self.o.valid.eq(1), raw(self.o).eq(winner)]
        return m
