"""Kernels of convolutions, dense layers and pools.

Tests: tests/targets/wgpu/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ops import q
from rlx_wgpu.layout import WORD
from rlx_wgpu.lowerings.indexing import coordinates, offset, row_major
from rlx_wgpu.lowerings.scaling import clamped, define_rescale
from rlx_wgpu.rules import RULES, held

if TYPE_CHECKING:
    from rlx.ir import Array, Node
    from rlx_wgpu.kernel import Kernel, Writer


@RULES.rule(q.QConv2d)
def conv(node: Node, writer: Writer) -> None:
    """Write a convolution: each element is a sum over its window."""
    assert isinstance(node.op, q.QConv2d)
    _, height, width, channels = node.operands[0].type.static_shape
    _write_products(node, writer, node.op.window, (height, width, channels), node.op.groups)


@RULES.rule(q.QDense)
def dense(node: Node, writer: Writer) -> None:
    """Write a dense layer: a convolution of images of one pixel."""
    channels = node.operands[0].type.static_shape[-1]
    _write_products(node, writer, q.Window((1, 1)), (1, 1, channels), 1)


@RULES.rule(q.QMatmul)
def matmul(node: Node, writer: Writer) -> None:
    """Write a product of two computed matrices: each element is a sum."""
    op = node.op
    assert isinstance(op, q.QMatmul)
    kernel, result = writer.kernel(), node.result.type.static_shape
    begins = []
    for name, value in zip("xy", node.operands, strict=True):
        kernel.operand(name, value)
        shape = value.type.static_shape
        # The axis that is summed over has no coordinate in the result.
        summed = len(shape) - (1 if name == "x" else 2)
        strides = [
            0 if n == 1 or a == summed else s
            for a, (n, s) in enumerate(zip(shape, row_major(shape), strict=True))
        ]
        begins.append(offset(coordinates(result)[len(result) - len(shape) :], strides))
    depth, columns = node.operands[1].type.static_shape[-2:]
    define_rescale(kernel, "rescale", op.rescale)
    element = f"""\
  let row = {begins[0]};
  let column = {begins[1]};
  var sum = 0;
  for (var k = 0u; k < {depth}u; k++) {{
    sum += (x(row + k) - ({op.x_zero_point})) * (y(column + k * {columns}u) - ({op.y_zero_point}));
  }}
  return {clamped("rescale(sum, 0u)", op.zero_point, op.low, op.high)};"""
    writer.write_result(kernel, node, element)


def _write_products(
    node: Node, writer: Writer, window: q.Window, image: tuple[int, int, int], groups: int
) -> None:
    op = node.op
    assert isinstance(op, q.QConv2d | q.QDense)
    x, w, bias = node.operands
    inner = image[2] // groups
    kernel = writer.kernel()
    define_rescale(kernel, "rescale", op.rescale)
    is_packed = inner % WORD == 0 and w.constant is not None and bias.constant is not None
    if is_packed:
        assert w.constant is not None
        assert bias.constant is not None
        kernel.operand_words("x_word", x)
        kernel.operand_words("w_word", w)
        kernel.table("bias", _folded(bias.constant, held(w.constant), op.x_zero_point))
    else:
        kernel.operand("x", x)
        kernel.operand("w", w)
        kernel.operand("bias", bias)
    sums = kernel.render(
        "product.wgsl.j2",
        window=window,
        image=image,
        size=window.output_size(image[:2]),
        outputs=w.type.static_shape[0],
        groups=groups,
        is_packed=is_packed,
        zero_point=op.x_zero_point,
        zero_word=(op.x_zero_point & 0xFF) * 0x01010101,
    )
    result = clamped("rescale(sum, o)", op.zero_point, op.low, op.high)
    writer.write_result(kernel, node, f"{sums}  return {result};")


def _folded(bias: Array, w: Array, zero_point: int) -> Array:
    """Return the bias of each output less ``zero_point`` times the sum of its weights, wrapped."""
    sums = w.reshape(len(w), -1).sum(axis=1, dtype=np.int64)
    wide: Array = bias.astype(np.int64) - zero_point * sums
    return wide.astype(np.int32)


@RULES.rule(q.QMaxPool2d)
def max_pool(node: Node, writer: Writer) -> None:
    """Write the maximum of each window."""
    _write_pool(node, writer, "-128", "value = max(value, x(index));", "value")


@RULES.rule(q.QAveragePool2d)
def average_pool(node: Node, writer: Writer) -> None:
    """Write the average of each window, rounded half away from zero."""
    mean = "select(1, -1, value < 0) * ((abs(value) + taps / 2) / taps)"
    _write_pool(node, writer, "0", "value += x(index); taps += 1;", mean)


def _write_pool(node: Node, writer: Writer, start: str, step: str, result: str) -> None:
    op = node.op
    assert isinstance(op, q.QMaxPool2d | q.QAveragePool2d)
    image = node.operands[0].type.static_shape[1:]
    kernel: Kernel = writer.kernel()
    kernel.operand("x", node.operands[0])
    text = kernel.render(
        "pool.wgsl.j2",
        window=op.window,
        image=image,
        size=op.window.output_size((image[0], image[1])),
        start=start,
        step=step,
    )
    writer.write_result(kernel, node, f"{text}  return clamp({result}, {op.low}, {op.high});")
