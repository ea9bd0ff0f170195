"""Rewrite model-level ops in tensor algebra."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeGuard

from rlx.ir import rebuild
from rlx.ops.nn import NnOp
from rlx.passes.base import Pass, in_regions

if TYPE_CHECKING:
    from collections.abc import Container

    from rlx.ir import Graph, Node, Op, Value


@dataclass(frozen=True, slots=True)
class Decompose(Pass):
    """Replace each ``nn.*`` node by its decomposition, until none is left.

    Attributes:
        rounds: Rounds after which ops that still decompose are reported as a bug.
        kept_ops: Ops that are left as they are.
    """

    name: ClassVar[str] = "decompose"
    rounds: int = 16
    kept_ops: Container[type[Op]] = ()

    def apply(self, graph: Graph) -> Graph:
        """Return the graph without ``nn.*`` ops, in its regions too."""
        graph = in_regions(graph, self.apply)
        for _ in range(self.rounds):
            left = sorted({n.op.name for n in graph.op_nodes if self._decomposes(n.op)})
            if not left:
                return graph
            graph = rebuild(graph, self._visit, by=self.name)
        raise AssertionError(f"{self.name} does not settle: {', '.join(left)}")

    def _decomposes(self, op: Op) -> TypeGuard[NnOp]:
        return isinstance(op, NnOp) and type(op) not in self.kept_ops

    def _visit(
        self, new: Graph, node: Node, operands: tuple[Value, ...]
    ) -> tuple[Value, ...] | None:
        """nn.op(x...) -> its decomposition."""
        return node.op.decompose(new, *operands) if self._decomposes(node.op) else None


def decompose(graph: Graph) -> Graph:
    """Return ``graph`` with every ``nn.*`` op rewritten in ``real.*`` ops."""
    return Decompose().apply(graph)
