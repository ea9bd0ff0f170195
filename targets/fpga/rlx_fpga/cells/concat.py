"""Concatenation of streams."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from amaranth import Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.sizes import index_signal
from rlx_fpga.cells.streams import Cell, raw, stream_of
from rlx_fpga.cost.logic import Logic, counter, total

if TYPE_CHECKING:
    from collections.abc import Sequence


class Concat(Cell):
    """Join tensors along one axis: ``runs[n]`` beats of input ``n``, then of the next, and again.

    A run is the part of one input between two steps of the axes outside of the joined one. Along
    channels it is ``channels / lanes`` beats; along the rows of an NHWC tensor the whole frame.

    Constants and states may be valid before a frame begins. Leading ones wait for the input after
    them: no output of a frame may come before any input of it.

    Members:
        i0, i1, ...: In, ``lanes`` times int8.
        o: Out, the same.

    Latency 1; one beat a cycle, so the initiation interval is the number of output beats.
    """

    def __init__(self, lanes: int, runs: Sequence[int], *, leading: int = 0) -> None:
        """Take the beats of each input; the first ``leading`` inputs wait for the next one."""
        if not runs or min(runs) < 1:
            msg = f"expected a run of at least one beat for every input, got {tuple(runs)}"
            raise ValueError(msg)
        if not 0 <= leading < len(runs):
            msg = f"expected 0 to {len(runs) - 1} leading inputs, got {leading}"
            raise ValueError(msg)
        self.lanes, self.runs, self.leading = lanes, tuple(runs), leading
        inputs = {f"i{index}": In(stream_of(lanes)) for index in range(len(runs))}
        super().__init__({**inputs, "o": Out(stream_of(lanes))})

    @cached_property
    def logic(self) -> Logic:
        """A choice among all inputs, and the counters of beats and turns."""
        bits, inputs = 8 * self.lanes, len(self.runs)
        own = Logic(register=bits + 1, test=6 + 6 * inputs, mux=bits * (inputs - 1))
        return total([own, counter(max(self.runs)), counter(inputs)])

    def elaborate(self, platform: object) -> Module:
        """Serve the inputs in turn."""
        m = Module()
        turn = index_signal(len(self.runs))
        count = index_signal(max(self.runs))
        free = Signal()
        m.d.comb += free.eq(~self.o.valid | self.o.ready)
        with m.If(free):
            m.d.sync += self.o.valid.eq(0)
        with m.Switch(turn):
            for index, run in enumerate(self.runs):
                source = getattr(self, f"i{index}")
                can_move: Value = free
                if index < self.leading:
                    can_move = free & getattr(self, f"i{self.leading}").valid
                with m.Case(index):
                    m.d.comb += source.ready.eq(can_move)
                    with m.If(source.valid & can_move):
                        following = (index + 1) % len(self.runs)
                        m.d.sync += [
                            self.o.valid.eq(1),
                            raw(self.o).eq(raw(source)),
                            count.eq(Mux(count == run - 1, 0, count + 1)),
                            turn.eq(Mux(count == run - 1, following, turn)),
                        ]
        self.internals = {"turn": turn, "count": count}
        return m
