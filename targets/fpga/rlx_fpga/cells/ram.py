"""Memories with one write and one read port whose accesses never collide.

Block RAMs of different families return different values for a word that is written in the same
cycle. In the netlist it is the old word; where a block does not return that, synthesis adds
registers and a multiplexer, which cost cells and are the longest path of a design. The cells here
never read a word that is being written, and declare it.

Tests: tests/targets/fpga/cells/test_raster.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amaranth import Assert, Module, Mux, Signal, unsigned
from amaranth.lib.memory import Memory

from rlx_fpga.cells.multiply import NetlistPlatform

if TYPE_CHECKING:
    from amaranth import Value
    from amaranth.hdl import ValueLike
    from amaranth.lib.memory import ReadPort, WritePort

COLLISION_FREE: Final = "no_rw_check"
"""Attribute that declares to Yosys that no word is read while it is written."""

_ATTRIBUTES: Final = {COLLISION_FREE: 1, "rw_addr_collision": "no"}


def block_ram(
    m: Module, platform: object, name: str, width: int, depth: int, used: ValueLike = 1
) -> tuple[WritePort, ReadPort]:
    """Return the ports of a memory whose words are never read while they are written.

    Simulations and proofs check that; netlists declare it to synthesis.

    Args:
        m: Module to build into.
        platform: Argument of ``elaborate``.
        name: Name of the memory.
        width: Bits of a word.
        depth: Number of words.
        used: Whether the word read in this cycle is used.

    Returns:
        The write port, and the synchronous read port.
    """
    memory = Memory(shape=unsigned(width), depth=depth, init=[], attrs=dict(_ATTRIBUTES))
    m.submodules[name] = memory
    write = memory.write_port()
    read = memory.read_port()
    if not isinstance(platform, NetlistPlatform):
        both = read.en & write.en & (read.addr == write.addr) & used
        m.d.sync += Assert(~both, "a word is read while it is written")
    return write, read


def go_round(m: Module, step: Value, address: Signal, depth: int) -> None:
    """Increment ``address`` with each ``step``, wrapping around after ``depth`` words."""
    with m.If(step):
        m.d.sync += address.eq(Mux(address == depth - 1, 0, address + 1))
