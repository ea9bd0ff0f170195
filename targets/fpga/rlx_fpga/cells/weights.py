"""The memories of a weight matrix: their words, and the sizes that determine their cost."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx_fpga.cells.multiply import Packing, pack_factors
from rlx_fpga.cells.rom import (
    MAX_EQUAL_COLUMN_WORDS,
    CyclicRom,
    RomSizes,
    Store,
    banks,
    pack,
    signed_bits,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from rlx_fpga.cells.rom import Integers

    Bits = npt.NDArray[np.uint16]
    Extent = tuple[Bits, Bits]
    """Of some words the bits that are 1 in any, and those that are 1 in all."""

MAX_WORD_BITS: Final = 1024
"""Wider words of weights are split into several memories."""

_ONES: Final = np.array([value.bit_count() for value in range(1 << 9)], np.uint8)
"""Number of ones of each number of nine bits: of eight, and one that packed factors can need."""


def weight_bits(weights: Integers) -> int:
    """Return the minimum width that holds all weights: that of the memory and the products."""
    return signed_bits(int(weights.min()), int(weights.max()))


def stored_bits(weights: Integers, packing: Packing) -> int:
    """Return the width of a weight in memory; packed factors can be one below the minimum."""
    bits = weight_bits(weights)
    packed = packing is Packing.SHARED_OPERAND and int(weights.min()) == -1 << (bits - 1)
    return bits + packed


def together(bits: int, simd: int) -> int:
    """Return the outputs whose weights of ``bits`` bits share a memory."""
    return max(1, MAX_WORD_BITS // (bits * simd))


class WeightMemories:
    """The memories of ``weights``, in the order in which a folded unit reads them.

    Each word holds ``pe * simd`` weights; wide words are split between processing elements.
    ``sizes`` computes the sizes of ``roms`` for a folding without making their words: the bits that
    vary from word to word follow from those of parts of the words, shared between foldings.

    Args:
        weights: int8 [outputs, terms].
        split: Split wide words.
    """

    def __init__(self, weights: Integers, *, split: bool = True) -> None:
        self.weights, self._split = weights, split
        self._extents: dict[tuple[int, Packing, bool], Extent] = {}
        self._counted: dict[tuple[int, int, Packing], list[tuple[int, int]]] = {}
        self._sizes: dict[tuple[int, int, Packing, Store], Mapping[RomSizes, int]] = {}

    @cached_property
    def bits(self) -> dict[Packing, int]:
        """Width of a weight in memory, by the packing of products into multipliers."""
        return {packing: stored_bits(self.weights, packing) for packing in Packing}

    def roms(self, pe: int, simd: int, packing: Packing, store: Store) -> list[CyclicRom]:
        """Return the memories of a folding."""
        bits = self.bits[packing]
        parts = np.split(
            self._folded(pe, simd, packing), self._starts(pe, simd, packing)[1:-1], axis=1
        )
        return [
            CyclicRom(pack(part.reshape(len(part), -1), bits), bits * part.shape[1] * simd, store)
            for part in parts
        ]

    def sizes(self, pe: int, simd: int, packing: Packing, store: Store) -> Mapping[RomSizes, int]:
        """Return the number of memories of a folding by their sizes."""
        key = pe, simd, packing, store
        if key not in self._sizes:
            self._sizes[key] = Counter(self._search_sizes(*key))
        return self._sizes[key]

    def _search_sizes(
        self, pe: int, simd: int, packing: Packing, store: Store
    ) -> Iterator[RomSizes]:
        outputs, terms = self.weights.shape
        bits = self.bits[packing]
        depth = -(-outputs // pe) * (terms // simd)
        starts = self._starts(pe, simd, packing)
        widths = [bits * (end - start) * simd for start, end in pairwise(starts)]
        split = {width: banks(width, depth, store) for width in widths}
        banked = any(len(words) > 1 for words in split.values())
        if banked and (
            min(map(min, split.values())) <= MAX_EQUAL_COLUMN_WORDS
            or packing is Packing.SHARED_OPERAND
        ):
            # No device whose memories have banks shares slices so, and few end in a short bank.
            yield from (rom.sizes for rom in self.roms(pe, simd, packing, store))
            return
        counts = self._counts(pe, simd, packing)
        for memory_index, (width, (varying, distinct)) in enumerate(
            zip(widths, counts, strict=True)
        ):
            parts = (
                self._banks(memory_index, split[width], pe, simd) if len(split[width]) > 1 else ()
            )
            yield RomSizes(width, depth, varying, distinct, store, parts)

    def _counts(self, pe: int, simd: int, packing: Packing) -> list[tuple[int, int]]:
        """Return the varying and the distinct bits of each memory."""
        key = pe, simd, packing
        if key not in self._counted:
            outputs, terms = self.weights.shape
            depth, starts = -(-outputs // pe) * (terms // simd), self._starts(*key)
            if depth <= MAX_EQUAL_COLUMN_WORDS:
                words = _stored(self._folded(*key), self.bits[packing])
                self._counted[key] = _short(words, self.bits[packing], starts)
            else:
                varying = _varying(self._columns(0, depth, *key), starts)
                self._counted[key] = [(count, count) for count in varying]
        return self._counted[key]

    def _folded(self, pe: int, simd: int, packing: Packing) -> Integers:
        """Return the weights of each word, [depth, pe, simd]."""
        outputs, terms = self.weights.shape
        filled = np.pad(self.weights, ((0, -outputs % pe), (0, 0)))
        blocks = filled.reshape(-1, pe, terms // simd, simd).transpose(0, 2, 1, 3)
        folded = blocks.reshape(-1, pe, simd)
        return pack_factors(folded) if packing is Packing.SHARED_OPERAND else folded

    def _starts(self, pe: int, simd: int, packing: Packing) -> list[int]:
        """Return the first output of each memory, and the end of the last one."""
        step = together(self.bits[packing], simd) if self._split else pe
        return [*range(0, pe, step), pe]

    def _banks(
        self, memory_index: int, words: tuple[int, ...], pe: int, simd: int
    ) -> tuple[tuple[int, int, int], ...]:
        """Return words, varying and distinct bits of each bank of one memory."""
        key = pe, simd, Packing.NONE
        banks = []
        for end, count in zip(accumulate(words), words, strict=True):
            varying = _varying(self._columns(end - count, end, *key), self._starts(*key))[
                memory_index
            ]
            banks.append((count, varying, varying))
        return tuple(banks)

    def _columns(self, first: int, end: int, pe: int, simd: int, packing: Packing) -> Extent:
        """Return the extent of words ``first`` to ``end``, each bits [pe, simd].

        Words after the last one, and weights of no output, are 0.
        """
        group = self.weights.shape[1] // simd
        whole = range(-(-first // group), end // group)
        if packing is Packing.SHARED_OPERAND:
            columns = self._groups(whole, pe, simd, packing)
            for values, second in zip(
                columns, self._groups(whole, pe, simd, packing, second=True), strict=True
            ):
                # The last factor is not paired if their number is odd.
                values[1 : pe - pe % 2 : 2] = second[1 : pe - pe % 2 : 2]
            return columns
        parts = [self._groups(whole, pe, simd, packing)] if whole else []
        edges = (first, min(whole.start * group, end)), (max(whole.stop * group, first), end)
        parts += [
            self._part(start // group, start % group, stop - start, pe, simd)
            for start, stop in dict.fromkeys(edges)
            if start < stop
        ]
        some, every = zip(*parts, strict=True)
        return np.bitwise_or.reduce(some), np.bitwise_and.reduce(every)

    def _groups(
        self, groups: range, pe: int, simd: int, packing: Packing, *, second: bool = False
    ) -> Extent:
        """Return the extent of all words of some groups of ``pe`` outputs."""
        rows = groups.start * pe, groups.stop * pe
        extent = self._extent(simd, packing, second=second)
        some, every = (_filled(one, *rows, pe) for one in extent)
        return np.bitwise_or.reduce(some), np.bitwise_and.reduce(every)

    def _part(self, group: int, beat: int, beats: int, pe: int, simd: int) -> Extent:
        """Return the extent of some words of one group."""
        terms = slice(beat * simd, (beat + beats) * simd)
        rows = _stored(self.weights[:, terms], self.bits[Packing.NONE])
        (mine,) = _filled(rows, group * pe, (group + 1) * pe, pe)
        return _over_words(mine, simd)

    def _extent(self, simd: int, packing: Packing, *, second: bool) -> Extent:
        """Return the extent of the words of each output, [outputs, simd].

        Args:
            simd: Terms of a word.
            packing: Sharing of multipliers by products.
            second: As outputs are stored if each is the second of a pair with the one before it;
                there is one more then, of zeros.
        """
        key = simd, packing, second
        if key not in self._extents:
            rows = self.weights.astype(np.int16)
            if second:
                rows = np.pad(rows, ((1, 1), (0, 0)))
                rows = rows[1:] - (rows[:-1] < 0)
            self._extents[key] = _over_words(_stored(rows, self.bits[packing]), simd)
        return self._extents[key]


def _stored(weights: Integers, bits: int) -> Bits:
    """Return the stored form of weights: ``bits`` bits in two's complement."""
    return weights.astype(np.uint16) & np.uint16((1 << bits) - 1)


