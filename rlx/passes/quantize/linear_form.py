"""Products with a constant matrix as dense layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import rebuild
from rlx.ops.nn import NnLinear
from rlx.ops.real import RealMatmul
from rlx.passes.base import Pass

if TYPE_CHECKING:
    from rlx.ir import Graph, Node, Value


@dataclass(frozen=True, slots=True)
class LinearForm(Pass):
    """real.matmul(x, w) -> nn.linear(x, transposed w).

    The matrix is a floating-point constant, so that the product has weights like any dense layer.
    """

    name: ClassVar[str] = "linear-form"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph with every such product as a dense layer."""

        def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> list[Value] | None:
            if not isinstance(node.op, RealMatmul) or not _is_matrix(node.operands[1]):
                return None
            weights = np.ascontiguousarray(np.asarray(node.operands[1].constant).T)
            name = node.operands[1].name
            return [new.apply(NnLinear(), operands[0], new.constant(weights, name=name))]

        return rebuild(graph, visit, by=self.name)


def _is_matrix(weights: Value) -> bool:
    """Return whether a factor is a constant matrix of floats."""
    type_ = weights.type
    return weights.constant is not None and type_.rank == 2 and type_.dtype.is_float
