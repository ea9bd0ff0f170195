"""Compute equal things once.

Tests: tests/unit/passes/test_rewrites.py
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import Constant, Input, Param, Rewriter, once_per_node
from rlx.ir.payload import to_buffer
from rlx.passes.base import Pass

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Graph, Node, Value


@dataclass(frozen=True, slots=True)
class CommonSubexpressions(Pass):
    """Merge nodes with the same op, attributes, operands and types, and equal constants."""

    name: ClassVar[str] = "common-subexpressions"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph with duplicates merged into their first occurrence; the same if none."""
        duplicates = _duplicates(graph)
        if not duplicates:
            return graph
        rewriter = Rewriter(graph)
        for node in rewriter:
            if node in duplicates:
                rewriter.replace(node, *(rewriter[r] for r in duplicates[node].results))
        return rewriter.finish()


def _duplicates(graph: Graph) -> dict[Node, Node]:
    """Return the first equal node of each node that has an equal one before it."""
    first_nodes: dict[Hashable, Node] = {}
    duplicates: dict[Node, Node] = {}
    for node in graph.nodes:
        if isinstance(node.op, Input | Param):
            continue
        operands = node.operands
        if any(o.node in duplicates for o in operands):
            operands = tuple(replace(o, node=duplicates.get(o.node, o.node)) for o in operands)
        first = first_nodes.setdefault(_key(node, operands), node)
        if first is not node:
            duplicates[node] = first
    return duplicates


def _key(node: Node, operands: tuple[Value, ...]) -> Hashable:
    """Return a key that equal nodes have in common."""
    if isinstance(node.op, Constant):
        return node.types, _digest(node)
    return node.op, operands, node.types


@once_per_node
def _digest(node: Node) -> bytes:
    """Return the digest of a constant, equal for equal values."""
    assert isinstance(node.op, Constant)
    return hashlib.sha256(to_buffer(node.op.value)).digest()
