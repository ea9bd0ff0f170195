"""Text of C initializers: values in wrapped lines, vectorized for tables of millions."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from rlx.ir import Array

MAX_COLUMNS: Final = 100
"""Longest line of emitted C."""

_BLOCK_NUMBERS: Final = 1 << 16
"""Numbers that are formatted together."""

_MIN_ARRAY_WORDS: Final = 2048
"""Words from which on an array of letters is faster than joining words."""

_INDENT: Final = "  "
_TEXT_COLUMNS: Final = MAX_COLUMNS - len(_INDENT)


def c_array(data: Array) -> str:
    """Return the elements of a C initializer, wrapped; rows of a matrix in braces of their own.

    Args:
        data: Integers [n] or [n, k].
    """
    filled, parts = 0, []
    for block in _blocks(data):
        starts, filled = _line_starts(block.lengths, filled)
        parts.append(block.text(starts))
    # Every line begins with a line feed, and every word ends with a comma.
    return "".join(parts)[1:-1]


class _Block:
    """Sequence of words without spaces, as indices into the distinct ones."""

    def __init__(self, words: list[str], indices: npt.NDArray[np.intp]) -> None:
        self._indices = indices
        self._words = words
        self.lengths = np.array([len(w) for w in words], np.int64)[indices]

    def text(self, starts: list[int]) -> str:
        """Return the words, each after a space or, at ``starts``, on a new line."""
        if len(self._indices) < _MIN_ARRAY_WORDS:
            return self._short_text(starts)
        spaced = [f" {w}" for w in self._words] + [f"\n{_INDENT}{w}" for w in self._words]
        longest = max(map(len, spaced))
        letters = np.array(spaced, f"S{longest}").view(np.uint8).reshape(len(spaced), longest)
        word_indices = self._indices.copy()
        word_indices[starts] += len(self._words)
        rows: npt.NDArray[np.uint8] = letters[word_indices]
        return str(rows[rows != 0].tobytes(), "ascii")

    def _short_text(self, starts: list[int]) -> str:
        """Return the same, word by word, without a table of letters."""
        spaced = [f" {self._words[i]}" for i in self._indices.tolist()]
        for start in starts:
            spaced[start] = f"\n{_INDENT}{spaced[start][1:]}"
        return "".join(spaced)


def _blocks(data: Array) -> Iterator[_Block]:
    """Yield the words of all elements; the last is as long as without its comma."""
    rows = max(_BLOCK_NUMBERS // max(data[:1].size, 1), 1)
    for start in range(0, len(data), rows):
        part = data[start : start + rows]
        block = _numbers(part) if data.ndim == 1 else _matrix(part)
        if start + rows >= len(data):
            block.lengths[-1] -= 1
        yield block


def _numbers(data: Array) -> _Block:
    low, high = int(data.min()), int(data.max())
    if high - low < _BLOCK_NUMBERS:
        words = [f"{v}," for v in range(low, high + 1)]
        return _Block(words, data.astype(np.intp) - low)
    distinct, places = np.unique(data, return_inverse=True)
    return _Block([f"{v}," for v in distinct.tolist()], places)


def _matrix(data: Array) -> _Block:
    words = []
    for row in data.tolist():
        first, *rest = (f"{v}," for v in row)
        words += [f"{{{first}", *rest]
        words[-1] = f"{words[-1][:-1]}}},"
    return _Block(words, np.arange(len(words)))


def _line_starts(lengths: npt.NDArray[np.int64], filled: int) -> tuple[list[int], int]:
    """Return the indices of words that begin a line, and the filled columns of the last line.

    Args:
        lengths: Lengths of the words.
        filled: Columns in use of the line before them; 0 without one.
    """
    ends = [0, *np.cumsum(lengths + 1).tolist()]
    count = len(lengths)
    # The separator before a word needs a column, which ``ends`` counts after each word.
    start = bisect_right(ends, _TEXT_COLUMNS - filled) - 1 if filled else 0
    starts = []
    line = -filled
    while start < count:
        starts.append(start)
        line = ends[start] + 1
        start = bisect_right(ends, ends[start] + _TEXT_COLUMNS + 1, start) - 1
    return starts, ends[count] - line
