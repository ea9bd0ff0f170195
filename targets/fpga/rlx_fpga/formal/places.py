"""The place of a transfer in its frame, as a bench counts it.

Tests: tests/targets/fpga/formal/test_induction.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth import Mux, Value

from rlx_fpga.cells.sizes import index_signal
from rlx_fpga.formal.bench import all_of, any_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx_fpga.formal.bench import ProofBench


class StreamPosition:
    """Position of a stream in a nest of counters, outermost first, computed from transfers only.

    Attributes:
        index: The counter of each axis.
        at_start: Whether all of them are 0: the next transfer begins a frame.
    """

    def __init__(self, bench: ProofBench, name: str, step: Value, sizes: Sequence[int]) -> None:
        """Count the cycles in which ``step`` is high, in frames of ``sizes``."""
        self._bench, self._name, self._sizes = bench, name, sizes
        self.index = [
            index_signal(size, name=f"{name}_place{axis}") for axis, size in enumerate(sizes)
        ]
        for index, following in zip(self.index, self._next(), strict=True):
            bench.m.d.sync += index.eq(Mux(step, following, index))
        self.at_start = all_of([index == 0 for index in self.index])

    def within(self, start: Sequence[int], sizes: Sequence[int]) -> Value:
        """Return whether the next transfer is in a box: ``sizes`` places from ``start`` on."""
        bounds = zip(self.index, start, sizes, strict=True)
        return all_of([(n >= first) & (n < first + size) for n, first, size in bounds])

    def one_of(self, positions: Sequence[Sequence[int]]) -> Value:
        """Return whether the next transfer is at one of ``positions``, a list for each axis."""
        axes = zip(self.index, positions, strict=True)
        return all_of([any_of([n == place for place in kept]) for n, kept in axes])

    def _next(self) -> list[Value]:
        following: list[Value] = []
        carry: Value = Value.cast(1)
        for index, size in zip(reversed(self.index), reversed(self._sizes), strict=True):
            at_end = index == size - 1
            following.insert(0, Mux(carry, Mux(at_end, 0, index + 1), index))
            carry = carry & at_end
        return following

    def one_behind(self, by_one: Value, counters: Sequence[Value]) -> None:
        """State that the cell's counters are one step ahead if ``by_one``, else the same."""
        pairs = zip(self.index, self._next(), counters, self._sizes, strict=True)
        for axis, (index, following, counter, size) in enumerate(pairs):
            name = f"{self._name}_place{axis}"
            self._bench.invariant(f"{name}_within", (index < size) & (counter < size))
            self._bench.invariant(f"{name}_matches", counter == Mux(by_one, following, index))
