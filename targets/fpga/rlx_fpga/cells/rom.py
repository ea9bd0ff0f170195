"""Read-only memories that are read cyclically: weights, biases, multipliers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from amaranth import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.pipe import register
from rlx_fpga.cells.streams import Part
from rlx_fpga.cost.logic import Logic
from rlx_fpga.cost.memories import Ram, banks_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    from amaranth.hdl import Value

    Integers = npt.NDArray[np.integer[Any]]


MAX_EQUAL_COLUMN_WORDS = 8
"""Maximum words of a memory whose bit columns are often equal."""


class Store(Enum):
    """Ways to store constant words."""

    FREE = "free"
    """As synthesis decides."""
    BANKS = "banks"
    """As synthesis decides, with a register after each of several block RAMs."""
    TABLES = "tables"
    """In LUTs, for any size."""

    @property
    def style(self) -> str:
        """Value of the synthesis attribute; empty if synthesis decides."""
        return "logic" if self is Store.TABLES else ""


STORES: Final[Mapping[str, Store]] = {
    "ecp5": Store.BANKS,
    "ice40": Store.FREE,
    "xc7": Store.FREE,
    "xcup": Store.FREE,
}
"""Storage of weights in each family.

ECP5's block RAMs have an access time of 5.6 ns without their output registers, which Yosys does not
use: half of a clock period at 100 MHz. Elsewhere the gain was not measured.
"""


BANK = "bank_"
"""Prefix of the names of banks, before their index."""


MAX_ARRAY_BITS = 62
"""Maximum bits of words that are packed with NumPy."""


MAX_RIPPLE_WORDS = 256
"""Maximum words of a memory, or of a bank, with an address counter without a carry chain.

