"""Ops that only move values: each is read once, in the order of the results."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from rlx.ops.q import QConcat, QPad, QSlice, QTranspose
from rlx_fpga.architectures.engine.lower import IDENTITY, RULES, Reads, refused
from rlx_fpga.architectures.engine.program import Loops, Mode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node
    from rlx_fpga.architectures.engine.lower import Assembler


@dataclass(frozen=True, slots=True)
class _MoveAxis:
    """A loop over results.

    Attributes:
        count: Iterations.
        stride: Bytes from one value to the next.
        before: Padding before the operand.
        size: Size of the operand on a padded axis; None on an axis without padding.
    """

    count: int
    stride: int
    before: int = 0
    size: int | None = None


@RULES.rule(QSlice)
def assemble_slice(build: Assembler, node: Node) -> None:
    """Read every step-th value of each axis."""
    op = cast("QSlice", node.op)
    strides = _strides(node.operands[0].type.static_shape)
    axes = [
        _MoveAxis(len(range(*bounds)), step * stride)
        for bounds, step, stride in zip(
            zip(op.start, op.stop, op.step, strict=True), op.step, strides, strict=True
        )
    ]
    start = sum(a * b for a, b in zip(op.start, strides, strict=True))
    _append(build, node, axes, Reads(Mode.MAX, _NO_LOOPS, 1, 1, start))


@RULES.rule(QTranspose)
def assemble_transpose(build: Assembler, node: Node) -> None:
    """Read along the axes in another order."""
    shape = node.operands[0].type.static_shape
    strides = _strides(shape)
    axes = [_MoveAxis(shape[axis], strides[axis]) for axis in cast("QTranspose", node.op).axes]
    _append(build, node, axes, Reads(Mode.MAX, _NO_LOOPS, 1, 1))


@RULES.rule(QPad)
def assemble_pad(build: Assembler, node: Node) -> None:
    """Read outside of the operand too."""
    op = cast("QPad", node.op)
    shape, results = node.operands[0].type.static_shape, node.types[0].static_shape
    strides = _strides(shape)
    axes = [
        _MoveAxis(count, stride) if count == size else _MoveAxis(count, stride, before, size)
        for count, stride, before, size in zip(results, strides, op.before, shape, strict=True)
    ]
    start = -sum(a * b for a, b in zip(op.before, strides, strict=True))
    _append(build, node, axes, Reads(Mode.MAX, _NO_LOOPS, 1, 1, start, op.value))


@RULES.rule(QConcat)
def assemble_concat(build: Assembler, node: Node) -> None:
    """Copy one operand after the other, skipping the results of the others."""
    result = node.types[0].static_shape
    axis = cast("QConcat", node.op).axis % len(result)
    if any(operand.constant is not None for operand in node.operands):
        raise refused(node, "the engine joins computed tensors only")
    whole, offset = math.prod(result[axis:]), 0
    for operand_index, operand in enumerate(node.operands):
        shape = operand.type.static_shape
        outer, inner = math.prod(shape[:axis]), math.prod(shape[axis:])
        loops = Loops((1, outer, inner, 1, 1, 1), (0, inner, 1, 0, 0))
        reads = Reads(
            Mode.MAX, loops, 1, 1, operand=operand_index, offset=offset, skip=whole - inner
        )
        build.append(node, reads, [IDENTITY])
        offset += inner


_NO_LOOPS = Loops((1, 1, 1, 1, 1, 1), (0, 0, 0, 0, 0))


def _append(build: Assembler, node: Node, axes: list[_MoveAxis], reads: Reads) -> None:
    """Append the instruction that iterates over ``axes``, if three loops are enough."""
    row, column, block = _three(node, _merge_axes(axes))
    loops = Loops(
        counts=(row.count, column.count, block.count, 1, 1, 1),
        strides=(row.stride, column.stride, block.stride, 0, 0),
        steps=(int(row.size is not None), int(column.size is not None), 0, 0),
        origin=(-row.before, -column.before),
        size=(row.size or 1, column.size or 1),
    )
    build.append(node, replace(reads, loops=loops), [IDENTITY])


def _merge_axes(axes: Sequence[_MoveAxis]) -> list[_MoveAxis]:
    """Return equivalent axes, contiguous ones merged."""
    merged_axes: list[_MoveAxis] = []
    for axis in axes:
        if axis.count == 1 and axis.size is None:
            continue
        last = merged_axes[-1] if merged_axes else None
        plain = axis.size is None and last is not None and last.size is None
        if last is not None and plain and last.stride == axis.stride * axis.count:
            merged_axes[-1] = _MoveAxis(last.count * axis.count, axis.stride)
        else:
            merged_axes.append(axis)
    return merged_axes


def _three(node: Node, axes: list[_MoveAxis]) -> list[_MoveAxis]:
    """Return rows, columns and blocks; blocks cannot be padded."""
    if axes and axes[-1].size is not None:
        axes = [*axes, _MoveAxis(1, 0)]
    if len(axes) > 3:
        raise refused(node, "the engine moves values along at most three axes")
    return [_MoveAxis(1, 0)] * (3 - len(axes)) + axes


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
