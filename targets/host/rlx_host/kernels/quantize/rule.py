"""Quantized values of floats by one scale.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx.ir import DType, Refusal
from rlx.ops.real import Ties
from rlx.ops.real.cast import integer_range
from rlx_c.layer import Kernel
from rlx_host.layer import NativeLayer, Split

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Node
    from rlx.ops.real import RealQuantize
    from rlx_host.instruction_set import InstructionSet

_ELEMENTS: Final[Mapping[DType, str]] = {
    DType.I8: "int8_t",
    DType.U8: "uint8_t",
    DType.I16: "int16_t",
}
_FUNCTIONS: Final[Mapping[Ties, str]] = {
    Ties.AWAY: "roundf",
    Ties.EVEN: "rintf",
    Ties.FLOOR: "floorf",
    Ties.CEIL: "ceilf",
}
"""C functions that round as each way of breaking ties says."""


def quantize(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a quantization."""
    del instructions
    op = cast("RealQuantize", node.op)
    if node.operands[0].type.dtype is not DType.F32:
        return Refusal("its operand is not f32")
    if op.quant.axis is not None:
        return Refusal("its scales are along an axis")
    if op.dtype not in _ELEMENTS or op.ties not in _FUNCTIONS:
        return Refusal(f"it makes {op.dtype.value}, ties {op.ties.value}")
    scale = np.float32(op.quant.scale[0])
    if scale == 0:
        return Refusal("its scale is 0 in float32")
    low, high = integer_range(op.dtype)
    count = node.types[0].size
    split = Split.of(count, 2 * count)
    constants = {
        "split": split is not None,
        "element": _ELEMENTS[op.dtype],
        "scale": float(scale).hex(),
        "function": _FUNCTIONS[op.ties],
        "zero_point": op.quant.zero_point[0],
        "low": low,
        "high": high,
        "count": count,
    }
    return NativeLayer(Kernel.of("quantize", "quantize/kernel", constants), (0,), split=split)
