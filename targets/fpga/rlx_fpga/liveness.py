"""Which nets of Amaranth's netlist anything depends on, and which never change, bit by bit."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from amaranth.hdl import _nir as nir

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

_CARRYING: Final = ("+", "-", "*")
"""Operators whose bits depend on the same bits of the operands, and on all below."""


def live_nets(cells: Sequence[nir.Cell]) -> set[int]:
    """Return the nets that an output, an instance or a memory that is read depends on."""
    writes: dict[int, list[nir.SyncWritePort]] = {}
    waiting: list[nir.Net] = []
    for cell in cells:
        if isinstance(cell, nir.SyncWritePort):
            writes.setdefault(cell.memory, []).append(cell)
        elif isinstance(cell, nir.Top | nir.Instance):
            waiting += cell.input_nets()
    live: set[int] = set()
    reached: dict[int, int] = {}
    while waiting:
        net = waiting.pop()
        if net in live or not net.is_cell:
            continue
        live.add(net)
        cell = cells[net.cell]
        waiting += _needed_anew(cell, net, reached)
        if isinstance(cell, nir.AsyncReadPort | nir.SyncReadPort):
            for port in writes.pop(cell.memory, ()):
                waiting += port.input_nets()
    return live


def known_nets(cells: Sequence[nir.Cell]) -> set[int]:
    """Return the nets that are no constants, but depend on constants only, from some cycle on."""
    known: set[int] = set()
    before = -1
    while len(known) > before:
        before = len(known)
        for index, cell in enumerate(cells):
            for bit in range(_width(cell)):
                own = index << 16 | bit
                if own not in known and all(
                    net.is_const or net in known or holds(cells, net, own)
                    for net in _needed(cell, bit)
                ):
                    known.add(own)
    return known


def _width(cell: nir.Cell) -> int:
    """Return the bits of a cell's result that can be known."""
    match cell:
        case nir.Operator():
            return int(cell.width)
        case nir.AssignmentList():
            return len(cell.default)
        case nir.FlipFlop():
            return len(cell.data)
        case nir.Matches():
            return 1
        case nir.PriorityMatch():
            return len(cell.inputs)
        case _:
            return 0


def holds(cells: Sequence[nir.Cell], source: nir.Net, own: int) -> bool:
    """Return whether ``source`` is the register that the net ``own`` feeds."""
    register = cells[source.cell] if source.is_cell else None
    return isinstance(register, nir.FlipFlop) and register.data[source.bit] == own


def is_constant(value: nir.Value, known: Collection[int] = ()) -> bool:
    """Return whether all bits of a value are constants, or ``known``."""
    return all(net.is_const or net in known for net in value)


def _needed(cell: nir.Cell, bit: int) -> Iterable[nir.Net]:
    """Return the nets that one bit of a cell's result depends on."""
    match cell:
        case nir.Operator():
            return _needed_by_operator(cell, bit)
        case nir.AssignmentList():
            found = [cell.default[bit]]
            for assignment in cell.assignments:
                if 0 <= bit - assignment.start < len(assignment.value):
                    found += [assignment.cond, assignment.value[bit - assignment.start]]
            return found
        case nir.FlipFlop():
            return [cell.data[bit]]
        case nir.Top():
            return ()
        case _:
            nets: Iterable[nir.Net] = cell.input_nets()
            return nets


def _needed_anew(cell: nir.Cell, net: nir.Net, reached: dict[int, int]) -> Iterable[nir.Net]:
    """Return the nets that ``net``, of ``cell``, depends on, unless bits below of a sum do too.

    ``reached`` says for each cell that is one how many bits were asked for.
    """
    if not isinstance(cell, nir.Operator) or cell.operator not in _CARRYING:
        return _needed(cell, net.bit)
    start, stop = reached.get(net.cell, 0), net.bit + 1
    reached[net.cell] = max(start, stop)
    return _between(cell, start, stop)


def _needed_by_operator(cell: nir.Operator, bit: int) -> Iterable[nir.Net]:
    match cell.operator:
        case operator if operator in _CARRYING:
            return _between(cell, 0, bit + 1)
        case "&" | "|" | "^" | "~":
            return [value[bit] for value in cell.inputs]
        case "<<" | "u>>" | "s>>" if is_constant(cell.inputs[1]):
            return [_source_of_shift(cell, bit)]
        case "m":
            return [*cell.inputs[0], cell.inputs[1][bit], cell.inputs[2][bit]]
        case _:
            nets: Iterable[nir.Net] = cell.input_nets()
            return nets


def _between(cell: nir.Operator, start: int, stop: int) -> Iterator[nir.Net]:
    """Yield the bits from ``start`` to ``stop`` of all operands; few are looked at, as a rule."""
    return (net for value in cell.inputs for net in islice(value, start, stop))


def _source_of_shift(cell: nir.Operator, bit: int) -> nir.Net:
    """Return the bit that a shift by a constant brings to the place ``bit``."""
    value, amount = cell.inputs
    distance = sum(int(net) << place for place, net in enumerate(amount))
    if cell.operator == "<<":
        return value[bit - distance] if bit >= distance else nir.Net.from_const(0)
    if bit + distance < len(value):
        return value[bit + distance]
    return value[-1] if cell.operator == "s>>" else nir.Net.from_const(0)
