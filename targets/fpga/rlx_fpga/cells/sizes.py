"""Sizes that Verilog can hold: signals of at least one bit, memories of at least two words.

What counts to one needs no bits, and one word needs no address. But a wire of no bits is written
as ``[-1:0]``, which is two, and tools refuse it or drop what depends on it.
"""

from __future__ import annotations

from amaranth import Signal


def index_signal(count: int, *, name: str | None = None, init: int = 0) -> Signal:
    """Return a signal for the numbers 0 .. ``count - 1``, named as what it is assigned to."""
    return Signal(range(max(2, count)), name=name, init=init, src_loc_at=1)


def depth_of(words: int) -> int:
    """Return the depth of a memory for so many words; what is beyond them is never read."""
    return max(2, words)
