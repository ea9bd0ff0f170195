"""What a memory becomes: block memories, lookup tables as memory, or logic.

Yosys takes what costs least by its own measure (``memory_libmap`` of version 0.70, with the
libraries of each family): so much for each block, half for each bit that a multiplexer behind
several blocks chooses, and for each bit of a read-only memory that becomes logic one over the bits
of a lookup table. The same arithmetic here gives the same number of blocks, and tells how
a deep read-only memory is best cut into banks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MUX_COST: Final = 0.5


@dataclass(frozen=True, slots=True)
class Ram:
    """A memory.

    Attributes:
        width: Bits of a word that differ from word to word, if it is read-only; else all.
        depth: Words.
        read_only: It has no write port.
        synchronous: Its read ports have registers.
        style: Where the netlist says that it goes (``block``, ``logic``), or an empty text.
        apart: No word is read while it is written; see :mod:`rlx_fpga.cells.ram`.
        registered: What is read without a clock goes into a register, and nowhere else.
        distinct: Of a read-only memory: bits of a word that differ from each other too.
    """

    width: int
    depth: int
    read_only: bool
    synchronous: bool
    style: str = ""
    apart: bool = False
    distinct: int = 0
    registered: bool = False

    @property
    def bits(self) -> int:
        """Bits of a word that are kept if it becomes logic, where synthesis merges equal ones."""
        return self.distinct if self.read_only else self.width


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to use a block.

    Attributes:
        words: Words of the least width.
        widths: Bits of a word; each is two times as many as the one before, parity apart.
        cost: Of a block, by Yosys's measure.
        parts: Parts of a block that it takes (a half block is one of two).
        write_width: Least width of a port that writes.
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
        blocks: Modes of its block memories.
        byte: Bits that are written together, in wide modes.
        parts: Parts that a block has.
        lut_bits: Bits of a lookup table that serves as memory, as words and bits of a word.
        lut_cost: Cost of as much of it as ``lut_bits`` tells.
        lut_luts: Lookup tables that it takes.
        lut_width_cost: What of ``lut_cost`` is for the width, and less where a part is left over.
        shared_cost: Cost of a block that is written, where it does not read the old word by itself
            and might have to.
        table_bits: Bits of a read-only memory that cost as much as one bit of another.
    """

    blocks: tuple[Mode, ...]
    byte: int
    parts: int
    lut_bits: tuple[tuple[int, int], ...]
    lut_cost: float
    lut_luts: int
    table_bits: int
    shared_cost: float = 0
    lut_width_cost: float = 0


_XILINX = Library(
    (
        Mode(1 << 14, (1, 2, 4, 9, 18), 129),
        Mode(1 << 15, (1, 2, 4, 9, 18, 36), 257, 2),
        Mode(1 << 14, (1, 2, 4, 9, 18, 36), 129, 1, 36),
        Mode(1 << 15, (1, 2, 4, 9, 18, 36, 72), 257, 2, 72),
    ),
    byte=9, parts=2, lut_bits=((32, 6), (64, 3)), lut_cost=8, lut_luts=4,
    table_bits=64, lut_width_cost=7,
)  # fmt: skip
LIBRARIES: Final = {
    "ecp5": Library(
        (Mode(1 << 14, (1, 2, 4, 9, 18), 128), Mode(1 << 14, (1, 2, 4, 9, 18, 36), 128, 1, 36)),
        byte=9, parts=1, lut_bits=((16, 4),), lut_cost=4, lut_luts=6,
        table_bits=16, shared_cost=6,
    ),
    "ice40": Library(
        (Mode(1 << 11, (2, 4, 8, 16), 64),),
        byte=1, parts=1, lut_bits=(), lut_cost=0, lut_luts=0,
        table_bits=16, shared_cost=6,
    ),
    "xc7": _XILINX,
    "xcup": _XILINX,
}  # fmt: skip
"""Libraries by family."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a memory goes.

    Attributes:
        kind: ``block``, ``lut`` or ``logic``.
        parts: Parts of blocks, if there are any.
        luts: Lookup tables that serve as memory.
        muxed: Bits of the multiplexers behind several blocks.
    """

    kind: str
    parts: int = 0
    luts: int = 0
    muxed: int = 0


@lru_cache(maxsize=4096)
def place_of(ram: Ram, family: str) -> Place:
    """Return where Yosys puts ``ram`` for a device of ``family``."""
    library = LIBRARIES[family]
    if ram.width == 0:
        return Place("logic")
    if ram.style == "logic":
        return Place("logic")
    found: list[tuple[float, Place]] = []
    if ram.style != "block":
        bits = ram.width * ram.depth
        found.append((bits // library.table_bits if ram.read_only else bits, Place("logic")))
    if not ram.read_only and library.lut_bits:
        found.append(_as_luts(ram, library))
    # Yosys draws the register into a block; lookup tables as memory cost less where there are any.
    if ram.synchronous or (ram.registered and not library.lut_bits):
        found.append(min(_as_blocks(ram, library), key=lambda pair: pair[0]))
    return min(found, key=lambda pair: pair[0])[1]


def _as_luts(ram: Ram, library: Library) -> tuple[float, Place]:
    """Return cost and place in lookup tables that serve as memory."""
    options = []
    for words, bits in library.lut_bits:
        deep = -(-ram.depth // words)
        units = deep * -(-ram.width // bits)
        muxed = (deep - 1) * ram.width
        left_over = deep * (-ram.width % bits) / bits
        cost = library.lut_cost * units - library.lut_width_cost * left_over
        cost += MUX_COST * muxed + (MUX_COST * deep if deep > 1 else 0)
        options.append((cost, Place("lut", luts=units * library.lut_luts, muxed=muxed)))
    return min(options, key=lambda pair: pair[0])


def _as_blocks(ram: Ram, library: Library) -> Iterator[tuple[float, Place]]:
    """Yield cost and place for every width of every mode."""
    for mode in library.blocks:
        for place, width in enumerate(mode.widths):
            if not ram.read_only and width < mode.write_width and mode.write_width > 1:
                continue
            deep = -(-ram.depth // (mode.words >> place))
            byte = min(library.byte, width) if not ram.read_only else 1
            units = -(-deep * -(-ram.width // byte) * byte // width)
            muxed = (deep - 1) * ram.width
            demux = 0 if ram.read_only or deep == 1 else deep
            cost = mode.cost * units + MUX_COST * (muxed + demux)
            cost += 0 if ram.read_only or ram.apart else library.shared_cost
            yield cost, Place("block", parts=units * mode.parts, muxed=muxed)


BANKS_FOR: Final = "ecp5"
"""Family whose block memories tell the banks: the only one with banks so far."""

BANK_WORDS: Final = tuple(1 << bits for bits in range(14, 8, -1))
"""Words that a bank may have if it is not the last one."""


@lru_cache(maxsize=4096)
def banks_of(width: int, depth: int) -> tuple[int, ...]:
    """Return the words of the banks that a deep read-only memory is best made of.

    Where synthesis would put a multiplexer between several blocks and the first register, banks fit
    into blocks side by side, so that each can have a register of its own in front of that. They
    come in order of their addresses, each at a multiple of its words, and end at ``depth`` or
    behind it: words too many are for nothing in a block that is not full. They take the fewest
    blocks, and are the fewest of those.
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


def _read_only(width: int, depth: int) -> Place:
    return place_of(Ram(width, depth, read_only=True, synchronous=True), BANKS_FOR)
