"""How many multiply-accumulates a node takes: rules for ``rlx.ir.inspect``."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rlx.ir import Graph
from rlx.ir.inspect import MACS, node_macs
from rlx.ops.nn import NN_OPS
from rlx.ops.q import Q_OPS, QConv2d, QDense
from rlx.ops.real import REAL_OPS, RealConv, RealMatmul

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.nn import NnOp


@MACS.rule(QConv2d, RealConv)
def conv_macs(node: Node) -> int:
    """Return one for each tap, channel of the group and element of the result."""
    _, *window = node.operands[1].type.static_shape
    total = node.types[0].size
    for size in window:
        total *= size
    return total


@MACS.rule(QDense, RealMatmul)
def matmul_macs(node: Node) -> int:
    """Return one for each element of the result and of the axis that is summed over."""
    return node.types[0].size * node.operands[0].type.static_shape[-1]


@MACS.rule(*NN_OPS)
def decomposed_macs(node: Node) -> int | None:
    """Return those of the decomposition."""
    graph = Graph(node.op.name)
    operands = [graph.input(str(i), o.type) for i, o in enumerate(node.operands)]
    cast("NnOp", node.op).decompose(graph, *operands)
    counts = [node_macs(n) for n in graph.op_nodes]
    return None if None in counts else sum(c or 0 for c in counts)


MACS.refuse(
    "it sums no products of its operands",
    *(op for op in (*Q_OPS, *REAL_OPS) if op not in MACS),
)
