"""Functions of one value that differ from channel to channel, as tables."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from amaranth import Cat, Module, signed
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.sizes import index_signal
from rlx_fpga.cells.streams import Cell, require_divisor, stream_of
from rlx_fpga.cells.table import ENTRIES, table_ram
from rlx_fpga.cost.logic import Logic, counter, total

if TYPE_CHECKING:
    import numpy.typing as npt


class ChannelTable(Cell):
    """``y = tables[c][x + 128]`` for each lane, ``c`` the channel of the value.

    Each lane has a memory of its own with the tables of its channels.

    Members:
        i: In, ``lanes`` times int8.
        o: Out, the same.

    Latency 1, initiation interval 1.
    """

    def __init__(self, lanes: int, tables: npt.NDArray[np.int8]) -> None:
        """Take int8[channels, 256], the entry of value -128 first; lanes divide the channels."""
        channels, entries = tables.shape
        require_divisor(lanes, channels)
        if entries != ENTRIES:
            raise ValueError(f"expected a table of 256 entries, got {entries}")
        self.lanes, self.blocks = lanes, channels // lanes
        # Stored in the order of the values' bits: the address needs no adder.
        self.tables = np.roll(tables, ENTRIES // 2, axis=1)
        self.memory_bits = tables.size * 8
        super().__init__({"i": In(stream_of(lanes)), "o": Out(stream_of(lanes))})

    @cached_property
    def logic(self) -> Logic:
        """A memory for each lane, and the counter of blocks."""
        own = total([Logic(register=1, test=4), counter(self.blocks)])
        words = (self.tables[lane :: self.lanes].reshape(-1).tolist() for lane in range(self.lanes))
        return own + Logic(memories=tuple(table_ram(entries, 8) for entries in words))

    def elaborate(self, platform: object) -> Module:
        """Look up all lanes, and count the beats of a pixel."""
        m = Module()
        move = self.i.ready
        block = index_signal(self.blocks)
        m.d.comb += move.eq(~self.o.valid | self.o.ready)
        with m.If(move):
            m.d.sync += self.o.valid.eq(self.i.valid)
        with m.If(move & self.i.valid):
            m.d.sync += block.eq(block + 1)
            with m.If(block == self.blocks - 1):
                m.d.sync += block.eq(0)
        for lane in range(self.lanes):
            words = self.tables[lane :: self.lanes].reshape(-1).tolist()
            memory = Memory(shape=signed(8), depth=len(words), init=words)
            m.submodules[f"tables{lane}"] = memory
            port = memory.read_port()
            value = self.i.payload[lane].as_unsigned()
            m.d.comb += [
                port.addr.eq(Cat(value, block) if self.blocks > 1 else value),
                port.en.eq(move),
                self.o.payload[lane].eq(port.data),
            ]
        return m
