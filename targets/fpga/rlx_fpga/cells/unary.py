"""Functions of one value that need no memory."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from amaranth import Module
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.divide import clamp
from rlx_fpga.cells.rom import signed_bits
from rlx_fpga.cells.streams import Cell, stream_of
from rlx_fpga.cost.logic import Logic

if TYPE_CHECKING:
    from amaranth import Value


class _Unary(Cell):
    """One register between two streams of the same number of lanes."""

    def __init__(self, lanes: int, width_in: int, width_out: int) -> None:
        self.lanes = lanes
        members = {"i": In(stream_of(lanes, width_in)), "o": Out(stream_of(lanes, width_out))}
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        """Apply the function to every lane before the register."""
        m = Module()
        m.d.comb += self.i.ready.eq(~self.o.valid | self.o.ready)
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(self.i.valid)
            for lane in range(self.lanes):
                m.d.sync += self.o.payload[lane].eq(self._function(self.i.payload[lane]))
        return m

    def _function(self, x: Value) -> Value:
        raise NotImplementedError


class Clamp(_Unary):
    """``y = min(max(x, low), high)``.

    Members:
        i: In, ``lanes`` times int8.
        o: Out, the same.

    Latency 1, initiation interval 1.
    """

    def __init__(self, lanes: int, low: int, high: int) -> None:
        if not -128 <= low <= high <= 127:
            msg = f"expected -128 <= low <= high <= 127, got {low} and {high}"
            raise ValueError(msg)
        self.low, self.high = low, high
        super().__init__(lanes, 8, 8)

    @cached_property
    def logic(self) -> Logic:
        """Two comparisons and two choices for each lane."""
        return Logic(8 * self.lanes + 1, compare=16 * self.lanes, test=3, mux=16 * self.lanes)

    def _function(self, x: Value) -> Value:
        return clamp(x, self.low, self.high)


class Offset(_Unary):
    """``y = x + offset``, in the minimum width.

    Members:
        i: In, ``lanes`` times int ``width``.
        o: Out, ``lanes`` times int ``out_bits``.

    Latency 1, initiation interval 1.
    """

    def __init__(self, lanes: int, width: int, offset: int) -> None:
        self.width, self.offset = width, offset
        half = 1 << (width - 1)
        self.out_bits = signed_bits(offset - half, offset + half - 1)
        super().__init__(lanes, width, self.out_bits)

    @cached_property
    def logic(self) -> Logic:
        """An adder for each lane."""
        bits = self.lanes * self.out_bits
        return Logic(bits + 1, add=bits, test=3)

    def _function(self, x: Value) -> Value:
        return x + self.offset
