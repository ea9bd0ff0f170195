"""Ops that move values: strided copies.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx.ir import DType
from rlx_c import copies
from rlx_c.copies import strided_copy
from rlx_c.layer import Kernel
from rlx_c.nest import broadcast_strides, row_major
from rlx_host.layer import NativeLayer, Split

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Node
    from rlx.ops.q import QPad
    from rlx.ops.real import RealReverse
    from rlx_c.copies import Copy
    from rlx_host.instruction_set import InstructionSet

ELEMENTS: Final[Mapping[DType, str]] = {
    DType.F64: "double",
    DType.F32: "float",
    DType.I64: "int64_t",
    DType.U64: "uint64_t",
    DType.I32: "int32_t",
    DType.U32: "uint32_t",
    DType.F16: "uint16_t",
    DType.BF16: "uint16_t",
    DType.I16: "int16_t",
    DType.U16: "uint16_t",
}
"""C type of an element; of others a byte."""


def reshape(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer that copies all elements."""
    del instructions
    return _copies(node, "reshape", (strided_copy((node.types[0].size,), (1,), (1,)),))


def transpose(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer that copies in the order of the result."""
    del instructions
    return _copies(node, "transpose", (copies.transposition(node),))


def slice_(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer that copies a part."""
    del instructions
    return _copies(node, "slice", (copies.part(node),))


def broadcast(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer that repeats elements."""
    del instructions
    shape = node.types[0].static_shape
    strides = broadcast_strides(node.operands[0].type.static_shape, shape)
    return _copies(node, "broadcast", (strided_copy(shape, strides, row_major(shape)),))


def reverse(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer that copies from the last element of some axes to the first."""
    del instructions
    op = cast("RealReverse", node.op)
    shape = node.types[0].static_shape
    turned = {axis % len(shape) for axis in op.axes}
    strides = [-s if axis in turned else s for axis, s in enumerate(row_major(shape))]
    first = sum((shape[axis] - 1) * row_major(shape)[axis] for axis in turned)
    return _copies(node, "reverse", (strided_copy(shape, strides, row_major(shape), read=first),))


def pad(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer that fills the result, then copies the operand into it."""
    del instructions
    return _copies(node, "pad", (copies.padding(node),), fill=cast("QPad", node.op).value)


def concat(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer that copies each operand to its place."""
    del instructions
    return _copies(node, "concat", copies.concatenation(node))


def _copies(node: Node, kind: str, parts: tuple[Copy, ...], fill: int | None = None) -> NativeLayer:
    loops = parts[0][1] if len(parts) == 1 and fill is None else ()
    split = Split.of(loops[0].extent, node.types[0].size // parts[0][2]) if loops else None
    constants = {
        "split": split is not None,
        "element": ELEMENTS.get(node.types[0].dtype, "int8_t"),
        "operands": tuple(f"x{number}" for number in range(len(node.operands))),
        "parts": parts,
        "fill": fill,
        "length": node.types[0].size,
    }
    kernel = Kernel.of(kind, "copy/kernel", constants)
    return NativeLayer(kernel, tuple(range(len(node.operands))), split=split)
