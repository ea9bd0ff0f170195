"""Liveness: which signals of a module have any effect outside of it.

Python code describes signals that a design may need, such as whether a state machine is in a state.
Signals without readers would be lines to understand, and cause warnings of linters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth.hdl import Signal
from amaranth.hdl._ast import Assign, Property, Switch

from rlx_fpga.rtl.values import signals_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from amaranth.hdl._ast import Statement


def prune(
    statements: Mapping[str, Sequence[Statement]], roots: Iterable[int]
) -> tuple[Mapping[str, Sequence[Statement]], set[int]]:
    """Return the statements that have an effect, and the signals in them, by ``id``.

    Args:
        statements: Those of a module, by the name of their clock domain.
        roots: Ports of the module and of its parts, by ``id``.
    """
    reads: dict[int, set[int]] = {}
    waiting = set(roots)
    for group in statements.values():
        waiting |= _collect(group, frozenset(), reads)
    live: set[int] = set()
    while waiting:
        signal = waiting.pop()
        live.add(signal)
        waiting |= reads.get(signal, set()) - live
    if reads.keys() <= live:
        return statements, live
    return {domain: _keep_live(group, live) for domain, group in statements.items()}, live


def _collect(
    statements: Iterable[Statement], conditions: frozenset[int], reads: dict[int, set[int]]
) -> set[int]:
    """Record the signals that each assigned signal depends on; return those of assertions.

    Args:
        statements: Some statements.
        conditions: Signals of the conditions around them.
        reads: Signals that each signal depends on.
    """
    checked: set[int] = set()
    for statement in statements:
        match statement:
            case Switch():
                inner = conditions | {id(signal) for signal in signals_of(statement.test)}
                for _, body, _ in statement.cases:
                    checked |= _collect(body, inner, reads)
            case Property():
                checked |= conditions | {id(signal) for signal in signals_of(statement.test)}
            case Assign():
                sources = {id(signal) for signal in signals_of(statement.rhs)} | conditions
                targets = {id(signal) for signal in signals_of(statement.lhs)}
                if len(targets) > 1 or not isinstance(statement.lhs, Signal):
                    sources |= targets  # assigned together, or at an index
                for target in targets:
                    reads.setdefault(target, set()).update(sources)
    return checked


def _keep_live(statements: Sequence[Statement], signals: set[int]) -> list[Statement]:
    """Return ``statements`` without assignments to other ``signals``, by ``id``."""
    live_statements: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Switch):
            arms = [(p, _keep_live(body, signals), loc) for p, body, loc in statement.cases]
            if any(body for _, body, _ in arms):
                live_statements.append(Switch(statement.test, arms, src_loc=statement.src_loc))
        elif not isinstance(statement, Assign) or _is_kept(statement, signals):
            live_statements.append(statement)
    return live_statements


def _is_kept(statement: Assign, signals: set[int]) -> bool:
    return any(id(signal) in signals for signal in signals_of(statement.lhs))
