"""Memories that are written in one place while they are read in another.

What a block memory reads from a word that is written in the same cycle differs between families.
Synthesis builds what the netlist says, the old word, out of registers and a multiplexer behind the
block where the block does not do it by itself: that costs cells and is the longest path of a
design. The cells here never read a word that is being written, and say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amaranth import Assert, Module, Mux, Signal, unsigned
from amaranth.lib.memory import Memory

from rlx_fpga.cells.multiply import Netlist

if TYPE_CHECKING:
    from amaranth import Value
    from amaranth.hdl import ValueLike
    from amaranth.lib.memory import ReadPort, WritePort

APART: Final = "no_rw_check"
"""Attribute by which Yosys is told that no word is read while it is written."""

_ATTRIBUTES: Final = {APART: 1, "rw_addr_collision": "no"}


def block_ram(
    m: Module, platform: object, name: str, width: int, depth: int, wanted: ValueLike = 1
) -> tuple[WritePort, ReadPort]:
    """Return the ports of a memory whose words are never read while they are written.

    Simulations and proofs check that; netlists promise it to synthesis.

    Args:
        m: Module to build into.
        platform: As given to ``elaborate``.
        name: Of the memory.
        width: Bits of a word.
        depth: Number of words.
        wanted: Whether anybody looks at what is read in this cycle.

    Returns:
        The port that writes, and the synchronous one that reads.
    """
    memory = Memory(shape=unsigned(width), depth=depth, init=[], attrs=dict(_ATTRIBUTES))
    m.submodules[name] = memory
    write = memory.write_port()
    read = memory.read_port()
    if not isinstance(platform, Netlist):
        both = read.en & write.en & (read.addr == write.addr) & wanted
        m.d.sync += Assert(~both, "a word is read while it is written")
    return write, read


def go_round(m: Module, step: Value, address: Signal, depth: int) -> None:
    """Let ``address`` go on by a word with each ``step``, from the last one to the first."""
    with m.If(step):
        m.d.sync += address.eq(Mux(address == depth - 1, 0, address + 1))
