"""Elementwise arithmetic on two streams, up to the value that is then requantized."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from amaranth import Module, Signal, Value, signed
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.multiply import has_blocks, multiply_moving
from rlx_fpga.cells.pipe import register
from rlx_fpga.cells.rom import signed_bits
from rlx_fpga.cells.streams import Cell, stream_of
from rlx_fpga.cells.table import ENTRIES, look_up, table_ram
from rlx_fpga.cost.logic import Logic

if TYPE_CHECKING:
    from collections.abc import Sequence


def take_pairs(m: Module, cell: Cell) -> tuple[Signal, Signal]:
    """Take beats of ``cell.i0`` and ``cell.i1`` together, whenever ``cell.o`` can move on.

    Returns:
        Whether the registers before ``o`` move, and whether both operands offer a beat.
    """
    move = Signal()
    both = Signal()
    m.d.comb += [
        move.eq(~cell.o.valid | cell.o.ready),
        both.eq(cell.i0.valid & cell.i1.valid),
        cell.i0.ready.eq(move & both),
        cell.i1.ready.eq(move & both),
    ]
    return move, both


class _Binary(Cell):
    """Two int8 streams in, one of wider integers out, beat by beat.

    Members:
        i0: In, ``lanes`` times int8.
        i1: In, the same.
        o: Out, ``lanes`` times int ``width``.
    """

    latency = 3

    def __init__(self, lanes: int, width: int) -> None:
        self.lanes, self.width = lanes, width
        operand = stream_of(lanes)
        super().__init__({"i0": In(operand), "i1": In(operand), "o": Out(stream_of(lanes, width))})

    def elaborate(self, platform: object) -> Module:
        """Three pipeline registers with a common enable; the derived class builds the first.

        The first may be inside a memory, which is slow, so the second follows it directly, without
        logic between. The second and third are inside a DSP slice where products are instances.
        """
        m = Module()
        move, both = take_pairs(m, self)
        first_valid = Signal()
        second_valid = Signal()
        with m.If(move):
            m.d.sync += [
                first_valid.eq(both),
                second_valid.eq(first_valid),
                self.o.valid.eq(second_valid),
            ]
        for lane in range(self.lanes):
            codes = self.i0.payload[lane], self.i1.payload[lane]
            first = self._first(m, lane, *codes, move)
            if self.multipliers and has_blocks(platform):
                product = multiply_moving(m, platform, *first, f"product{lane}", move=move)
                m.d.comb += self.o.payload[lane].eq(product)
                continue
            x, y = (
                register(m, move, value, f"{name}{lane}_second")
                for name, value in zip("xy", first, strict=True)
            )
            with m.If(move):
                m.d.sync += self.o.payload[lane].eq(self._result(x, y))
        self.internals = {"first_valid": first_valid, "second_valid": second_valid}
        return m

    def _first(self, m: Module, lane: int, x: Value, y: Value, move: Value) -> tuple[Value, Value]:
        raise NotImplementedError

    def _result(self, x: Value, y: Value) -> Value:
        raise NotImplementedError


class ScaledSum(_Binary):
    """``x_table[x + 128] + y_table[y + 128]``: the sum of two int8 values in a common scale.

    Each operand has only 256 values, so subtracting its zero point and scaling it is a table.
    For a difference the second table is negated.

    Members:
        i0: In, ``lanes`` times int8.
        i1: In, the same.
        o: Out, ``lanes`` times int ``width``; the width follows from the tables.

    Latency 3, initiation interval 1; two tables a lane.
    """

    def __init__(self, lanes: int, x_table: Sequence[int], y_table: Sequence[int]) -> None:
        if not len(x_table) == len(y_table) == ENTRIES:
            msg = f"expected tables of 256 entries, got {len(x_table)} and {len(y_table)}"
            raise ValueError(msg)
        self.tables = [int(n) for n in x_table], [int(n) for n in y_table]
        self.widths = signed_bits(*self.tables[0]), signed_bits(*self.tables[1])
        self.bounds = (
            min(self.tables[0]) + min(self.tables[1]),
            max(self.tables[0]) + max(self.tables[1]),
        )
        self.memory_bits = lanes * ENTRIES * sum(self.widths)
        super().__init__(lanes, signed_bits(*self.bounds))

    @cached_property
    def logic(self) -> Logic:
        """Two tables, a register after each, and an adder for each lane."""
        rams = [table_ram(*table) for table in zip(self.tables, self.widths, strict=True)]
        lane = Logic(sum(self.widths) + self.width, add=self.width, memories=tuple(rams))
        return lane.times(self.lanes) + Logic(register=3, test=16)

    def _first(self, m: Module, lane: int, x: Value, y: Value, move: Value) -> tuple[Value, Value]:
        return (
            look_up(m, f"x_table{lane}", self.tables[0], x, move, self.widths[0]),
            look_up(m, f"y_table{lane}", self.tables[1], y, move, self.widths[1]),
        )

    def _result(self, x: Value, y: Value) -> Value:
        return x + y


class Product(_Binary):
    """``(x - x_zero_point) * (y - y_zero_point)``.

    Members:
        i0: In, ``lanes`` times int8.
        i1: In, the same.
        o: Out, ``lanes`` times int ``width``; the width follows from the zero points.

    Latency 3, initiation interval 1; one multiplication a lane.
    """

    def __init__(self, lanes: int, x_zero_point: int, y_zero_point: int) -> None:
        self.zero_points = x_zero_point, y_zero_point
        corners = [
            (x - x_zero_point) * (y - y_zero_point) for x in (-128, 127) for y in (-128, 127)
        ]
        self.bounds = min(corners), max(corners)
        self.multipliers = lanes
        super().__init__(lanes, signed_bits(*corners))

    @cached_property
    def logic(self) -> Logic:
        """Two differences, and registers that the multiplier may absorb."""
        offsets = 9 * sum(map(bool, self.zero_points))
        return Logic(self.lanes * (self.width + 18) + 3, self.lanes * offsets, test=16)

    def _first(self, m: Module, lane: int, x: Value, y: Value, move: Value) -> tuple[Value, Value]:
        centred = [Signal(signed(9), name=f"{name}{lane}") for name in ("x", "y")]
        with m.If(move):
            m.d.sync += [
                centred[0].eq(x - self.zero_points[0]),
                centred[1].eq(y - self.zero_points[1]),
            ]
        return centred[0], centred[1]

    def _result(self, x: Value, y: Value) -> Value:
        return x * y
