"""Evaluate nodes that depend on constants only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import Array, rebuild
from rlx.ir.binding import symbols_of
from rlx.passes.base import Pass

if TYPE_CHECKING:
    from rlx.ir import Graph, Node, Value


@dataclass(frozen=True, slots=True)
class FoldConstants(Pass):
    """Replace each node whose operands are all constant by its results.

    Attributes:
        limit_bytes: Results larger than this stay computed, so that a small file cannot grow a
            program without bound.
    """

    name: ClassVar[str] = "fold-constants"
    limit_bytes: int = 1 << 26

    def apply(self, graph: Graph) -> Graph:
        """Return the graph with constant nodes evaluated; the same graph if there are none."""
        if not any(self._is_known(node, node.operands) for node in graph.op_nodes):
            return graph
        return rebuild(graph, self._visit, by=self.name)

    def _visit(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> list[Value] | None:
        if not self._is_known(node, operands):
            return None
        known = [array for o in operands if (array := o.constant) is not None]
        results: tuple[Array, ...] = node.op.evaluate(*known)
        return [
            new.constant(array, quant=type_.quant)
            for array, type_ in zip(results, node.types, strict=True)
        ]

    def _is_known(self, node: Node, operands: tuple[Value, ...]) -> bool:
        """Whether a node is to be evaluated, given what its operands have become."""
        if not operands or any(o.constant is None for o in operands):
            return False
        # A loop might not end; unrolling deals with control flow.
        if symbols_of(node.op) or node.op.regions():
            return False
        return sum(t.nbytes for t in node.types) <= self.limit_bytes
