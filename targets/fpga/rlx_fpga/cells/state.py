"""Memory of a state: the tensor that a frame leaves is what the next one finds."""

from __future__ import annotations

from functools import cached_property

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.chain import Chain
from rlx_fpga.cells.fifo import Fifo
from rlx_fpga.cells.sizes import index_signal
from rlx_fpga.cells.streams import Cell, raw, stream_of
from rlx_fpga.cost.logic import Logic, counter


class Initial(Cell):
    """Send ``beats`` beats of one value after a reset, then those of ``i``.

    Members:
        i: In, ``lanes`` times int8.
        o: Out, the same.

    Latency 0, initiation interval 1. ``o.valid`` follows ``i.valid`` combinationally.
    """

    latency = 0

    def __init__(self, lanes: int, beats: int, value: int) -> None:
        self.lanes, self.beats, self.value = lanes, beats, value
        super().__init__({"i": In(stream_of(lanes)), "o": Out(stream_of(lanes))})

    @cached_property
    def logic(self) -> Logic:
        """A counter of beats, and a choice between the value and ``i``."""
        return counter(self.beats) + Logic(register=1, mux=8 * self.lanes, test=6)

    def elaborate(self, platform: object) -> Module:
        """Count the beats of the value."""
        m = Module()
        is_initial = Signal(init=1)
        left = index_signal(self.beats, init=self.beats - 1)
        word = Cat(Const(self.value, 8) for _ in range(self.lanes))
        m.d.comb += [
            raw(self.o).eq(Mux(is_initial, word, raw(self.i))),
            self.o.valid.eq(is_initial | self.i.valid),
            self.i.ready.eq(~is_initial & self.o.ready),
        ]
        with m.If(is_initial & self.o.ready):
            m.d.sync += [left.eq(left - 1), is_initial.eq(left != 0)]
        self.internals = {"is_initial": is_initial, "left": left}
        return m


class StateMemory(Chain):
    """The tensor of ``beats`` beats that one frame leaves for the next.

    Members:
        i: In, ``lanes`` times int8: the tensor of the next frame.
        o: Out, the same: that of this frame, of one value in the first after a reset.

    There is room for two frames, so that the next tensor may come before this one is read.
    """

    def __init__(self, lanes: int, beats: int, initial: int) -> None:
        self.beats = beats
        super().__init__(
            {"queue": Fifo(lanes, 2 * beats), "initial": Initial(lanes, beats, initial)}
        )
