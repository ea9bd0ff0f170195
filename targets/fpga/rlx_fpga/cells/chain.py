"""A sequence of cells, as one cell."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from amaranth import Module
from amaranth.lib.wiring import connect, flipped

from rlx_fpga.cells.streams import Cell
from rlx_fpga.cost.logic import Logic, total

if TYPE_CHECKING:
    from collections.abc import Mapping


class Chain(Cell):
    """A sequence of cells, each fed by the one before.

    The first cell may have several inputs, each with a sequence of cells before it. If that
    begins with a cell without inputs (a constant), the input is not a port of the chain.

    Members:
        i, or i0, i1, ...: In: the open inputs of the first cell, under their names.
        o: Out: that of the last cell.

    Attributes:
        ports: Names of the open inputs, in order.

    Args:
        cells: The sequence by name; names become instance names and must be unique.
        before: For inputs of the first cell, the cells before them.
    """

    def __init__(
        self,
        cells: Mapping[str, Cell],
        before: Mapping[str, Mapping[str, Cell]] | None = None,
    ) -> None:
        self.cells = dict(cells)
        self.before = {port: dict(front) for port, front in (before or {}).items() if front}
        self.parts: dict[str, Cell] = {}
        for part in (*self.before.values(), self.cells):
            assert not self.parts.keys() & part.keys(), "names of cells must be unique"
            self.parts |= part
        first, *_, last = (*self.cells.values(), *self.cells.values())
        self.multipliers = sum(part.multipliers for part in self.parts.values())
        self.latency = sum(cell.latency for cell in self.cells.values())
        self.drain = sum(cell.drain for cell in self.cells.values())
        members = {}
        for port in input_ports(first):
            head = next(iter(self.before.get(port, {"": first}).values()))
            name = port if head is first else "i"
            if name in head.signature.members:
                members[port] = head.signature.members[name]
        self.ports = list(members)
        super().__init__({**members, "o": last.signature.members["o"]})

    @cached_property
    def memory_bits(self) -> int:
        """Bits of the memories of all parts."""
        return sum(part.memory_bits for part in self.parts.values())

    @cached_property
    def logic(self) -> Logic:
        """That of all parts."""
        return total(part.logic for part in self.parts.values())

    def elaborate(self, platform: object) -> Module:
        """Connect the cells."""
        m = Module()
        for name, cell in self.parts.items():
            m.submodules[name] = cell
        first, *rest = self.cells.values()
        for port in input_ports(first):
            target = getattr(first, port)
            for cell in reversed(self.before.get(port, {}).values()):
                connect(m, cell.o, target)
                target = getattr(cell, "i", None)
            if target is not None:
                connect(m, flipped(getattr(self, port)), target)
        for cell in rest:
            connect(m, first.o, cell.i)
            first = cell
        connect(m, first.o, flipped(self.o))
        return m


def input_ports(cell: Cell) -> list[str]:
    """Return the names of a cell's input streams, in order."""
    return sorted((name for name in cell.signature.members if name[0] == "i"), key=_place)


def _place(port: str) -> int:
    return int(port[1:] or 0)
