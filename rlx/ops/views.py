"""Ops whose results are within the bytes of their operands, or hold nothing but these."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING, cast

from rlx.ir.views import JOINS, VIEWS
from rlx.ops.q import QConcat, QReshape, QSlice
from rlx.ops.real import (
    RealBitcast,
    RealBroadcastTo,
    RealCast,
    RealConcat,
    RealPad,
    RealReshape,
    RealReverse,
    RealSlice,
    RealTranspose,
)

if TYPE_CHECKING:
    from rlx.ir import Node


def whole_offset(node: Node) -> int:
    """Return 0: the result has the bytes of the operand."""
    del node
    return 0


def slice_offset(node: Node) -> int | None:
    """Return the offset of a slice, in bytes; None unless it is one run of elements.

    A run is a part of one axis, with all axes after it.
    """
    op, type_ = cast("QSlice | RealSlice", node.op), node.operands[0].type
    lengths = node.types[0].static_shape
    partial = [i for i, n in enumerate(lengths) if n != type_.static_shape[i]]
    if any(n != 1 for n in lengths[: max(partial, default=0)]):
        return None
    if any(step != 1 and n > 1 for step, n in zip(op.step, lengths, strict=True)):
        return None
    strides = [math.prod(type_.static_shape[i + 1 :]) for i in range(type_.rank)]
    starts = cast("tuple[int, ...]", op.start)
    first = sum(start * stride for start, stride in zip(starts, strides, strict=True))
    # A part of a byte has no address.
    return first * type_.dtype.bits // 8 if type_.dtype.bits >= 8 or not partial else None


def concat_offsets(node: Node) -> tuple[int, ...] | None:
    """Return byte offsets of operands in a concatenation along its first axis that is not 1."""
    op, type_ = cast("QConcat | RealConcat", node.op), node.types[0]
    if any(n != 1 for n in type_.static_shape[: op.axis % type_.rank]) or type_.dtype.bits < 8:
        return None
    ends = list(accumulate(operand.type.nbytes for operand in node.operands))
    return (0, *ends[:-1])


def cast_offset(node: Node) -> int | None:
    """Return 0 for a cast to the element type that is there."""
    return 0 if node.types[0].dtype is node.operands[0].type.dtype else None


def transpose_offset(node: Node) -> int | None:
    """Return 0 if only axes of length 1 change their place among the others."""
    op, shape = cast("RealTranspose", node.op), node.operands[0].type.shape
    long = [axis for axis in op.axes if shape[axis] != 1]
    return 0 if long == sorted(long) else None


def reverse_offset(node: Node) -> int | None:
    """Return 0 if only axes of length 1 are turned around."""
    op, shape = cast("RealReverse", node.op), node.operands[0].type.shape
    return 0 if all(shape[axis] == 1 for axis in op.axes) else None


def grown_offset(node: Node) -> int | None:
    """Return 0 for a broadcast that repeats nothing, and a pad that adds nothing."""
    return 0 if node.types[0].size == node.operands[0].type.size else None


VIEWS.update(
    {
        QReshape: whole_offset, QSlice: slice_offset, RealBitcast: whole_offset,
        RealBroadcastTo: grown_offset, RealCast: cast_offset, RealPad: grown_offset,
        RealReshape: whole_offset, RealReverse: reverse_offset, RealSlice: slice_offset,
        RealTranspose: transpose_offset,
    }
)  # fmt: skip
JOINS.update({QConcat: concat_offsets, RealConcat: concat_offsets})
