"""Batch normalization made part of the layer before it.

Tests: tests/unit/passes/quantize/test_weights.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import rebuild
from rlx.ops.nn import NnBatchNorm
from rlx.passes.base import Pass
from rlx.passes.quantize.weighted import Weighted

if TYPE_CHECKING:
    from rlx.ir import Graph, Node, Value


@dataclass(frozen=True, slots=True)
class FoldBatchNorm(Pass):
    """nn.batch_norm(layer(x, w, b)) -> layer(x, w * a, b * a + c).

    The layer is a convolution or a dense layer with constant weights whose result nothing else
    reads, and the normalization is along its output channels with constant statistics. Sums are
    computed in float64 and rounded once.
    """

    name: ClassVar[str] = "fold-batch-norm"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph with every such normalization folded."""
        users, outputs = graph.users(), set(graph.outputs)

        def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> list[Value] | None:
            if not isinstance(node.op, NnBatchNorm):
                return None
            before = node.operands[0]
            if len(users[before]) != 1 or before in outputs:
                return None
            # The layer in the new graph has the factors of normalizations before this one.
            layer = Weighted.of(operands[0].node)
            return [_fold(new, node, layer)] if layer and _fits(node, layer) else None

        return rebuild(graph, visit, by=self.name)


def _fits(node: Node, layer: Weighted) -> bool:
    """Return whether a normalization is one of the layer's output channels by constants."""
    op, rank = node.op, node.result.type.rank
    assert isinstance(op, NnBatchNorm)
    constant = all(o.constant is not None for o in node.operands[1:])
    return constant and op.axis % rank == layer.channel_axis % rank


def _fold(new: Graph, node: Node, layer: Weighted) -> Value:
    """Append the layer with the normalization's factors."""
    op = node.op
    assert isinstance(op, NnBatchNorm)
    gamma, beta, mean, variance = (
        np.asarray(o.constant, np.float64) for o in node.operands[1:]
    )  # fmt: skip
    factor = gamma / np.sqrt(variance + op.epsilon)
    bias = (layer.bias.astype(np.float64) - mean) * factor + beta
    name = layer.node.name
    return new.apply(
        layer.node.op,
        layer.node.operands[0],
        new.constant(layer.scale_outputs(factor), name=f"{name}.weights" if name else ""),
        new.constant(bias.astype(layer.weights.dtype), name=f"{name}.bias" if name else ""),
        name=name,
        origin=layer.node.origin.join([node.origin]).through(FoldBatchNorm.name),
    )
