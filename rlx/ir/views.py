"""Values that are within the bytes of others in every execution.

Tests: tests/unit/ops/test_views.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir.graph import Graph, Node, Value
    from rlx.ir.op import Op

View: TypeAlias = "Callable[[Node], int | None]"
"""Bytes from the start of the first operand to the result; None if the result is elsewhere."""

Join: TypeAlias = "Callable[[Node], tuple[int, ...] | None]"
"""Bytes from the start of the result to each operand; None if they are not whole runs of it."""

VIEWS: dict[type[Op], View] = {}
"""Ops whose result is a run of bytes of the first operand."""

JOINS: dict[type[Op], Join] = {}
"""Ops whose result is nothing but its operands' bytes."""


def view_offset(node: Node) -> int | None:
    """Return the offset of a node's result in its first operand, or None if it is not a view."""
    rule = VIEWS.get(type(node.op))
    return None if rule is None else rule(node)


def join_offsets(node: Node) -> tuple[int, ...] | None:
    """Return the offsets of a node's operands in its result, or None if it is not a join."""
    rule = JOINS.get(type(node.op))
    return None if rule is None else rule(node)


def contents(graph: Graph) -> dict[Value, tuple[Value, int]]:
    """Return for each value the one whose bytes it has, itself or another, and where in it."""
    storage: dict[Value, tuple[Value, int]] = {}
    for node in graph.nodes:
        step = view_offset(node)
        for value in node.results:
            if step is None:
                storage[value] = value, 0
            else:
                base, offset = storage[node.operands[0]]
                storage[value] = base, offset + step
    return storage
