"""Quotients of two computed values that are a layer which other exporters write in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops.nn import NnSoftmax
from rlx.ops.real import RealExp, RealReduceMax, RealReduceSum, RealSub

if TYPE_CHECKING:
    from rlx.ir import Graph, Value


def softmax_of(graph: Graph, x: Value, y: Value) -> Value | None:
    """Append the softmax that ``x / y`` is, or return None.

    That is ``e / sum(e)`` along an axis, with ``e = exp(z)`` or ``exp(z - max(z))``.
    """
    op = y.node.op
    if not isinstance(op, RealReduceSum) or y.node.operands[0] != x or not op.keep_dims:
        return None
    if len(op.axes) != 1 or not isinstance(x.node.op, RealExp):
        return None
    z, rank = x.node.operands[0], x.type.rank
    axis = op.axes[0] % rank
    if isinstance(z.node.op, RealSub):
        inner, largest = z.node.operands
        top = largest.node.op
        axes = tuple(a % rank for a in top.axes) if isinstance(top, RealReduceMax) else ()
        if axes == (axis,) and largest.node.operands[0] == inner and inner.type == z.type:
            z = inner
    return graph.apply(NnSoftmax(axis=axis - rank), z)
