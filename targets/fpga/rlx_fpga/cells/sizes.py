"""Sizes that are valid in Verilog: signals of at least one bit, memories of at least two words.

A counter with one value needs no bits, and a memory of one word no address. But a zero-width wire
is written as ``[-1:0]``, which is two bits, and tools reject it or drop the logic that reads it.
"""

from __future__ import annotations

from amaranth import Signal


def index_signal(count: int, *, name: str | None = None, init: int = 0) -> Signal:
    """Return a signal for the values 0 .. ``count - 1``, named after its variable."""
    return Signal(range(max(2, count)), name=name, init=init, src_loc_at=1)


def depth_of(words: int) -> int:
    """Return the depth of a memory for ``words`` words; extra words are never read."""
    return max(2, words)
