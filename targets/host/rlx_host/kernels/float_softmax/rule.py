"""Softmax of float32 along the last axis.

Tests: tests/targets/host/test_float_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir import DType, Refusal
from rlx.ops.fused import FusedSoftmax
from rlx_c.layer import Kernel
from rlx_host.layer import NativeLayer

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_host.instruction_set import InstructionSet


def softmax(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a softmax."""
    del instructions
    assert isinstance(node.op, FusedSoftmax)
    x = node.operands[0].type
    if x.dtype is not DType.F32:
        return Refusal("its operand is not f32")
    if node.op.form.axis != x.rank - 1:
        return Refusal("it is along another axis than the last one")
    width = x.static_shape[-1]
    constants = {"rows": x.size // width, "width": width}
    return NativeLayer(
        Kernel.of("float_softmax", "float_softmax/kernel", constants, ("floats", "softmax")), (0,)
    )
