"""Moves of values as strided copies: transpositions, parts, padding and concatenations."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

from rlx_c.nest import StridedLoop, nest, row_major, split_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node
    from rlx.ops.q import QConcat, QPad, QSlice, QTranspose

Copy: TypeAlias = tuple[int, tuple[StridedLoop, ...], int, int, int]
"""Operand, loops, elements of a run, first element read, first element written."""


def strided_copy(
    shape: Sequence[int],
    x_strides: Sequence[int],
    y_strides: Sequence[int],
    *,
    operand: int = 0,
    read: int = 0,
    write: int = 0,
) -> Copy:
    """Return the copy of an array of ``shape``, in as few loops as the strides allow.

    Args:
        shape: Elements that are copied along each axis.
        x_strides: Stride of each axis in the operand, in elements.
        y_strides: Stride of each axis in the result, in elements.
        operand: Index of the operand.
        read: Offset of the first element in the operand.
        write: Offset of the first element in the result.
    """
    loops, run = split_run(nest(shape, x_strides, y_strides))
    return operand, loops, run, read, write


def transposition(node: Node) -> Copy:
    """Return the copy of a transposition, in the order of the result."""
    op = cast("QTranspose", node.op)
    shape = node.types[0].static_shape
    strides = row_major(node.operands[0].type.static_shape)
    return strided_copy(shape, [strides[axis % len(shape)] for axis in op.axes], row_major(shape))


def part(node: Node) -> Copy:
    """Return the copy of a slice."""
    op = cast("QSlice", node.op)
    shape = node.types[0].static_shape
    strides = row_major(node.operands[0].type.static_shape)
    steps = [stride * step for stride, step in zip(strides, op.step, strict=True)]
    first = sum(stride * start for stride, start in zip(strides, op.start, strict=True))
    return strided_copy(shape, steps, row_major(shape), read=first)


def padding(node: Node) -> Copy:
    """Return the copy of an operand into its padded form."""
    op = cast("QPad", node.op)
    shape = node.operands[0].type.static_shape
    strides = row_major(node.types[0].static_shape)
    first = sum(stride * before for stride, before in zip(strides, op.before, strict=True))
    return strided_copy(shape, row_major(shape), strides, write=first)


def concatenation(node: Node) -> tuple[Copy, ...]:
    """Return the copy of each operand to its place."""
    op = cast("QConcat", node.op)
    strides = row_major(node.types[0].static_shape)
    axis = op.axis % len(strides)
    copies, first = [], 0
    for number, operand in enumerate(node.operands):
        shape = operand.type.static_shape
        copies.append(strided_copy(shape, row_major(shape), strides, operand=number, write=first))
        first += shape[axis] * strides[axis]
    return tuple(copies)
