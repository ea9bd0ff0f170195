"""Bit fields: the packing of instructions and constants into words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx_fpga.cells.rom import signed_bits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from amaranth.hdl import Value


class Fields:
    """A layout with the minimum widths for ``rows``.

    Attributes:
        words: The rows, packed.
        width: Bits of a word.
    """

    def __init__(self, rows: Sequence[Mapping[str, int]]) -> None:
        self._places: dict[str, tuple[int, int, bool]] = {}
        self.width = 0
        for name in rows[0]:
            values = [row[name] for row in rows]
            is_signed = min(values) < 0
            size = signed_bits(min(values), max(values)) - (not is_signed)
            self._places[name] = (self.width, max(size, 1), is_signed)
            self.width += max(size, 1)
        self.words = [self._pack(row) for row in rows]

    def get(self, word: Value, name: str) -> Value:
        """Return a field of a word."""
        start, size, is_signed = self._places[name]
        part = word[start : start + size]
        return part.as_signed() if is_signed else part

    def size(self, name: str) -> int:
        """Return the bits of a field."""
        return self._places[name][1]

    def _pack(self, row: Mapping[str, int]) -> int:
        word = 0
        for name, (start, size, _) in self._places.items():
            word |= (row[name] & ((1 << size) - 1)) << start
        return word
