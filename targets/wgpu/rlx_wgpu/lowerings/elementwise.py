"""Kernels of ops that compute an element of one or two others.

Tests: tests/targets/wgpu/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ops import q
from rlx_wgpu.lowerings.indexing import broadcast
from rlx_wgpu.lowerings.scaling import clamped, define_rescale
from rlx_wgpu.rules import RULES

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_wgpu.kernel import Kernel, Writer


def _operands(node: Node, writer: Writer) -> tuple[Kernel, list[str]]:
    """Return a kernel that reads the operands, and the expression of an element of each."""
    kernel, elements = writer.kernel(), []
    for number, value in enumerate(node.operands):
        kernel.operand(f"x{number}", value)
        index = broadcast(value.type.static_shape, node.result.type.static_shape)
        elements.append(f"x{number}({index})")
    return kernel, elements


@RULES.rule(q.QAdd, q.QSub)
def add(node: Node, writer: Writer) -> None:
    """Write the sum or difference of quantized values."""
    op = node.op
    assert isinstance(op, q.QAdd)
    kernel, (a, b) = _scaled_operands(op, node, writer)
    total = f"rescale({a} {'-' if isinstance(op, q.QSub) else '+'} {b}, 0u)"
    result = clamped(total, op.zero_point, op.low, op.high)
    writer.write_result(kernel, node, f"  return {result};")


@RULES.rule(q.QSquaredDifference)
def squared_difference(node: Node, writer: Writer) -> None:
    """Write the square of the difference of quantized values."""
    op = node.op
    assert isinstance(op, q.QSquaredDifference)
    kernel, (a, b) = _scaled_operands(op, node, writer)
    result = clamped("rescale(difference * difference, 0u)", op.zero_point, op.low, op.high)
    element = f"  let difference = {a} - {b};\n  return {result};"
    writer.write_result(kernel, node, element)


def _scaled_operands(
    op: q.QAdd | q.QSquaredDifference, node: Node, writer: Writer
) -> tuple[Kernel, tuple[str, str]]:
    """Return a kernel with the rescales of ``op``, and both operands in the common scale."""
    kernel, (x, y) = _operands(node, writer)
    define_rescale(kernel, "rescale_x", op.x_rescale)
    define_rescale(kernel, "rescale_y", op.y_rescale)
    define_rescale(kernel, "rescale", op.rescale)
    a = f"rescale_x(({x} - ({op.x_zero_point})) << {op.left_shift}u, 0u)"
    b = f"rescale_y(({y} - ({op.y_zero_point})) << {op.left_shift}u, 0u)"
    return kernel, (a, b)


@RULES.rule(q.QDiv)
def divide(node: Node, writer: Writer) -> None:
    """Write the quotient of quantized values as a table of all pairs."""
    op = node.op
    assert isinstance(op, q.QDiv)
    kernel, (x, y) = _operands(node, writer)
    kernel.table("entry", op.table().reshape(-1))
    writer.write_result(kernel, node, f"  return entry(u32(({x} + 128) * 256 + {y} + 128));")


@RULES.rule(q.QMul)
def multiply(node: Node, writer: Writer) -> None:
    """Write the product of quantized values."""
    op = node.op
    assert isinstance(op, q.QMul)
    kernel, (x, y) = _operands(node, writer)
    define_rescale(kernel, "rescale", op.rescale)
    product = f"rescale(({x} - ({op.x_zero_point})) * ({y} - ({op.y_zero_point})), 0u)"
    result = clamped(product, op.zero_point, op.low, op.high)
    writer.write_result(kernel, node, f"  return {result};")


@RULES.rule(q.QRequantize, q.QConvert)
def requantize(node: Node, writer: Writer) -> None:
    """Write a change of scale, zero point or element type."""
    op = node.op
    assert isinstance(op, q.QRequantize | q.QConvert)
    limits = (op.low, op.high) if isinstance(op, q.QRequantize) else q.CODE_RANGE[op.dtype]
    kernel, (x,) = _operands(node, writer)
    define_rescale(kernel, "rescale", op.rescale)
    result = clamped(f"rescale({x} - ({op.x_zero_point}), 0u)", op.zero_point, *limits)
    writer.write_result(kernel, node, f"  return {result};")


@RULES.rule(q.QPrelu)
def prelu(node: Node, writer: Writer) -> None:
    """Write values of which the negative ones are multiplied by a slope."""
    op = node.op
    assert isinstance(op, q.QPrelu)
    kernel, (x, slope) = _operands(node, writer)
    define_rescale(kernel, "above", op.rescale)
    define_rescale(kernel, "below", op.slope_rescale)
    result = clamped("scaled", op.zero_point, op.low, op.high)
    element = f"""\
  let x = {x} - ({op.x_zero_point});
  let scaled = select(below(x * ({slope} - ({op.y_zero_point})), 0u), above(x, 0u), x >= 0);
  return {result};"""
    writer.write_result(kernel, node, element)


@RULES.rule(q.QClamp)
def clamp(node: Node, writer: Writer) -> None:
    """Write the limits of values."""
    assert isinstance(node.op, q.QClamp)
    kernel, (x,) = _operands(node, writer)
    writer.write_result(kernel, node, f"  return clamp({x}, {node.op.low}, {node.op.high});")


@RULES.rule(q.QMaximum, q.QMinimum)
def extreme(node: Node, writer: Writer) -> None:
    """Write the larger or smaller of two values."""
    function = "max" if isinstance(node.op, q.QMaximum) else "min"
    kernel, (x, y) = _operands(node, writer)
    writer.write_result(kernel, node, f"  return {function}({x}, {y});")


@RULES.rule(q.QTable)
def table(node: Node, writer: Writer) -> None:
    """Write a function of one value as a table."""
    assert isinstance(node.op, q.QTable)
    kernel, (x,) = _operands(node, writer)
    kernel.table("entry", np.array(node.op.table, np.int8))
    writer.write_result(kernel, node, f"  return entry(u32({x} + 128));")
