"""Compute equal things once.

Tests: tests/unit/passes/test_rewrites.py
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
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
        keys = [_key(n, n.operands) for n in graph.nodes if not isinstance(n.op, Input | Param)]
        if len(set(keys)) == len(keys):
            return graph
        first_nodes: dict[Hashable, Node] = {}
        rewriter = Rewriter(graph)
        for node in rewriter:
            if isinstance(node.op, Input | Param):
                continue
            key = _key(node, rewriter.operands(node))
            if key in first_nodes:
                rewriter.replace(node, *first_nodes[key].results)
            else:
                first_nodes[key] = rewriter.keep(node)
        return rewriter.finish()


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
