"""Streams that repeat: a tensor broadcast over outer axes, and constants."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from amaranth import Module, Mux, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.rom import varying_bits
from rlx_fpga.cells.sizes import depth_of, index_signal
from rlx_fpga.cells.streams import Cell, raw, stream_of
from rlx_fpga.cost.logic import Logic, counter, total
from rlx_fpga.cost.memories import Ram

if TYPE_CHECKING:
    import numpy.typing as npt


class Repeat(Cell):
    """Send every group of ``beats`` beats ``times`` times: a tensor broadcast over outer axes.

    Members:
        i: In, ``lanes`` times int8.
        o: Out, the same.

    Latency 1, one output beat a cycle; the first round is passed on as it arrives.
    """

    def __init__(self, lanes: int, beats: int, times: int) -> None:
        if beats < 1 or times < 1:
            msg = f"expected at least one beat and one round, got {beats} and {times}"
            raise ValueError(msg)
        self.lanes, self.beats, self.times = lanes, beats, times
        super().__init__({"i": In(stream_of(lanes)), "o": Out(stream_of(lanes))})

    @cached_property
    def logic(self) -> Logic:
        """A shift register of the group, the output register, and two counters."""
        own = Logic(8 * self.lanes * (self.beats + 1) + 1, test=8, mux=8 * self.lanes)
        return total([own, counter(self.beats), counter(self.times)])

    def elaborate(self, platform: object) -> Module:
        """Keep the group in a rotating shift register."""
        m = Module()
        size = len(raw(self.i))
        group = Signal(self.beats * size)
        beat = index_signal(self.beats)
        turn = index_signal(self.times)
        free = Signal()
        move = Signal()
        first = Signal()
        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready),
            first.eq(turn == 0),
            move.eq(free & (self.i.valid | ~first)),
            self.i.ready.eq(free & first),
        ]
        sent = Signal(size, name="chosen")
        m.d.comb += sent.eq(group[:size])
        with m.If(first):
            m.d.comb += sent.eq(raw(self.i))
        with m.If(free):
            m.d.sync += [self.o.valid.eq(move), raw(self.o).eq(sent)]
        with m.If(move):
            m.d.sync += group.eq((group >> size) | (sent << (size * (self.beats - 1))))
            m.d.sync += beat.eq(beat + 1)
            with m.If(beat == self.beats - 1):
                m.d.sync += [beat.eq(0), turn.eq(turn + 1)]
                with m.If(turn == self.times - 1):
                    m.d.sync += turn.eq(0)
        self.internals = {"group": group, "beat": beat, "turn": turn}
        return m


class Constant(Cell):
    """A constant tensor, sent again and again.

    Members:
        o: Out, ``lanes`` times int8.

    One beat a cycle, the first one in the cycle after reset.
    """

    def __init__(self, values: npt.NDArray[np.int8], lanes: int) -> None:
        """Take int8[beats * lanes], in stream order."""
        if values.size == 0 or values.size % lanes:
            msg = f"{values.size} values do not fill beats of {lanes} lanes"
            raise ValueError(msg)
        self.words = [
            int.from_bytes(beat.tobytes(), "little")
            for beat in values.astype(np.int8).reshape(-1, lanes)
        ]
        self.lanes = lanes
        self.memory_bits = values.size * 8
        super().__init__({"o": Out(stream_of(lanes))})

    @cached_property
    def logic(self) -> Logic:
        """A memory and its address."""
        width = 8 * self.lanes
        varying = varying_bits(self.words, width)
        ram = Ram(
            varying, depth_of(len(self.words)), read_only=True, synchronous=True, distinct=varying
        )
        return Logic(register=1, test=4, memories=(ram,)) + counter(len(self.words))

    def elaborate(self, platform: object) -> Module:
        """Read ahead by one word."""
        m = Module()
        count = len(self.words)
        memory = Memory(shape=8 * self.lanes, depth=depth_of(count), init=self.words)
        m.submodules.memory = memory
        port = memory.read_port()
        index = index_signal(count, name="place")
        free = Signal()
        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready),
            port.addr.eq(index),
            port.en.eq(free),
            raw(self.o).eq(port.data),
        ]
        with m.If(free):
            m.d.sync += [self.o.valid.eq(1), index.eq(Mux(index == count - 1, 0, index + 1))]
        self.internals = {"memory": memory, "place": index}
        return m
