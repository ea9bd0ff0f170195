"""Element types of activations: ops that compute int8 or int16, by their first operand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.ir import DType
from rlx.ops.q.arith import QAdd, QClamp, QMul, QRequantize, QSub
from rlx.ops.q.conv import QConv2d
from rlx.ops.q.linear import QDense
from rlx.ops.q.pool import QAveragePool2d, QMaxPool2d
from rlx.ops.q.reduce import QMean
from rlx.ops.q.shape import QConcat, QPad, QReshape, QSlice, QTranspose

if TYPE_CHECKING:
    from rlx.ir import Node

OF_BOTH_WIDTHS: Final = (
    QAdd, QAveragePool2d, QClamp, QConcat, QConv2d, QDense, QMaxPool2d, QMean, QMul, QPad,
    QRequantize, QReshape, QSlice, QSub, QTranspose,
)  # fmt: skip
"""Ops that compute int16 as they do int8."""


def computes_int16(node: Node) -> bool:
    """Whether a node of an op of both widths computes int16.

    Implementations of such an op that read int8 only refuse these nodes.
    """
    return isinstance(node.op, OF_BOTH_WIDTHS) and node.operands[0].type.dtype is DType.I16
