"""Compute equal things once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import Constant, Input, Param, copy_node, once_per_node, rebuild
from rlx.ir.payload import to_buffer
from rlx.passes.base import Pass

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

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
        seen: dict[Hashable, Node] = {}

        def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
            if isinstance(node.op, Input | Param):
                return None
            key = _key(node, operands)
            if key not in seen:
                seen[key] = copy_node(new, node, operands)
            return seen[key].results

        return rebuild(graph, visit)


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
