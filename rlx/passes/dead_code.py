"""Remove nodes that no output depends on.

Tests: tests/unit/passes/test_rewrites.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import Input, Rewriter
from rlx.passes.base import Pass

if TYPE_CHECKING:
    from rlx.ir import Graph, Node


@dataclass(frozen=True, slots=True)
class DeadCode(Pass):
    """Keep the nodes that an output depends on, and every graph input."""

    name: ClassVar[str] = "dead-code"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph without dead nodes; the same graph if there are none."""
        needed = _live_nodes(graph)
        kept = [node for node in graph.nodes if node in needed or isinstance(node.op, Input)]
        if len(kept) == graph.count:
            return graph
        return Rewriter(graph, nodes=kept).finish()


def _live_nodes(graph: Graph) -> set[Node]:
    """Return the nodes that some output depends on."""
    needed = {o.node for o in graph.outputs}
    for node in reversed(graph.nodes):
        if node in needed:
            needed.update(o.node for o in node.operands)
    return needed