If its address feeds no carry chain, Yosys maps a memory that becomes logic to a quarter of the LUTs
on devices with 6-input LUTs, and to somewhat fewer with 4-input LUTs.
"""


@dataclass(frozen=True, slots=True)
class RomSizes:
    """Sizes that decide the cost of a cyclic memory.

    Attributes:
        width: Bits of a word.
        depth: Words.
        varying: Bits that are not the same in all words.
        distinct: Those of them that also differ from each other.
        store: Storage of the words.
        banks: Of several banks, words, varying and distinct bits of each.
    """

    width: int
    depth: int
    varying: int
    distinct: int
    store: Store = Store.FREE
    banks: tuple[tuple[int, int, int], ...] = ()

    @property
    def constant(self) -> bool:
        """Whether all words are equal."""
        return not self.varying

    @property
    def bits(self) -> int:
        """Bits of all words; 0 if they are equal."""
        return 0 if self.constant else self.width * self.depth

    @property
    def logic(self) -> Logic:
        """Address counter and memories; registers and a multiplexer after banks."""
        if self.constant:
            return Logic()
        words = banks(self.width, self.depth, self.store)
        address_bits, count = (self.depth - 1).bit_length(), len(words)
        sizes = self.banks or [(depth, self.varying, self.distinct) for depth in words]
        rams = tuple(self._ram(*bank) for bank in sizes if bank[0] > 1)
        if min(words) > MAX_RIPPLE_WORDS:
            logic = Logic(address_bits, add=address_bits, test=4 + address_bits, memories=rams)
        else:
            # A bit of the address changes when all below it are 1.
            logic = Logic(
                address_bits,
                test=4 + 2 * address_bits + address_bits * (address_bits - 1) / 2,
                memories=rams,
            )
        if count == 1:
            return logic
        choice = count.bit_length()
        return logic + Logic(
            register=count * self.width + 2 * choice,
            test=4 + 3 * choice + 2 * count,
            mux=(count - 1) * self.width,
        )

    def _ram(self, depth: int, varying: int, distinct: int) -> Ram:
        return Ram(
            varying,
            depth,
            read_only=True,
            synchronous=True,
            style=self.store.style,
            distinct=distinct,
        )


class CyclicRom(Part):
    """A read-only memory whose words are read one after the other, cyclically.

    If all words are equal it is only a constant, without ``step``.

    Members:
        step: In, 1 bit: output the next word from the next cycle on.
        data: Out, ``width`` bits: after the n-th step, word ``(n - 1) %`` number of words.

    Latency 1, initiation interval 1: synchronous read, as block RAM needs it. Where several block
    RAMs would need a multiplexer before the first register, a deep memory can be split into
    banks, each followed by a register of its own. Words are read one step ahead, since their order
    is known, so this adds no latency.

    Args:
        words: Words, in order.
        width: Bits of a word.
        store: Storage of the words.

    Attributes:
        banks: Words of each memory, in address order; see :func:`banks`.
    """

    def __init__(self, words: Sequence[int], width: int, store: Store = Store.FREE) -> None:
        self.words = list(words)
        self.store = store
        self.width = width
        self.constant = all(word == self.words[0] for word in self.words)
        self.banks = banks(width, len(self.words), store)
        self.adds = min(self.banks) > MAX_RIPPLE_WORDS
        self.memory_bits = 0 if self.constant else len(self.words) * width
        super().__init__(lambda: {"step": In(1), "data": Out(unsigned(width))})

    @cached_property
    def banked(self) -> list[Sequence[int]]:
        """The words of each bank; the last is padded with zeros."""
        words = self.words + [0] * (sum(self.banks) - len(self.words))
        return [
            words[end - n : end] for n, end in zip(self.banks, accumulate(self.banks), strict=True)
        ]

    @cached_property
    def sizes(self) -> RomSizes:
        """Sizes that decide its cost."""
        return RomSizes(
            self.width,
            len(self.words),
            varying_bits(self.words, self.width),
            distinct_bits(self.words, self.width),
            self.store,
            tuple(self._bank_sizes(words) for words in self.banked if len(self.banks) > 1),
        )

    def _bank_sizes(self, words: Sequence[int]) -> tuple[int, int, int]:
        varying = varying_bits(words, self.width)
        return len(words), varying, distinct_bits(words, self.width)

    @property
    def logic(self) -> Logic:
        """Address counter and memories."""
        return self.sizes.logic

    def elaborate(self, platform: object) -> Module:
        """Build memories and address counter."""
        del platform
        m = Module()
        if self.constant:
            m.d.comb += self.data.eq(Const(self.words[0], unsigned(self.width)))
            return m
        if len(self.banks) == 1:
            address = self._address(m, first=0)
            m.submodules.memory = self._memory(self.banked[0], address, self.data)
        else:
            self._add_banks(m, self._address(m, first=1))
        return m

    def _address(self, m: Module, first: int) -> Signal:
        """Return an address that advances with each step and wraps around."""
        depth = len(self.words)
        address = Signal(range(depth), init=first)
        following = address + 1 if self.adds else _successor(address)
        with m.If(self.step):
            m.d.sync += address.eq(Mux(address == depth - 1, 0, following))
        return address

    def _memory(self, words: Sequence[int], address: Value, data: Value) -> Memory:
        """Return a memory that outputs the word at ``address`` from the next step on."""
        memory = Memory(
            shape=unsigned(self.width),
            depth=len(words),
            init=words,
            attrs={"rom_style": self.store.style} if self.store.style else None,
        )
        read = memory.read_port()
        # Signals of the port would hide the names of these in the netlist.
        read.addr, read.en, read.data = address, self.step, data
        return memory

    def _add_banks(self, m: Module, address: Signal) -> None:
        """Build the banks, a register after each, and the multiplexer after these.

        ``address`` is one word ahead: a step reads that word and moves the one read before to the
        register of its bank. After the first step no register is loaded yet: the first word is a
        constant.
        """
        choices = range(len(self.banks) + 1)
        reading = Signal(choices)
        holding = Signal(choices)
        read = [self._bank(m, bank, words, address) for bank, words in enumerate(self.banked)]
        bank_words = [
            register(m, self.step, value, f"held_{bank}") for bank, value in enumerate(read)
        ]
        with m.If(self.step):
            m.d.sync += [holding.eq(reading), reading.eq(1 + _bank_of(address, self.banks))]
        m.d.comb += self.data.eq(bank_words[-1])
        with m.Switch(holding):
            with m.Case(0):
                m.d.comb += self.data.eq(self.words[0])
            for bank, value in enumerate(bank_words[:-1]):
                with m.Case(1 + bank):
                    m.d.comb += self.data.eq(value)

    def _bank(self, m: Module, bank: int, words: Sequence[int], address: Signal) -> Value:
        """Return the word read from a bank; a constant if it has only one word."""
        if len(words) == 1:
            return Const(words[0], unsigned(self.width))
        read = Signal(self.width, name=f"read_{bank}")
        place = address[: (len(words) - 1).bit_length()]
        m.submodules[f"{BANK}{bank}"] = self._memory(words, place, read)
        return read


def _successor(value: Value) -> Value:
    """Return ``value + 1`` without a carry chain: a bit changes when all below it are 1."""
    return Cat(bit ^ value[:place].all() for place, bit in enumerate(value))


def banks(width: int, depth: int, store: Store) -> tuple[int, ...]:
    """Return the number of words of each memory that ``depth`` words are stored in."""
    return banks_of(width, depth) if store is Store.BANKS else (depth,)


def _bank_of(address: Value, banks: Sequence[int]) -> Value:
    """Return the index of the bank, among ``banks``, that holds the word at ``address``."""
    found: Value = Const(len(banks) - 1)
    for bank, end in reversed([*enumerate(accumulate(banks[:-1]))]):
        # Its addresses share a prefix: its size is a power of two, and it is aligned to that.
        lower = (banks[bank] - 1).bit_length()
        found = Mux(address[lower:] == (end >> lower) - 1, bank, found)
    return found


def varying_bits(words: Sequence[int], width: int) -> int:
    """Return the number of bits, among ``width``, that are not the same in all words."""
    some, every = 0, (1 << width) - 1
    for word in words:
        some, every = some | word, every & word
    some &= (1 << width) - 1
    return (some & ~every).bit_count()


def distinct_bits(words: Sequence[int], width: int) -> int:
    """Return the number of bits that differ from word to word, equal columns counted once.

    Columns are equal by chance only in short memories; in others every bit counts.
    """
    if len(words) > MAX_EQUAL_COLUMN_WORDS:
        return varying_bits(words, width)
    size = -(-width // 8)
    mask = (1 << width) - 1
    rows = b"".join((word & mask).to_bytes(size, "little") for word in words)
    table = np.frombuffer(rows, np.uint8).reshape(len(words), size)
    bits = np.unpackbits(table, axis=1, bitorder="little")[:, :width]
    # A column is a byte; those of only zeros or only ones do not vary.
    columns = np.unique(np.packbits(bits, axis=0, bitorder="little"))
    return int(((columns != 0) & (columns != (1 << len(words)) - 1)).sum())


def pack(rows: Integers, width: int) -> list[int]:
    """Return each row of integers [depth, n] as one word, column 0 in the lowest ``width`` bits."""
    if width * rows.shape[1] <= MAX_ARRAY_BITS:
        shifts = np.arange(rows.shape[1], dtype=np.int64) * width
        parts = (rows.astype(np.int64) & (1 << width) - 1) << shifts
        words: list[int] = parts.sum(axis=1).tolist()
        return words
    if width == 8:
        return [int.from_bytes(row.tobytes(), "little") for row in rows.astype(np.int8)]
    bits = np.unpackbits(rows.astype("<i8")[..., None].view(np.uint8), axis=-1, bitorder="little")
    packed = np.packbits(bits[..., :width].reshape(len(rows), -1), axis=-1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def signed_bits(*numbers: int) -> int:
    """Return the number of bits of two's complement that hold all ``numbers``."""
    return max((n if n >= 0 else ~n).bit_length() for n in numbers) + 1
