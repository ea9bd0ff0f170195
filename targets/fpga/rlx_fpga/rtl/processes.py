"""Processes: which ``assign``, ``always_comb`` and ``always_ff`` blocks a module has.

A signal that is assigned once, whole and without a condition is an ``assign``. All others of the
combinational domain get a block of their own, which first assigns their initial value; only
signals of one assignment share one. So simulators do not see false loops. All registers of
a clock are in one block: statements in their order, then the reset.

Tests: tests/targets/fpga/rtl/test_parts.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from amaranth.hdl import Signal
from amaranth.hdl._ast import Assign, Property, SignalSet, Switch

from rlx_fpga.rtl.layout import indented
from rlx_fpga.rtl.statements import Statements
from rlx_fpga.rtl.values import sliced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from amaranth.hdl import Fragment
    from amaranth.hdl._ast import Statement

    from rlx_fpga.rtl.expressions import Expressions


@dataclass(frozen=True)
class Process:
    """Blocks of a module.

    Attributes:
        lines: Their text.
        registers: Signals of a clocked block.
    """

    lines: list[str]
    registers: list[Signal]


@dataclass
class _Group:
    """Combinational signals that are assigned together.

    Attributes:
        signals: In the order of their assignments.
        body: The statements that assign them, and the conditions around these.
    """

    signals: list[Signal]
    body: list[Statement]


class Processes:
    """Prints the statements of a module.

    Args:
        expressions: Prints values.
        name: Returns the name of a signal.
    """

    def __init__(self, expressions: Expressions, name: Callable[[Signal], str]) -> None:
        self._expressions = expressions
        self._name = name

    def combinational(self, statements: Sequence[Statement]) -> Process:
        """Return the blocks of the combinational domain."""
        block = Statements(self._expressions, self._name, "=")
        lines: list[str] = []
        for group in _groups(statements):
            if _is_continuous(group.body):
                lines += [f"assign {line}" for line in block.lines(group.body)]
                continue
            before = [
                f"{self._name(s)} = {self._initial(s)};"
                for s in group.signals
                if not _begins_with(group.body, s)
            ]
            body = [*before, *block.lines(group.body)]
            lines += ["", "always_comb begin", *indented(body), "end", ""]
        lines += self._checks(statements)
        return Process(_tidy(lines), [])

    def clocked(self, fragment: Fragment, domain: str, statements: Sequence[Statement]) -> Process:
        """Return the block of a clock domain."""
        clock = fragment.domains[domain]
        assert clock.clk_edge == "pos"
        assert not clock.async_reset
        block = Statements(self._expressions, self._name, "<=")
        body = block.lines(statements)
        registers = assigned(statements)
        resettable = [s for s in registers if not s.reset_less]
        if clock.rst is not None and resettable:
            resets = [f"{self._name(s)} <= {self._initial(s)};" for s in resettable]
            body += [f"if ({self._name(clock.rst)}) begin", *indented(resets), "end"]
        head = f"always_ff @(posedge {self._name(clock.clk)}) begin"
        return Process([head, *indented(body), "end"], registers)

    def _initial(self, signal: Signal) -> str:
        return self._expressions.constant(signal, signal.init)

    def _checks(self, statements: Sequence[Statement]) -> list[str]:
        """Return the block of the combinational assertions."""
        kept = list(_select_statements(statements, lambda s: isinstance(s, Property)))
        if not kept:
            return []
        body = Statements(self._expressions, self._name, "=").lines(kept)
        return ["", "always_comb begin", *indented(body), "end"]


def _groups(statements: Sequence[Statement]) -> list[_Group]:
    """Return the assigned signals, those of one assignment together."""
    together: list[list[Signal]] = []
    group_of: dict[int, int] = {}
    for assignment in assignments(statements):
        targets = list(assignment.lhs._lhs_signals())
        homes = sorted({group_of[id(s)] for s in targets if id(s) in group_of})
        home = homes[0] if homes else len(together)
        if not homes:
            together.append([])
        for other in homes[1:]:
            together[home] += together[other]
            together[other] = []
        known = {id(s) for s in together[home]}
        together[home] += [s for s in targets if id(s) not in known]
        group_of.update((id(s), home) for s in together[home])
    return [_Group(s, list(_select_assignments(statements, s))) for s in together if s]


def _select_assignments(
    statements: Sequence[Statement], signals: Sequence[Signal]
) -> Iterator[Statement]:
    """Yield the parts of ``statements`` that assign ``signals``."""
    assigned = SignalSet(signals)

    def assigns(statement: Statement) -> bool:
        return isinstance(statement, Assign) and any(
            s in assigned for s in statement.lhs._lhs_signals()
        )

    yield from _select_statements(statements, assigns)


def _select_statements(
    statements: Sequence[Statement], predicate: Callable[[Statement], bool]
) -> Iterator[Statement]:
    """Yield the statements that ``predicate`` accepts, with the conditions around them."""
    for statement in statements:
        if isinstance(statement, Switch):
            arms = [
                (p, list(_select_statements(inner, predicate)), loc)
                for p, inner, loc in statement.cases
            ]
            if any(inner for _, inner, _ in arms):
                yield Switch(statement.test, arms, src_loc=statement.src_loc)
        elif predicate(statement):
            yield statement


def assignments(statements: Sequence[Statement]) -> Iterator[Assign]:
    """Yield the assignments of ``statements``, those under conditions included."""
    for statement in statements:
        if isinstance(statement, Switch):
            for _, inner, _ in statement.cases:
                yield from assignments(inner)
        elif isinstance(statement, Assign):
            yield statement


def assigned(statements: Sequence[Statement]) -> list[Signal]:
    """Return the assigned signals, in order."""
    found: dict[int, Signal] = {}
    for assignment in assignments(statements):
        for signal in assignment.lhs._lhs_signals():
            found.setdefault(id(signal), signal)
    return list(found.values())


def _is_continuous(body: Sequence[Statement]) -> bool:
    """Whether ``body`` assigns every bit of a signal once, without a condition."""
    places = [place for place in map(_place, body) if place is not None]
    if len(places) < len(body):
        return False
    found = sorted((start, stop) for _, start, stop in places)
    ends = [0, *(stop for _, stop in found)]
    return [start for start, _ in found] == ends[:-1] and ends[-1] == len(places[0][0])


def _begins_with(body: Sequence[Statement], signal: Signal) -> bool:
    """Whether ``body`` begins with an assignment of the whole signal."""
    place = _place(body[0])
    return place is not None and place[0] is signal and place[1:] == (0, len(signal))


def _place(statement: Statement) -> tuple[Signal, int, int] | None:
    """Return the signal that is assigned, with the first bit and the last plus one.

    None for a condition, or if several signals or bits known only at run time are assigned.
    """
    if not isinstance(statement, Assign):
        return None
    target, start, stop = sliced(statement.lhs)
    if not isinstance(target, Signal):
        return None
    return target, start, stop


def _tidy(lines: Sequence[str]) -> list[str]:
    """Return ``lines`` without empty ones at the ends or next to each other."""
    found: list[str] = []
    for line in lines:
        if line or (found and found[-1]):
            found.append(line)
    while found and not found[-1]:
        found.pop()
    return found
