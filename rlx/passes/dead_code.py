"""Remove nodes that no output depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import Graph, Input, copy_node
from rlx.passes.base import Pass

if TYPE_CHECKING:
    from rlx.ir import Node, Value


@dataclass(frozen=True, slots=True)
class DeadCode(Pass):
    """Keep the nodes that an output depends on, and every graph input."""

    name: ClassVar[str] = "dead-code"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph without dead nodes; the same graph if there are none."""
        needed = _needed(graph)
        if all(node in needed or isinstance(node.op, Input) for node in graph.nodes):
            return graph
        new = Graph(graph.name)
        mapped: dict[Value, Value] = {}
        for node in graph.nodes:
            if node in needed or isinstance(node.op, Input):
                copy = copy_node(new, node, tuple(mapped[o] for o in node.operands))
                mapped.update(zip(node.results, copy.results, strict=True))
        new.output(*(mapped[o] for o in graph.outputs), names=graph.output_names)
        return new


def _needed(graph: Graph) -> set[Node]:
    """Return the nodes that some output depends on."""
    needed = {o.node for o in graph.outputs}
    for node in reversed(graph.nodes):
        if node in needed:
            needed.update(o.node for o in node.operands)
    return needed
