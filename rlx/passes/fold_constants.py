"""Evaluate nodes that depend on constants only.

Tests: tests/unit/passes/test_rewrites.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import Array, DType, rebuild
from rlx.ir.binding import symbols_of
from rlx.ops.real import RealDequantize
from rlx.passes.base import Pass

if TYPE_CHECKING:
    from rlx.ir import Graph, Node, Op, Value


@dataclass(frozen=True, slots=True)
class FoldConstants(Pass):
    """Replace each node whose operands are all constant by its results.

    Attributes:
        limit_bytes: Results larger than this stay computed, so that a small file cannot grow a
            program without bound.
        keep_narrow: Leave integers of 4 and 2 bits in their stored form, before their
            ``real.dequantize``, whose scales the reader uses.
        keep: Ops that stay, such as those after which a model stores integers.
    """

    name: ClassVar[str] = "fold-constants"
    limit_bytes: int = 1 << 26
    keep_narrow: bool = False
    keep: tuple[type[Op], ...] = ()

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
        """Return whether a node is to be evaluated, given its new operands."""
        if not operands or any(o.constant is None for o in operands):
            return False
        if isinstance(node.op, self.keep):
            return False
        if self.keep_narrow and isinstance(node.op, RealDequantize) and _is_narrow(operands[0]):
            return False
        # A loop might not end; unrolling deals with control flow.
        if symbols_of(node.op) or node.op.regions():
            return False
        return sum(t.nbytes for t in node.types) <= self.limit_bytes


def _is_narrow(value: Value) -> bool:
    return value.type.dtype in (DType.I4, DType.I2)
