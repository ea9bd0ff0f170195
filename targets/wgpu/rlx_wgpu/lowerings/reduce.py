"""Kernels of ops that compute an element of many along an axis.

Tests: tests/targets/wgpu/test_every_op.py
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rlx.ops import q
from rlx.ops.numerics.exponential import softmax_table
from rlx_wgpu.lowerings.indexing import coordinates, offset, row_major
from rlx_wgpu.lowerings.scaling import clamped, define_rescale
from rlx_wgpu.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node
    from rlx_wgpu.kernel import Writer


@RULES.rule(q.QMean)
def mean(node: Node, writer: Writer) -> None:
    """Write the mean over axes."""
    op = node.op
    assert isinstance(op, q.QMean)
    shape = node.operands[0].type.static_shape
    axes = sorted({axis % len(shape) for axis in op.axes})
    count = math.prod(shape[axis] for axis in axes)
    kernel = writer.kernel()
    kernel.operand("x", node.operands[0])
    define_rescale(kernel, "rescale", op.rescale)
    element = f"""\
  let begin = {_kept_offset(shape, axes)};
  var sum = 0;
  for (var k = 0u; k < {count}u; k++) {{
    sum += x(begin + {_reduced_offset(shape, axes)}) - ({op.x_zero_point});
  }}
  return {clamped("rescale(sum, 0u)", op.zero_point, op.low, op.high)};"""
    writer.write_result(kernel, node, element)


@RULES.rule(q.QArgmax)
def argmax(node: Node, writer: Writer) -> None:
    """Write the index of the first maximum along an axis."""
    assert isinstance(node.op, q.QArgmax)
    shape = node.operands[0].type.static_shape
    axis = node.op.axis % len(shape)
    kth, stride = _reduced_offset(shape, [axis]), row_major(shape)[axis]
    kernel = writer.kernel()
    kernel.operand("x", node.operands[0])
    element = f"""\
  let begin = {_kept_offset(shape, [axis])};
  var best = 0u;
  for (var k = 1u; k < {shape[axis]}u; k++) {{
    if (x(begin + {kth}) > x(begin + best * {stride}u)) {{ best = k; }}
  }}
  return i32(best);"""
    writer.write_result(kernel, node, element)


def _kept_offset(shape: Sequence[int], axes: Sequence[int]) -> str:
    """Return the index of the first element of result ``i``; ``axes`` are reduced."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    strides = row_major(shape)
    return offset(coordinates([shape[a] for a in kept]), [strides[a] for a in kept])


def _reduced_offset(shape: Sequence[int], axes: Sequence[int]) -> str:
    """Return the offset of element ``k`` of those that are reduced."""
    strides = row_major(shape)
    return offset(coordinates([shape[a] for a in axes], "k"), [strides[a] for a in axes])


@RULES.rule(q.QL2Norm)
def l2_norm(node: Node, writer: Writer) -> None:
    """Write vectors divided by their lengths: two numbers for each, then the elements."""
    op = node.op
    assert isinstance(op, q.QL2Norm)
    (x,) = node.operands
    columns = x.type.static_shape[-1]
    count = 2 * math.prod(x.type.static_shape[:-1])
    numbers = replace(writer.layout.scratch(count), size=count)
    for template in ("l2_norm_rows", "l2_norm"):
        kernel = writer.kernel()
        kernel.scales = True
        kernel.operand("x", x)
        kernel.read("number", numbers)
        constants = {"columns": columns, "zero_point": op.x_zero_point}
        element = kernel.render(f"{template}.wgsl.j2", **constants)
        slot = numbers if template == "l2_norm_rows" else writer.layout.of(node.result)
        writer.write(kernel, slot, element)


@RULES.rule(q.QSoftmax)
def softmax(node: Node, writer: Writer) -> None:
    """Write the softmax over the last axis: two numbers for each row, then the elements."""
    op = node.op
    assert isinstance(op, q.QSoftmax)
    (x,) = node.operands
    columns = x.type.static_shape[-1]
    rows = math.prod(x.type.static_shape[:-1])
    numbers = replace(writer.layout.scratch(2 * rows), size=2 * rows)
    exponentials = softmax_table(op.multiplier, op.left_shift, op.diff_min).astype(np.int32)
    for template in ("softmax_rows", "softmax"):
        kernel = writer.kernel()
        kernel.scales = True
        kernel.operand("x", x)
        kernel.table("exponential", exponentials)
        kernel.read("number", numbers)
        if template == "softmax_rows":
            kernel.define(kernel.render("reciprocal.wgsl.j2"))
        element = kernel.render(f"{template}.wgsl.j2", columns=columns, rows=rows)
        slot = numbers if template == "softmax_rows" else writer.layout.of(node.result)
        writer.write(kernel, slot, element)
