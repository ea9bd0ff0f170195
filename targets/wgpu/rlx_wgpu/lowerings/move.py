"""Kernels of ops that move elements, of any type that the device holds.

Tests: tests/targets/wgpu/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops import q, real
from rlx_wgpu.lowerings.indexing import broadcast, coordinates, offset, row_major
from rlx_wgpu.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node
    from rlx_wgpu.kernel import Writer


@RULES.rule(q.QReshape, real.RealReshape)
def reshape(node: Node, writer: Writer) -> None:
    """Write nothing: the result is in the words of the operand."""
    del node, writer


@RULES.rule(q.QTranspose, real.RealTranspose)
def transpose(node: Node, writer: Writer) -> None:
    """Write the elements in another order of axes."""
    assert isinstance(node.op, q.QTranspose | real.RealTranspose)
    strides = row_major(node.operands[0].type.static_shape)
    coords = coordinates(node.result.type.static_shape)
    _write_moved(node, writer, offset(coords, [strides[axis] for axis in node.op.axes]))


@RULES.rule(real.RealBroadcastTo)
def broadcast_to(node: Node, writer: Writer) -> None:
    """Write the elements repeated along axes."""
    shapes = (node.operands[0].type.static_shape, node.result.type.static_shape)
    _write_moved(node, writer, broadcast(*shapes))


@RULES.rule(q.QSlice, real.RealSlice)
def take_slice(node: Node, writer: Writer) -> None:
    """Write every so many elements of each axis."""
    op = node.op
    assert isinstance(op, q.QSlice | real.RealSlice)
    strides = row_major(node.operands[0].type.static_shape)
    coords = coordinates(node.result.type.static_shape)
    starts = [start for start in op.start if isinstance(start, int)]  # all sizes are known
    start = sum(first * stride for first, stride in zip(starts, strides, strict=True))
    steps = [step * stride for step, stride in zip(op.step, strides, strict=True)]
    _write_moved(node, writer, f"{start}u + {offset(coords, steps)}")


def _write_moved(node: Node, writer: Writer, index: str) -> None:
    """Write the elements of the operand at ``index``."""
    kernel = writer.kernel()
    kernel.operand("x", node.operands[0])
    writer.write_result(kernel, node, f"  return x({index});")


@RULES.rule(q.QPad)
def pad(node: Node, writer: Writer) -> None:
    """Write the elements with a constant around them."""
    op = node.op
    assert isinstance(op, q.QPad)
    shape = node.operands[0].type.static_shape
    conditions = []
    lines = []
    for axis, coord in enumerate(coordinates(node.result.type.static_shape)):
        lines.append(f"  let a{axis} = i32({coord}) - {op.before[axis]};")
        conditions.append(f"a{axis} >= 0 && a{axis} < {shape[axis]}")
    index = offset([f"u32(a{axis})" for axis in range(len(shape))], row_major(shape))
    lines.append(f"  if (!({' && '.join(conditions) or 'true'})) {{ return {op.value}; }}")
    kernel = writer.kernel()
    kernel.operand("x", node.operands[0])
    writer.write_result(kernel, node, "\n".join([*lines, f"  return x({index});"]))


@RULES.rule(q.QConcat, real.RealConcat)
def concat(node: Node, writer: Writer) -> None:
    """Write the elements of several operands one after the other along an axis."""
    assert isinstance(node.op, q.QConcat | real.RealConcat)
    shape = node.result.type.static_shape
    axis = node.op.axis % len(shape)
    coords = coordinates(shape)
    kernel, lines, begin = writer.kernel(), [f"  let along = {coords[axis]};"], 0
    for number, value in enumerate(node.operands):
        part = value.type.static_shape
        kernel.operand(f"x{number}", value)
        index = _index_in_part(coords, axis, begin, part)
        begin += part[axis]
        lines.append(f"  if (along < {begin}u) {{ return x{number}({index}); }}")
    writer.write_result(kernel, node, "\n".join([*lines, "  return 0;"]))


def _index_in_part(coords: Sequence[str], axis: int, begin: int, part: Sequence[int]) -> str:
    """Return the index in an operand that begins at ``begin`` along ``axis`` of the result."""
    inner = [*coords[:axis], f"(along - {begin}u)", *coords[axis + 1 :]]
    return offset(inner, row_major(part))
