"""Functions of one int8 value as tables."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from amaranth import Module, signed
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.rom import varying_bits
from rlx_fpga.cells.streams import Cell, stream_of
from rlx_fpga.cost.logic import Logic
from rlx_fpga.cost.memories import Ram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from amaranth.hdl import Value

ENTRIES = 256


class Table(Cell):
    """``y = table[x + 128]`` for each lane: any function of one int8 value.

    Each lane has a memory of its own, whose output register is that of the stream.

    Members:
        i: In, ``lanes`` times int8.
        o: Out, ``lanes`` times int ``width``.

    Latency 1, initiation interval 1.
    """

    def __init__(self, lanes: int, table: Sequence[int], width: int = 8) -> None:
        """Take the 256 entries, for -128 first; each must fit ``width`` bits."""
        half = 1 << (width - 1)
        if len(table) != ENTRIES or not all(-half <= entry < half for entry in table):
            msg = f"expected a table of 256 entries of {width} bits, got {len(table)} in "
            raise ValueError(f"{msg}[{min(table, default=0)}, {max(table, default=0)}]")
        self.lanes, self.width = lanes, width
        self.table = [int(entry) for entry in table]
        self.memory_bits = lanes * ENTRIES * width
        super().__init__({"i": In(stream_of(lanes)), "o": Out(stream_of(lanes, width))})

    @cached_property
    def logic(self) -> Logic:
        """A memory for each lane, and a flag."""
        rams = (table_ram(self.table, self.width),) * self.lanes
        return Logic(register=1, test=4, memories=rams)

    def elaborate(self, platform: object) -> Module:
        """Look up all lanes in parallel."""
        m = Module()
        move = self.i.ready
        m.d.comb += move.eq(~self.o.valid | self.o.ready)
        with m.If(move):
            m.d.sync += self.o.valid.eq(self.i.valid)
        for lane in range(self.lanes):
            code = self.i.payload[lane]
            entry = look_up(m, f"table{lane}", self.table, code, move, self.width)
            m.d.comb += self.o.payload[lane].eq(entry)
        return m


def table_ram(entries: Sequence[int], width: int) -> Ram:
    """Return the memory of a function of one int8 value, or of several of them."""
    varying = varying_bits([int(entry) & (1 << width) - 1 for entry in entries], width)
    return Ram(varying, len(entries), read_only=True, synchronous=True, distinct=varying)


def look_up(
    m: Module, name: str, table: Sequence[int], code: Value, enable: Value, width: int
) -> Value:
    """Return ``table[code + 128]`` of the last cycle in which ``enable`` was high.

    The entries are stored in the order of two's complement: the address needs no adder.
    """
    by_bits = [*table[ENTRIES // 2 :], *table[: ENTRIES // 2]]
    memory = Memory(shape=signed(width), depth=ENTRIES, init=by_bits)
    m.submodules[name] = memory
    port = memory.read_port()
    m.d.comb += [port.addr.eq(code.as_unsigned()), port.en.eq(enable)]
    found: Value = port.data
    return found
