"""Hierarchy of an elaborated design: signals, statements and instances of each part, found once.

Tests: tests/targets/fpga/rtl/test_equality.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from amaranth.hdl import Instance, MemoryInstance, Signal, Value
from amaranth.hdl._ast import Concat, Operator

from rlx_fpga.rtl import memories
from rlx_fpga.rtl.naming import component_of, members
from rlx_fpga.rtl.processes import assigned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from amaranth.hdl import Fragment
    from amaranth.hdl._ir import Design

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Hierarchy:
    """Signals and ports of the parts of a design.

    Args:
        design: The elaborated design.
    """

    def __init__(self, design: Design) -> None:
        self._fragments = design.fragments
        self._members: dict[int, list[tuple[str, Signal]]] = {}
        self._driven: dict[int, set[int]] = {}
        self._used: dict[int, dict[int, Signal]] = {}

    def used(self, fragment: Fragment) -> list[Signal]:
        """Return the signals of a module, those of its memories and foreign instances included."""
        found = dict(self._own(fragment))
        for part, _, _ in fragment.subfragments:
            if isinstance(part, Instance | MemoryInstance):
                found |= self._own(part)
        return list(found.values())

    def crossing(self, fragment: Fragment) -> dict[int, Signal]:
        """Return the signals that a part shares with the one around it, by ``id``."""
        outside = self._own(self._fragments[fragment].parent)
        return {key: one for key, one in self._own(fragment).items() if key in outside}

    def at_parts(self, fragment: Fragment) -> set[int]:
        """Return the signals at the ports of a module's parts, by ``id``."""
        found: set[int] = set()
        for part, _, _ in fragment.subfragments:
            inlined = isinstance(part, Instance | MemoryInstance)
            found.update(self._own(part) if inlined else self.crossing(part))
        return found

    def driven(self, fragment: Fragment) -> set[int]:
        """Return the signals that a part drives, by ``id``, those that its own parts drive too."""
        key = id(fragment)
        if key not in self._driven:
            self._driven[key] = {id(signal) for signal in _drivers(fragment)}
            self._driven[key].update(*(self.driven(part) for part, _, _ in fragment.subfragments))
        return self._driven[key]

    def members(self, fragment: Fragment) -> list[tuple[str, Signal]]:
        """Return the ports of a part by their names; of a memory, the signals of its ports."""
        key = id(fragment)
        if key not in self._members:
            self._members[key] = list(_members(fragment))
        return self._members[key]

    def _own(self, fragment: Fragment) -> dict[int, Signal]:
        """Return the signals of a part that have bits, by ``id``."""
        key = id(fragment)
        if key not in self._used:
            signals = self._fragments[fragment].used_signals
            self._used[key] = {id(signal): signal for signal in signals if len(signal)}
        return self._used[key]


def clocks(fragment: Fragment) -> Iterator[tuple[int, str]]:
    """Yield clock and reset, by ``id``, with their names."""
    for domain in fragment.domains.values():
        yield id(domain.clk), "clk"
        if domain.rst is not None:
            yield id(domain.rst), "rst"


def kind_of(fragment: Fragment, instance: str) -> str:
    """Return the kind of cell, for the name of its module."""
    component = component_of(fragment)
    if component is None:
        return instance
    kind = getattr(component, "kind", None)
    if isinstance(kind, str):
        return kind
    return _CAMEL.sub("_", type(component).__name__.lstrip("_")).lower()


def _members(fragment: Fragment) -> Iterator[tuple[str, Signal]]:
    if isinstance(fragment, MemoryInstance):
        yield from memories.signals(fragment)
        return
    component = component_of(fragment)
    if component is not None:
        yield from members(component)


def _drivers(fragment: Fragment) -> Iterator[Signal]:
    """Yield the signals that a fragment drives, without those that its parts drive."""
    if isinstance(fragment, Instance):
        for value, direction in fragment.ports.values():
            if direction == "o":
                yield from _whole(Value.cast(value))
    elif isinstance(fragment, MemoryInstance):
        for port in fragment._read_ports:
            yield from _whole(port._data)
    else:
        for statements in fragment.statements.values():
            yield from assigned(statements)


def _whole(value: Value) -> Iterator[Signal]:
    """Yield the signals that an output drives.

    Raises:
        TypeError: It drives some bits of a signal: the others would be undriven.
    """
    match value:
        case Signal():
            yield value
        case Concat():
            for part in value.parts:
                yield from _whole(part)
        case Operator() if value.operator in ("u", "s"):
            yield from _whole(value.operands[0])
        case _:
            msg = f"no SystemVerilog for an output that drives a {type(value).__name__} of a signal"
            raise TypeError(msg)
