"""Evaluate nodes that depend on constants only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import Array, Constant, rebuild
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
        """Return the graph with constant nodes evaluated."""
        return rebuild(graph, self._visit, by=self.name)

    def _visit(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> list[Value] | None:
        known = [array for o in operands if (array := o.constant) is not None]
        if isinstance(node.op, Constant) or not operands or len(known) != len(operands):
            return None
        if symbols_of(node.op):
            return None
        if sum(t.nbytes for t in node.types) > self.limit_bytes:
            return None
        results: tuple[Array, ...] = node.op.evaluate(*known)
        return [
            new.constant(array, quant=type_.quant)
            for array, type_ in zip(results, node.types, strict=True)
        ]
