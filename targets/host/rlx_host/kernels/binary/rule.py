"""Sums, differences and products of two float32 tensors of one shape.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.ir import DType, Refusal
from rlx.ops.real import RealAdd, RealMul, RealSub
from rlx_c.layer import Kernel
from rlx_host.layer import NativeLayer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Node, Op
    from rlx_host.instruction_set import InstructionSet

_SYMBOLS: Final[Mapping[type[Op], str]] = {RealAdd: "+", RealMul: "*", RealSub: "-"}


def binary(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a function of two operands."""
    del instructions
    x, y = (operand.type for operand in node.operands)
    if x.dtype is not DType.F32:
        return Refusal("its operands are not f32")
    if x.shape != y.shape:
        return Refusal("its operands differ in shape")
    op = type(node.op)
    constants = {"symbol": _SYMBOLS[op], "count": x.size}
    return NativeLayer(Kernel.of(op.name.removeprefix("real."), "binary/kernel", constants), (0, 1))
