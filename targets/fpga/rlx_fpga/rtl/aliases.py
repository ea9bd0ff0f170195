"""Aliases: signals of a module that are only another name of one that it has anyway.

Amaranth connects ports of parts by assignments. In SystemVerilog one signal connects the ports;
a signal that is handed on to an output of the module has the name of that output.

Tests: tests/targets/fpga/rtl/test_equality.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth.hdl import Signal
from amaranth.hdl._ast import Assign

from rlx_fpga.rtl.processes import assignments

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from amaranth.hdl._ast import Statement


def aliases(
    statements: Sequence[Statement], ports: Set[int], driven: Set[int]
) -> list[tuple[Assign, Signal, Signal]]:
    """Return assignments that need not be printed, with the alias and the signal it names.

    Args:
        statements: Those of the combinational domain.
        ports: Ports of the module, by ``id``.
        driven: Signals that the module drives, by ``id``.
    """
    count: dict[int, int] = {}
    for assignment in assignments(statements):
        for signal in assignment.lhs._lhs_signals():
            count[id(signal)] = count.get(id(signal), 0) + 1
    pairs: list[tuple[Assign, Signal, Signal]] = []
    renamed: set[int] = set()
    for statement in statements:
        if not _copies(statement) or count[id(statement.lhs)] > 1:
            continue
        target, source = statement.lhs, statement.rhs
        if id(target) not in ports:
            pairs.append((statement, target, source))
            renamed.add(id(target))
        elif id(source) not in ports | renamed and id(source) in driven:
            pairs.append((statement, source, target))
            renamed.add(id(source))
    return pairs


def _copies(statement: Statement) -> bool:
    """Whether a statement assigns a whole signal to another one of the same shape."""
    return (
        isinstance(statement, Assign)
        and isinstance(statement.lhs, Signal)
        and isinstance(statement.rhs, Signal)
        and statement.lhs.shape() == statement.rhs.shape()
        and len(statement.lhs) > 0
    )
