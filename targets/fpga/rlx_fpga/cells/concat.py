"""Several streams one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.streams import Cell, raw, stream_of

if TYPE_CHECKING:
    from collections.abc import Sequence


class Concat(Cell):
    """Join tensors along one axis: ``runs[n]`` beats of input ``n``, then of the next, and again.

    A run is what one input brings while the axes outside of the joined one stand still. Along
    channels it is ``channels / lanes`` beats; along the rows of an NHWC tensor the whole frame.

    Members:
        i0, i1, ...: In, ``lanes`` times int8.
        o: Out, the same.

    Latency 1; one beat a cycle, so the interval is the number of beats that go out.
    """

    def __init__(self, lanes: int, runs: Sequence[int]) -> None:
        if not runs or min(runs) < 1:
            msg = f"every input needs a run of at least one beat, not {tuple(runs)}"
            raise ValueError(msg)
        self.runs = tuple(runs)
        inputs = {f"i{index}": In(stream_of(lanes)) for index in range(len(runs))}
        super().__init__({**inputs, "o": Out(stream_of(lanes))})

    def elaborate(self, platform: object) -> Module:
        """Serve the input whose turn it is."""
        m = Module()
        # At least one bit: a switch over none is lost on the way to Verilog.
        turn = Signal(range(max(len(self.runs), 2)))
        count = Signal(range(max(self.runs)))
        free = Signal()
        m.d.comb += free.eq(~self.o.valid | self.o.ready)
        with m.If(free):
            m.d.sync += self.o.valid.eq(0)
        with m.Switch(turn):
            for index, run in enumerate(self.runs):
                source = getattr(self, f"i{index}")
                with m.Case(index):
                    m.d.comb += source.ready.eq(free)
                    with m.If(source.valid & free):
                        following = (index + 1) % len(self.runs)
                        m.d.sync += [
                            self.o.valid.eq(1),
                            raw(self.o).eq(raw(source)),
                            count.eq(Mux(count == run - 1, 0, count + 1)),
                            turn.eq(Mux(count == run - 1, following, turn)),
                        ]
        return m
