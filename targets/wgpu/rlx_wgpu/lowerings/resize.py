"""Kernels of images of another size: sources and weights of rows and columns are tables.

Tests: tests/targets/wgpu/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ops import q
from rlx.ops.numerics.resampling import POSITION_BITS
from rlx_wgpu.lowerings.indexing import coordinates
from rlx_wgpu.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Array, Node
    from rlx_wgpu.kernel import Kernel, Writer


@RULES.rule(q.QResizeNearest)
def resize_nearest(node: Node, writer: Writer) -> None:
    """Write copies of the nearest elements."""
    assert isinstance(node.op, q.QResizeNearest)
    rows, columns = (axis.nearest for axis in node.op.axes(node.operands[0].type.static_shape[1:3]))
    kernel = _kernel(node, writer, {"row": rows, "column": columns})
    element = f"{_position(node)}  return pixel(row(oy), column(ox), n, c);"
    writer.write_result(kernel, node, element)


@RULES.rule(q.QResizeBilinear)
def resize_bilinear(node: Node, writer: Writer) -> None:
    """Write the exact weighted sums, rounded half away from zero."""
    assert isinstance(node.op, q.QResizeBilinear)
    tables = {}
    for name, axis in zip("yx", node.op.axes(node.operands[0].type.static_shape[1:3]), strict=True):
        tables[f"{name}_lower"], tables[f"{name}_upper"], tables[f"{name}_weight"] = axis.neighbours
    kernel = _kernel(node, writer, tables)
    unit, bits = 1 << POSITION_BITS, 2 * POSITION_BITS
    kernel.define(f"""\
fn between(y: i32, ox: u32, n: u32, c: u32) -> i32 {{
  let above = x_weight(ox);
  return pixel(y, x_lower(ox), n, c) * ({unit} - above) + pixel(y, x_upper(ox), n, c) * above;
}}""")
    element = f"""\
{_position(node)}\
  let above = y_weight(oy);
  let top = between(y_lower(oy), ox, n, c);
  let sum = top * ({unit} - above) + between(y_upper(oy), ox, n, c) * above;
  return (sum + {1 << (bits - 1)} + (sum >> 31u)) >> {bits}u;"""
    writer.write_result(kernel, node, element)


def _kernel(node: Node, writer: Writer, tables: Mapping[str, Array]) -> Kernel:
    """Return a kernel with tables, and ``pixel(y, x, n, c)`` of the operand."""
    _, height, width, channels = node.operands[0].type.static_shape
    kernel = writer.kernel()
    kernel.operand("value", node.operands[0])
    for name, array in tables.items():
        kernel.table(name, np.asarray(array, np.int32))
    kernel.define(f"""\
fn pixel(y: i32, x: i32, n: u32, c: u32) -> i32 {{
  return value(((n * {height}u + u32(y)) * {width}u + u32(x)) * {channels}u + c);
}}""")
    return kernel


def _position(node: Node) -> str:
    """Return the statements that define image, row, column and channel of element ``i``."""
    names = ("n", "oy", "ox", "c")
    coords = coordinates(node.result.type.static_shape)
    return "".join(f"  let {n} = {c};\n" for n, c in zip(names, coords, strict=True))
