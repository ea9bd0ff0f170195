"""Functions of one 8-bit value as tables of all 256 results, which ``evaluate`` fills.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import DType, Refusal
from rlx_c.layer import Kernel
from rlx_host.layer import NativeLayer, Split, is_fixed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array, Node
    from rlx_host.instruction_set import InstructionSet

ELEMENTS: Final[Mapping[DType, str]] = {
    DType.I8: "int8_t",
    DType.U8: "uint8_t",
    DType.I16: "int16_t",
    DType.I32: "int32_t",
    DType.F32: "float",
}
"""C type of element types that kernels write."""


def lookup(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of an op that maps each element of its one operand separately."""
    del instructions
    x = node.operands[0].type
    quant = getattr(node.op, "quant", None)
    if quant is not None and quant.axis is not None:
        return Refusal("its scales are along an axis")
    return _layer(node, 1, _all_values(x.dtype))


def lookup_by_channel(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of an op whose second operand has a constant for each channel."""
    del instructions
    x, constant = node.operands
    if not is_fixed(constant):
        return Refusal("its slopes are computed")
    return _layer(node, constant.type.size, _all_values(x.type.dtype))


def _layer(node: Node, channels: int, values: Array | None) -> NativeLayer | Refusal:
    result = node.types[0]
    if values is None:
        return Refusal("its operand does not have 8 bits")
    if result.dtype not in ELEMENTS:
        return Refusal(f"it makes {result.dtype.value}")

    def table(operands: Sequence[Array]) -> Array:
        if channels == 1 and len(operands) == 1:
            return np.asarray(node.op.evaluate(values)[0])
        columns = np.broadcast_to(values[:, np.newaxis], (256, channels))
        return np.ascontiguousarray(node.op.evaluate(columns, operands[1])[0].T)

    units = result.size // channels
    split = Split.of(units, result.size)
    constants = {
        "split": split is not None,
        "units": units,
        "element": ELEMENTS[result.dtype],
        "channels": channels,
    }
    kind = node.op.name.partition(".")[2]
    return NativeLayer(Kernel.of(kind, "lookup/kernel", constants), (0,), (table,), split=split)


def _all_values(dtype: DType) -> Array | None:
    """Return all values of an 8-bit integer type, at the index of their bits."""
    if dtype not in (DType.I8, DType.U8):
        return None
    return np.arange(256, dtype=np.uint8).view(dtype.numpy)
