"""Single-port memories without initial content, such as the SPRAM of small devices."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from amaranth import Cat, ClockSignal, Instance, Module, Mux, Signal, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.multiply import NetlistPlatform
from rlx_fpga.cells.streams import Part
from rlx_fpga.cost.logic import Logic
from rlx_fpga.cost.memories import Ram

BYTE: Final = 8
"""Bits of a strobe's part of a word."""

LARGE_BITS: Final = 16
"""Bits of a word of an SPRAM."""

LARGE_WORDS: Final = 1 << 14
"""Words of an SPRAM."""


def large_blocks(width: int, depth: int) -> int:
    """Return the number of SPRAMs (iCE40 UltraPlus) of a memory."""
    return -(-width // LARGE_BITS) * -(-depth // LARGE_WORDS)


class OnePortRam(Part):
    """A memory that reads or writes one word in a cycle.

    Members:
        address: In, of the word.
        write: In, 1 bit: write in this cycle, instead of reading.
        strobe: In, which bytes of the word are written.
        code: In, data to write.
        data: Out, the word read a cycle ago; valid only in the cycle after a read.

    In a netlist it is an instance of ``<prefix>_ram`` (see ``templates/fpga/ram.v.j2``), from which
    synthesis infers the memories of the device.

    Args:
        width: Bits of a word, a multiple of 8.
        depth: Words, at least two.
        large: Use SPRAM (iCE40 UltraPlus) instead of block RAM.
    """

    def __init__(self, width: int, depth: int, *, large: bool) -> None:
        assert width % BYTE == 0
        self.width, self.depth, self.large = width, max(depth, 2), large
        self.memory_bits = self.width * self.depth
        self.address_bits = (self.depth - 1).bit_length()
        super().__init__({
            "address": In(self.address_bits), "write": In(1), "strobe": In(width // BYTE),
            "code": In(unsigned(width)), "data": Out(unsigned(width)),
        })  # fmt: skip

    @cached_property
    def logic(self) -> Logic:
        """The memory; empty for an SPRAM, which is not counted here."""
        if self.large:
            return Logic()
        ram = Ram(self.width, self.depth, read_only=False, synchronous=True, collision_free=True)
        return Logic(memories=(ram,))

    def elaborate(self, platform: object) -> Module:
        """Build a memory for simulation, or the instance."""
        m = Module()
        if isinstance(platform, NetlistPlatform):
            m.submodules.memory = Instance(
                platform.ram,
                p_Width=self.width,
                p_Depth=self.depth,
                p_Large=int(self.large),
                i_clk_i=ClockSignal(),
                i_write_i=self.write,
                i_strobe_i=self.strobe,
                i_address_i=self.address,
                i_data_i=self.code,
                o_data_o=self.data,
            )
            return m
        m.submodules.memory = memory = Memory(shape=unsigned(self.width), depth=self.depth, init=[])
        write = memory.write_port(granularity=BYTE)
        read = memory.read_port()
        m.d.comb += [
            write.addr.eq(self.address), write.data.eq(self.code), read.addr.eq(self.address),
            write.en.eq(Mux(self.write, self.strobe, 0)), read.en.eq(~self.write),
            self.data.eq(read.data),
        ]  # fmt: skip
        return m


class ByteRam(Part):
    """A single-port memory of bytes, two in each word: SPRAM has words of 16 bits.

    Members:
        address: In, of the byte.
        write: In, 1 bit: write in this cycle, instead of reading.
        code: In, the byte that is written.
        data: Out, the byte read a cycle ago; see :class:`OnePortRam`.

    Args:
        size: Bytes.
        large: See :class:`OnePortRam`.
    """

    def __init__(self, size: int, *, large: bool) -> None:
        self.words = OnePortRam(2 * BYTE, -(-size // 2), large=large)
        self.memory_bits = self.words.memory_bits
        super().__init__({
            "address": In(self.words.address_bits + 1), "write": In(1),
            "code": In(unsigned(BYTE)), "data": Out(unsigned(BYTE)),
        })  # fmt: skip

    @cached_property
    def logic(self) -> Logic:
        """The memory, and which byte of a word was read."""
        return Logic(register=1, test=1, mux=BYTE) + self.words.logic

    def elaborate(self, platform: object) -> Module:
        """Write one byte of a word, select one of those read."""
        m = Module()
        m.submodules.words = words = self.words
        odd = self.address[0]
        read_odd = Signal()
        m.d.sync += read_odd.eq(odd)
        m.d.comb += [
            words.address.eq(self.address[1:]), words.write.eq(self.write),
            words.strobe.eq(Cat(~odd, odd)), words.code.eq(Cat(self.code, self.code)),
            self.data.eq(words.data.word_select(read_odd, BYTE)),
        ]  # fmt: skip
        return m
