"""Minimum work of a node: arithmetic, and bytes that it reads and writes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx.ir import Graph
from rlx.ir.graph import Source
from rlx.ir.inspect import node_macs
from rlx.ir.macs import MACS
from rlx.ops.control import Scan
from rlx.ops.fused import Fused
from rlx.ops.nn import NnOp
from rlx.ops.q import (
    QAveragePool2d,
    QL2Norm,
    QMaxPool2d,
    QMean,
    QResizeBilinear,
    QResizeNearest,
    QSlice,
    QSoftmax,
    QSoftmax16,
)
from rlx.ops.real import (
    RealAveragePool,
    RealCumprod,
    RealCumsum,
    RealGather,
    RealMaxPool,
    RealScatter,
    RealSlice,
    RealTakeAlong,
)

if TYPE_CHECKING:
    from rlx.ir import Node, TensorType

_PICKS = RealGather, RealSlice, RealTakeAlong, QResizeNearest, QSlice
"""Ops that read an element of their first operand for each one that they return."""

_POOLS = RealAveragePool, RealMaxPool, QAveragePool2d, QMaxPool2d

_WHOLE = RealCumprod, RealCumsum, QL2Norm, QMean, QSoftmax, QSoftmax16
"""Ops that do something with every element of their operand, which no trait says."""


@dataclass(frozen=True, slots=True)
class Work:
    """Work of a node, independent of the target.

    Attributes:
        macs: Multiply-accumulates.
        operations: Other arithmetic: one for each element that an element-wise op makes, or that a
            reduction reads.
        read: Bytes of operands that are read, each operand once.
        written: Bytes of results.
    """

    macs: int = 0
    operations: int = 0
    read: int = 0
    written: int = 0

    @property
    def flops(self) -> int:
        """Operations, a multiply-accumulate as two."""
        return 2 * self.macs + self.operations

    @property
    def nbytes(self) -> int:
        """Bytes read and written."""
        return self.read + self.written


def host_bytes(type_: TensorType) -> int:
    """Return the bytes of a tensor in memory of the host, where no element is below 8 bits."""
    return type_.size * type_.dtype.numpy.itemsize


def node_work(node: Node, *, in_place: bool = False) -> Work | None:
    """Return the work of a node of static shapes; None if that is not known.

    It is not known where the data decide: for branches, and loops that end on a condition.

    Args:
        node: The node.
        in_place: Whether its result reuses the bytes of its first operand.
    """
    if isinstance(node.op, Source):
        return Work()
    arithmetic = _arithmetic(node)
    if arithmetic is None:
        return None
    written = sum(host_bytes(t) for t in node.types)
    if isinstance(node.op, RealScatter):
        whole, *operand_bytes = (host_bytes(o.type) for o in node.operands)
        if in_place:
            return Work(*arithmetic, sum(operand_bytes), operand_bytes[-1])
        return Work(*arithmetic, whole + sum(operand_bytes), written)
    read = sum(host_bytes(o.type) for o in dict.fromkeys(node.operands))
    if isinstance(node.op, _PICKS):
        first, *rest = node.operands
        read = sum(host_bytes(o.type) for o in rest)
        read += min(host_bytes(first.type), written)
    return Work(*arithmetic, read, written)


def _arithmetic(node: Node) -> tuple[int, int] | None:
    """Return multiply-accumulates and other operations of a node."""
    op = node.op
    if isinstance(op, NnOp):
        graph = Graph(op.name)
        operands = [graph.input(str(i), o.type) for i, o in enumerate(node.operands)]
        op.decompose(graph, *operands)
        return _of_body(graph)
    if isinstance(op, Fused):
        return _of_body(op.body)
    if isinstance(op, Scan):
        return _of_body(op.body, op.length) if isinstance(op.length, int) else None
    if op.regions():
        return None
    if type(op) in MACS:
        return node_macs(node) or 0, 0
    return 0, _operations(node)


def _of_body(graph: Graph, times: int = 1) -> tuple[int, int] | None:
    """Return the sums over the nodes of a graph that runs several times."""
    macs = operations = 0
    for node in graph.op_nodes:
        count = _arithmetic(node)
        if count is None:
            return None
        macs, operations = macs + times * count[0], operations + times * count[1]
    return macs, operations


def _operations(node: Node) -> int:
    """Return the arithmetic of a node that has no multiply-accumulates."""
    op, traits = node.op, node.op.traits
    if isinstance(op, _POOLS):
        # Every tap of every window, as if windows had no padding.
        return node.types[0].size * math.prod(op.window.kernel)
    if isinstance(op, QResizeBilinear):
        # Two weighted sums along rows and one along columns, then the rounding.
        return 10 * node.types[0].size
    if traits.moves_only or isinstance(op, (*_PICKS, RealScatter)):
        return 0
    if traits.elementwise:
        return node.types[0].size
    if traits.along is not None or isinstance(op, _WHOLE):
        return node.operands[0].type.size
    return sum(t.size for t in node.types)
