"""Geometry of a sliding window: which pixels it needs and when, buffer size, and cycles.

Words are numbered from the first word of the first frame: pixel (h, w) of a frame begins at word
``(h * width + w) * blocks``, where ``blocks = channels / lanes``.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

Pair = tuple[int, int]


@dataclass(frozen=True)
class Geometry:
    """A sliding window over an image.

    Attributes:
        height: Rows of the image.
        width: Columns of the image.
        blocks: Words of a pixel.
        kernel: Rows and columns of the window.
        stride: Step down and step right.
        dilation: Distance of the window's rows and of its columns.
        padding: Rows added above and below, columns added left and right.

    Raises:
        ValueError: If a value is out of range, or the window does not fit into the padded image.
    """

    height: int
    width: int
    blocks: int
    kernel: Pair
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0))

    def __post_init__(self) -> None:
        positive = (
            self.height,
            self.width,
            self.blocks,
            *self.kernel,
            *self.stride,
            *self.dilation,
        )
        if min(positive) < 1 or min(*self.padding[0], *self.padding[1]) < 0:
            msg = f"expected sizes of at least 1 and padding of at least 0, got {self}"
            raise ValueError(msg)
        if self.out_height < 1 or self.out_width < 1:
            msg = (
                f"a window of {self.span[0]} x {self.span[1]} does not fit into the padded image "
                f"of {self.padded[0]} x {self.padded[1]}"
            )
            raise ValueError(msg)

    @property
    def span(self) -> Pair:
        """Rows and columns that the dilated window covers."""
        return (
            (self.kernel[0] - 1) * self.dilation[0] + 1,
            (self.kernel[1] - 1) * self.dilation[1] + 1,
        )

    @property
    def padded(self) -> Pair:
        """Rows and columns of the padded image."""
        return (self.height + sum(self.padding[0]), self.width + sum(self.padding[1]))

    @property
    def is_padded(self) -> bool:
        """Whether there is padding."""
        return self.padded != (self.height, self.width)

    @property
    def out_height(self) -> int:
        """Rows of output pixels."""
        return (self.padded[0] - self.span[0]) // self.stride[0] + 1

    @property
    def out_width(self) -> int:
        """Columns of output pixels."""
        return (self.padded[1] - self.span[1]) // self.stride[1] + 1

    @property
    def taps(self) -> int:
        """Positions in the window."""
        return self.kernel[0] * self.kernel[1]

    @property
    def words(self) -> int:
        """Words of a frame."""
        return self.height * self.width * self.blocks

    @cached_property
    def first_row(self) -> list[int]:
        """For each output row, the first image row that it needs."""
        return _clipped(self.out_height, self.stride[0], -self.padding[0][0], self.height)

    @cached_property
    def last_row(self) -> list[int]:
        """For each output row, the last image row that it needs."""
        offset = self.span[0] - 1 - self.padding[0][0]
        return _clipped(self.out_height, self.stride[0], offset, self.height)

    @cached_property
    def first_column(self) -> list[int]:
        """For each output column, the first image column that it needs."""
        return _clipped(self.out_width, self.stride[1], -self.padding[1][0], self.width)

    @cached_property
    def last_column(self) -> list[int]:
        """For each output column, the last image column that it needs."""
        offset = self.span[1] - 1 - self.padding[1][0]
        return _clipped(self.out_width, self.stride[1], offset, self.width)

    @cached_property
    def row_release(self) -> list[int]:
        """For each output row, the image rows that no later output row needs."""
        following = [*self.first_row[1:], self.height]
        return [after - now for now, after in zip(self.first_row, following, strict=True)]

    @cached_property
    def needed(self) -> list[int]:
        """For each output pixel, the number of words that must be written before it starts."""
        return [
            (row * self.width + column + 1) * self.blocks
            for row in self.last_row
            for column in self.last_column
        ]

    @cached_property
    def released(self) -> list[int]:
        """For each output pixel, the number of words released after it; at the end, all of them.

        Within a row, pixels left of the window are released unless the next output row begins with
        the same image row, as it does in the padding above the image.
        """
        result = []
        for row, rows in zip(self.first_row, self.row_release, strict=True):
            columns = [
                (row * self.width + (column if rows else 0)) * self.blocks
                for column in self.first_column[1:]
            ]
            result += [*columns, (row + rows) * self.width * self.blocks]
        return result

    @cached_property
    def depth(self) -> int:
        """Words of the line buffer: enough to never stall a reader that could continue.

        While a pixel is read, all words that the next one needs can be written. And an input at a
        constant rate is never stalled by an equally fast reader that skips rows.
        """
        following = [*self.needed[1:], self.words + self.needed[0]]
        before = [0, *self.released[:-1]]
        ahead = max(need - free for need, free in zip(following, before, strict=True))
        late = self._max_lag(self.needed)
        kept = -self._min_lag(before, 1)
        return max(ahead, math.ceil((late + kept) * self.words))

    def _max_lag(self, words: list[int]) -> Fraction:
        """Return the maximum by which the share of the input exceeds the share of the output.

        Args:
            words: Words of input, for each number of output pixels produced so far.
        """
        pixels, whole = self.out_height * self.out_width, self.words
        lag = max(count * pixels - pixel * whole for pixel, count in enumerate(words))
        return Fraction(lag, whole * pixels)

    def _min_lag(self, words: list[int], extra: int) -> Fraction:
        """Return the minimum of the same, with ``extra`` more pixels at the output."""
        pixels, whole = self.out_height * self.out_width, self.words
        lag = min(count * pixels - pixel * whole for pixel, count in enumerate(words, extra))
        return Fraction(lag, whole * pixels)

    @cached_property
    def hold(self) -> Fraction:
        """Maximum part of a frame that can have been accepted beyond the share produced."""
        before = [0, *self.released[:-1]]
        return self._max_lag([free + self.depth for free in before])

    @cached_property
    def lead(self) -> Fraction:
        """Maximum part of a frame that can have been produced beyond the share accepted."""
        return -self._min_lag(self.needed, 1)

    @cached_property
    def jitter(self) -> Fraction:
        """Deviation of the output from a constant rate, in frames, with constant input."""
        return self._max_lag(self.needed) + self.lead

    def cycles_per_frame(self, reads: int) -> int:
        """Return the initiation interval if neither input nor output ever waits.

        Args:
            reads: Words read for one output pixel.
        """
        if reads not in self._cycles:
            *_, before, last = self._frame_ends(reads, 4)
            self._cycles[reads] = last - before
        return self._cycles[reads]

    @cached_property
    def _cycles(self) -> dict[int, int]:
        """Initiation intervals found so far, by the words read for an output pixel."""
        return {}

    def _frame_ends(self, reads: int, frames: int) -> list[int]:
        """Simulate the buffer at pixel level and return when each frame has been read.

        A word can be written one cycle after the one before it, and when the word ``depth`` places
        before it has been released. A pixel starts a cycle after its last word was written, and
        when the pixel before it is done.
        """
        end = free = need = 0
        words, depth = self.words, self.depth
        lead = -1  # word n is written in cycle n + lead, or later
        waiting: deque[Pair] = deque()  # first word that a release permits, cycle of the release
        ends = []
        for begin in range(0, frames * words, words):
            for needed, released in zip(self.needed, self.released, strict=True):
                # Comparisons instead of max: this loop is a large part of the time of an estimate.
                if begin + needed > need:
                    need = begin + needed
                while waiting and waiting[0][0] <= need:
                    word, cycle = waiting.popleft()
                    if cycle - word > lead:
                        lead = cycle - word
                begun = need + lead + 1
                end = (begun if begun > end else end) + reads
                waiting.append((depth + free + 1, end))
                free = begin + released
            ends.append(end)
        return ends


@lru_cache(maxsize=128)
def geometry_of(
    height: int,
    width: int,
    blocks: int,
    kernel: Pair,
    stride: Pair = (1, 1),
    dilation: Pair = (1, 1),
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0)),
) -> Geometry:
    """Return a geometry from a cache: its figures are computed once."""
    return Geometry(height, width, blocks, kernel, stride, dilation, padding)


def _clipped(count: int, step: int, offset: int, limit: int) -> list[int]:
    """Return ``count`` positions at a distance of ``step``, clipped to the image."""
    return [min(max(index * step + offset, 0), limit - 1) for index in range(count)]
