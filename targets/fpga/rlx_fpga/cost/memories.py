"""Mapping of memories: to block RAM, to distributed (LUT) RAM, or to logic.

Yosys selects the cheapest mapping by its own measure (``memory_libmap`` of version 0.70, with the
libraries of each family): a cost for each block, half for each bit of a multiplexer after several
blocks, and for each bit of a read-only memory that becomes logic one over the bits of a LUT. The
same arithmetic here predicts the same number of blocks, and finds the best split of a deep
read-only memory into banks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MUX_COST: Final = 0.5

READ_COST: Final = 2
"""Cost of a read port that does not share the address of a write port, except in logic."""

OLD_WORD_COST: Final = 12
"""Cost of the registers that return the old word: 6 for the write port, 6 for each read port."""


@dataclass(frozen=True, slots=True)
class Ram:
    """A memory.

    Attributes:
        width: Bits of a word that differ from word to word, if it is read-only; else all.
        depth: Words.
        read_only: It lacks a write port.
        synchronous: Its read ports have registers.
        style: Mapping that the netlist requests (``block``, ``logic``), or an empty string.
        collision_free: No word is read while it is written; see :mod:`rlx_fpga.cells.ram`.
        registered: An asynchronous read is only used by a register.
        distinct: Of a read-only memory: bits of a word that differ from each other too.
    """

    width: int
    depth: int
    read_only: bool
    synchronous: bool
    style: str = ""
    collision_free: bool = False
    distinct: int = 0
    registered: bool = False

    @property
    def bits(self) -> int:
        """Bits of a word that are kept if it becomes logic, where synthesis merges equal ones."""
        return self.distinct if self.read_only else self.width


@dataclass(frozen=True, slots=True)
class BlockMode:
    """One way to use a block.

    Attributes:
        words: Words at the minimum width.
        widths: Bits of a word; each is twice the one before, not counting parity.
        cost: Cost of a block, by Yosys's measure.
        parts: Parts of a block that it occupies (a half block is one of two).
        write_width: Minimum width of a write port.
    """

    words: int
    widths: tuple[int, ...]
    cost: float
    parts: int = 1
    write_width: int = 1


@dataclass(frozen=True, slots=True)
class Library:
    """The memories of a family.

    Attributes:
        blocks: Modes of its block RAMs.
        byte: Bits that are written together, in wide modes.
        parts: Parts of a block.
        lut_bits: Words and bits of a word of one unit of LUT RAM, for each of its shapes.
        lut_cost: Cost of a unit.
        lut_luts: LUTs of a unit.
        lut_width_cost: The share of ``lut_cost`` that is refunded for unused bits of a word.
        old_word: Whether a block returns the old word of one that is being written.
        table_bits: Bits of a read-only memory that cost as much as one bit of a written one.
    """

    blocks: tuple[BlockMode, ...]
    byte: int
    parts: int
    lut_bits: tuple[tuple[int, int], ...]
    lut_cost: float
    lut_luts: int
    table_bits: int
    old_word: bool = True
    lut_width_cost: float = 0


_XILINX = Library(
    (
        BlockMode(1 << 14, (1, 2, 4, 9, 18), 129),
        BlockMode(1 << 15, (1, 2, 4, 9, 18, 36), 257, 2),
        BlockMode(1 << 14, (1, 2, 4, 9, 18, 36), 129, 1, 36),
        BlockMode(1 << 15, (1, 2, 4, 9, 18, 36, 72), 257, 2, 72),
    ),
    byte=9, parts=2, lut_bits=((32, 6), (64, 3)), lut_cost=8, lut_luts=4,
    table_bits=64, lut_width_cost=7,
)  # fmt: skip
LIBRARIES: Final = {
    "ecp5": Library(
        (
            BlockMode(1 << 14, (1, 2, 4, 9, 18), 128),
            BlockMode(1 << 14, (1, 2, 4, 9, 18, 36), 128, 1, 36),
        ),
        byte=9, parts=1, lut_bits=((16, 4),), lut_cost=4, lut_luts=6,
        table_bits=16, old_word=False,
    ),
    "ice40": Library(
        (BlockMode(1 << 11, (2, 4, 8, 16), 64),),
        byte=1, parts=1, lut_bits=(), lut_cost=0, lut_luts=0,
        table_bits=16, old_word=False,
    ),
    "xc7": _XILINX,
    "xcup": _XILINX,
}  # fmt: skip
"""Libraries by family."""


@dataclass(frozen=True, slots=True)
class MemoryMapping:
    """Mapping of a memory.

    Attributes:
        kind: ``block``, ``lut`` or ``logic``.
        parts: Number of parts of blocks.
        luts: LUTs that serve as memory.
        muxed: Bits of the multiplexers after several blocks.
    """

    kind: str
    parts: int = 0
    luts: int = 0
    muxed: int = 0


@lru_cache(maxsize=4096)
def mapping_of(ram: Ram, family: str) -> MemoryMapping:
    """Return the mapping of ``ram`` by Yosys on a device of ``family``."""
    library = LIBRARIES[family]
    if ram.width == 0:
        return MemoryMapping("logic")
    if ram.style == "logic":
        return MemoryMapping("logic")
    mappings: list[tuple[float, MemoryMapping]] = []
    if ram.style != "block":
        bits = ram.width * ram.depth
        mappings.append(
            (bits // library.table_bits if ram.read_only else bits, MemoryMapping("logic"))
        )
    if not ram.read_only and library.lut_bits:
        mappings.append(_as_luts(ram, library))
    # Yosys merges the register into a block; LUT RAM is cheaper where there is any.
    if ram.synchronous or (ram.registered and not library.lut_bits):
        mappings.append(min(_as_blocks(ram, library), key=lambda pair: pair[0]))
    lowest, best = mappings[0]
    for cost, mapping in mappings[1:]:
        # Yosys keeps the lowest cost as an integer, and selects mappings cheaper than that.
        if cost < int(lowest):
            lowest, best = cost, mapping
    return best


def _as_luts(ram: Ram, library: Library) -> tuple[float, MemoryMapping]:
    """Return cost and mapping in LUT RAM."""
    options = []
    for words, bits in library.lut_bits:
        deep = -(-ram.depth // words)
        units = deep * -(-ram.width // bits)
        muxed = (deep - 1) * ram.width
        left_over = deep * (-ram.width % bits) / bits
        cost = READ_COST + library.lut_cost * units - library.lut_width_cost * left_over
        cost += MUX_COST * muxed + (MUX_COST * deep if deep > 1 else 0)
        options.append((cost, MemoryMapping("lut", luts=units * library.lut_luts, muxed=muxed)))
    return min(options, key=lambda pair: pair[0])


def _as_blocks(ram: Ram, library: Library) -> Iterator[tuple[float, MemoryMapping]]:
    """Yield cost and mapping for every width of every mode."""
    for mode in library.blocks:
        for width_index, width in enumerate(mode.widths):
            if not ram.read_only and width < mode.write_width and mode.write_width > 1:
                continue
            deep = -(-ram.depth // (mode.words >> width_index))
            byte = min(library.byte, width) if not ram.read_only else 1
            units = -(-deep * -(-ram.width // byte) * byte // width)
            muxed = (deep - 1) * ram.width
            demux = 0 if ram.read_only or deep == 1 else deep
            cost = READ_COST + mode.cost * units + MUX_COST * (muxed + demux)
            if not (ram.read_only or ram.collision_free or library.old_word):
                cost += OLD_WORD_COST
            yield cost, MemoryMapping("block", parts=units * mode.parts, muxed=muxed)


BANKS_FOR: Final = "ecp5"
"""Family whose block RAMs determine the banks: the only one with banks so far."""

BANK_WORDS: Final = tuple(1 << bits for bits in range(14, 8, -1))
"""Numbers of words of a bank that is not the last one."""


@lru_cache(maxsize=4096)
def banks_of(width: int, depth: int) -> tuple[int, ...]:
    """Return the words of the banks that a deep read-only memory is best split into.

    Where synthesis would put a multiplexer between several blocks and the first register, banks let
    each block have a register of its own before it. They are in address order, each aligned to
    its size, and end at ``depth`` or after it: extra words are free in a block that is not full.
    They occupy the fewest blocks, and among those splits are the fewest banks.
    """
    if not _read_only(width, depth).muxed:
        return (depth,)
    options = [
        (words,) * (depth // words) + (banks_of(width, depth % words) if depth % words else ())
        for words in BANK_WORDS
        if words < depth and not _read_only(width, words).muxed
    ]
    filled = 1 << (depth - 1).bit_length()
    if not _read_only(width, filled).muxed:
        options.append((filled,))
    return min(options, key=lambda banks: (_parts(width, banks), len(banks), banks))


def _parts(width: int, banks: tuple[int, ...]) -> int:
    return sum(_read_only(width, words).parts for words in banks)


def _read_only(width: int, depth: int) -> MemoryMapping:
    return mapping_of(Ram(width, depth, read_only=True, synchronous=True), BANKS_FOR)
