"""Which nets of Amaranth's netlist anything depends on, bit by bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth.hdl import _nir as nir

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


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
    while waiting:
        net = waiting.pop()
        if net in live or not net.is_cell:
            continue
        live.add(net)
        cell = cells[net.cell]
        waiting += _needed(cell, net.bit)
        if isinstance(cell, nir.AsyncReadPort | nir.SyncReadPort):
            for port in writes.pop(cell.memory, ()):
                waiting += port.input_nets()
    return live


def is_constant(value: nir.Value) -> bool:
    """Return whether all bits of a value are known."""
    return all(net.is_const for net in value)


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


def _needed_by_operator(cell: nir.Operator, bit: int) -> Iterable[nir.Net]:
    match cell.operator:
        case "+" | "-" | "*":
            return [net for value in cell.inputs for net in value[: bit + 1]]
        case "&" | "|" | "^" | "~":
            return [value[bit] for value in cell.inputs]
        case "<<" | "u>>" | "s>>" if is_constant(cell.inputs[1]):
            return [_source_of_shift(cell, bit)]
        case "m":
            return [*cell.inputs[0], cell.inputs[1][bit], cell.inputs[2][bit]]
        case _:
            nets: Iterable[nir.Net] = cell.input_nets()
            return nets


def _source_of_shift(cell: nir.Operator, bit: int) -> nir.Net:
    """Return the bit that a shift by a constant brings to the place ``bit``."""
    value, amount = cell.inputs
    distance = sum(int(net) << place for place, net in enumerate(amount))
    if cell.operator == "<<":
        return value[bit - distance] if bit >= distance else nir.Net.from_const(0)
    if bit + distance < len(value):
        return value[bit + distance]
    return value[-1] if cell.operator == "s>>" else nir.Net.from_const(0)
