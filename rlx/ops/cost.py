"""Number of multiply-accumulates of a node: rules for ``rlx.ir.inspect``.

Tests: tests/unit/ops/test_work.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rlx.ir import Graph
from rlx.ir.inspect import node_macs
from rlx.ir.macs import MACS
from rlx.ops.control import If, Scan, While
from rlx.ops.fused import FUSED_OPS
from rlx.ops.nn import NN_OPS
from rlx.ops.q import (
    Q_OPS,
    QConv2d,
    QDense,
    QLstmCell,
    QLstmOutput,
    QMatmul,
    QSvdf,
    QSvdfState,
)
from rlx.ops.real import REAL_OPS, RealConv, RealMatmul

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.fused import Fused
    from rlx.ops.nn import NnOp


@MACS.rule(QConv2d, RealConv)
def conv_macs(node: Node) -> int:
    """Return one for each tap, channel of the group and element of the result."""
    _, *window = node.operands[1].type.static_shape
    total = node.types[0].size
    for size in window:
        total *= size
    return total


@MACS.rule(QDense, QMatmul, RealMatmul)
def matmul_macs(node: Node) -> int:
    """Return one for each element of the result and of the axis that is summed over."""
    return node.types[0].size * node.operands[0].type.static_shape[-1]


@MACS.rule(QLstmCell, QLstmOutput)
def gate_macs(node: Node) -> int:
    """Return one for each weight and each input of the batch."""
    weights = sum(o.type.size for o in node.operands[3:5])
    return node.operands[0].type.static_shape[0] * weights


@MACS.rule(QSvdf, QSvdfState)
def filter_macs(node: Node) -> int:
    """Return one for each weight and each input of the batch."""
    weights = node.operands[1 if isinstance(node.op, QSvdf) else 2]
    return node.operands[0].type.static_shape[0] * weights.type.size


@MACS.rule(*NN_OPS)
def decomposed_macs(node: Node) -> int | None:
    """Return those of the decomposition."""
    graph = Graph(node.op.name)
    operands = [graph.input(str(i), o.type) for i, o in enumerate(node.operands)]
    cast("NnOp", node.op).decompose(graph, *operands)
    return region_macs(graph)


@MACS.rule(If)
def choice_macs(node: Node) -> int | None:
    """Return those of the more expensive region."""
    counts = [region_macs(region) for _, region in node.op.regions()]
    return None if None in counts else max(c or 0 for c in counts)


@MACS.rule(Scan, While)
def loop_macs(node: Node) -> int | None:
    """Return those of all iterations; of the maximum number where it depends on the data."""
    counts = [region_macs(region) for _, region in node.op.regions()]
    if None in counts:
        return None
    once = sum(c or 0 for c in counts)
    times = iterations(node)
    return 0 if once == 0 else None if times is None else once * times


def iterations(node: Node) -> int | None:
    """Return the most iterations of the regions of a node; None if that is not known."""
    if isinstance(node.op, Scan):
        return node.op.length if isinstance(node.op.length, int) else None
    return node.op.max_iterations if isinstance(node.op, While) else 1


def region_macs(region: Graph) -> int | None:
    """Return the multiply-accumulates of a region that runs once."""
    counts = [node_macs(n) for n in region.op_nodes]
    return None if None in counts else sum(c or 0 for c in counts)


@MACS.rule(*FUSED_OPS)
def fused_macs(node: Node) -> int | None:
    """Return those of the body."""
    counts = [node_macs(n) for n in cast("Fused", node.op).body.op_nodes]
    return None if None in counts else sum(c or 0 for c in counts)


MACS.refuse(
    "it sums no products of its operands",
    *(op for op in (*Q_OPS, *REAL_OPS) if op not in MACS),
)
