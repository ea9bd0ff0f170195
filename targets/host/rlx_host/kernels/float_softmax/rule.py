"""Softmax of float32 along the last axis.

Tests: tests/targets/host/test_float_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir import DType, Refusal
from rlx.ops.fused import FusedSoftmax
from rlx_c.layer import Kernel
from rlx_host.layer import NativeLayer, Split

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_host.instruction_set import InstructionSet


def softmax(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a softmax."""
    assert isinstance(node.op, FusedSoftmax)
    x = node.operands[0].type
    if x.dtype is not DType.F32:
        return Refusal("its operand is not f32")
    if node.op.form.axis != x.rank - 1:
        return Refusal("it is along another axis than the last one")
    width = x.static_shape[-1]
    rows = x.size // width
    split = Split.of(rows, 16 * x.size // instructions.lanes)
    constants = {"split": split is not None, "rows": rows, "width": width}
    kernel = Kernel.of("float_softmax", "float_softmax/kernel", constants, ("floats", "softmax"))
    return NativeLayer(kernel, (0,), split=split)