def _over_words(rows: Bits, simd: int) -> Extent:
    """Return the extent of the words of each row, [rows, simd]."""
    words = rows.reshape(len(rows), -1, simd)
    return np.bitwise_or.reduce(words, axis=1), np.bitwise_and.reduce(words, axis=1)


def _filled(rows: Bits, first: int, end: int, pe: int) -> Bits:
    """Return rows ``first`` to ``end`` in groups of ``pe``, zeros after the last one."""
    found = rows[first:end]
    missing = end - first - len(found)
    if missing:
        found = np.pad(found, ((0, missing), (0, 0)))
    return found.reshape(-1, pe, rows.shape[1])


def _varying(columns: Extent, starts: list[int]) -> list[int]:
    """Return the number of bits that vary in each memory, whose first outputs are ``starts``."""
    some, every = columns
    ones = _ONES[some & ~every].sum(axis=1, dtype=np.int64)
    return [int(ones[start:end].sum()) for start, end in pairwise(starts)]


def _short(words: Bits, bits: int, starts: list[int]) -> list[tuple[int, int]]:
    """Return varying and distinct bits of short memories, as ``distinct_bits`` counts them.

    Args:
        words: [depth, pe, simd]; at most ``MAX_EQUAL_COLUMN_WORDS`` words.
        bits: Bits of a weight.
        starts: First output of each memory, and the end of the last one.
    """
    depth, pe, _ = words.shape
    each = np.unpackbits(words.astype("<u2").view(np.uint8), axis=-1, bitorder="little")
    columns = each.reshape(depth, pe, -1, 16)[..., :bits]
    # A column is a byte; those of only zeros or only ones do not vary.
    patterns = np.packbits(columns, axis=0, bitorder="little")[0].reshape(pe, -1)
    varies = ((patterns != 0) & (patterns != (1 << depth) - 1)).sum(axis=1)
    counts = []
    for start, end in pairwise(starts):
        occurs = np.bincount(patterns[start:end].ravel(), minlength=1 << depth) > 0
        distinct = int(occurs[1 : (1 << depth) - 1].sum())
        counts.append((int(varies[start:end].sum()), distinct))
    return counts
