"""Counters over the beats of a frame: the position of each beat in the tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth import Const, Module, Mux, Signal, Value

if TYPE_CHECKING:
    from collections.abc import Sequence


class Raster:
    """A nest of counters, outermost axis first, that steps in row-major order and wraps around.

    Attributes:
        index: For each axis, its counter (a constant 0 for an axis of size 1).
        last: High at the last beat of a frame.
    """

    def __init__(self, m: Module, sizes: Sequence[int], step: Value, name: str = "index") -> None:
        """Build the counters into ``m``; they advance in every cycle in which ``step`` is high."""
        self.index: list[Value] = []
        carry: Value = Const(1)
        for axis in reversed(range(len(sizes))):
            size = sizes[axis]
            if size < 1:
                msg = f"expected at least one beat on every axis, got {tuple(sizes)}"
                raise ValueError(msg)
            if size == 1:
                self.index.insert(0, Const(0))
                continue
            counter = Signal(range(size), name=f"{name}{axis}")
            at_end = counter == size - 1
            with m.If(step & carry):
                m.d.sync += counter.eq(Mux(at_end, 0, counter + 1))
            carry = carry & at_end
            self.index.insert(0, counter)
        self.last = Signal(name=f"{name}_last")
        m.d.comb += self.last.eq(carry)


def within(index: Value, start: int, stop: int, size: int) -> Value:
    """Return whether ``start <= index < stop``, for an index in ``range(size)``."""
    condition: Value = Const(1)
    if start > 0:
        condition = condition & (index >= start)
    if stop < size:
        condition = condition & (index < stop)
    return condition
