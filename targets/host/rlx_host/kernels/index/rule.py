"""Rows read and written by index. A wrong index ends the run.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from rlx.ir import DType, Refusal
from rlx.ops.real.index import Scatter
from rlx_c.layer import Kernel
from rlx_host.layer import NativeLayer

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.real import RealGather, RealScatter
    from rlx_host.instruction_set import InstructionSet


def gather(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer that reads rows."""
    del instructions
    return _rows(node, "gather", cast("RealGather", node.op).axis)


def scatter(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer that writes rows."""
    del instructions
    op = cast("RealScatter", node.op)
    if op.merge is not Scatter.REPLACE:
        return Refusal("it computes with what it replaces")
    return _rows(node, "scatter", op.axis)


def _rows(node: Node, kind: str, axis: int) -> NativeLayer | Refusal:
    x, indices = (value.type for value in node.operands[:2])
    if indices.dtype not in (DType.I32, DType.I64):
        return Refusal("its indices are neither i32 nor i64")
    shape = x.static_shape
    axis %= len(shape)
    constants = {
        "index": "int32_t" if indices.dtype is DType.I32 else "int64_t",
        "blocks": math.prod(shape[:axis]),
        "extent": shape[axis],
        "count": indices.size,
        "row_bytes": math.prod(shape[axis + 1 :]) * x.dtype.numpy.itemsize,
    }
    kernel = Kernel.of(kind, f"index/{kind}", constants)
    return NativeLayer(kernel, tuple(range(len(node.operands))), may_fail=True)
