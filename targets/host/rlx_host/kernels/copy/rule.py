"""Ops that move values: strided copies.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, cast

from rlx.ir import DType
from rlx_c.layer import Kernel
from rlx_c.nest import StridedLoop, broadcast_strides, nest, row_major, split_run
from rlx_host.layer import NativeLayer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Node
    from rlx.ops.q import QConcat, QPad, QSlice, QTranspose
    from rlx.ops.real import RealReverse
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

Part: TypeAlias = tuple[int, tuple[StridedLoop, ...], int, int, int]
"""Operand, loops, elements of a run, first element read, first element written."""


def reshape(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer that copies all elements."""
    del instructions
    return _copies(node, "reshape", (_part((node.types[0].size,), (1,), (1,)),))


def transpose(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer that copies in the order of the result."""
    del instructions
    op = cast("QTranspose", node.op)
    shape = node.types[0].static_shape
    strides = row_major(node.operands[0].type.static_shape)
    part = _part(shape, [strides[axis % len(shape)] for axis in op.axes], row_major(shape))
    return _copies(node, "transpose", (part,))


def slice_(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer that copies a part."""
    del instructions
    op = cast("QSlice", node.op)
    shape = node.types[0].static_shape
    strides = row_major(node.operands[0].type.static_shape)
    steps = [stride * step for stride, step in zip(strides, op.step, strict=True)]
    first = sum(stride * start for stride, start in zip(strides, op.start, strict=True))
    return _copies(node, "slice", (_part(shape, steps, row_major(shape), read=first),))


def broadcast(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer that repeats elements."""
    del instructions
    shape = node.types[0].static_shape
    strides = broadcast_strides(node.operands[0].type.static_shape, shape)
    return _copies(node, "broadcast", (_part(shape, strides, row_major(shape)),))


def reverse(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer that copies from the last element of some axes to the first."""
    del instructions
    op = cast("RealReverse", node.op)
    shape = node.types[0].static_shape
    turned = {axis % len(shape) for axis in op.axes}
    strides = [-s if axis in turned else s for axis, s in enumerate(row_major(shape))]
    first = sum((shape[axis] - 1) * row_major(shape)[axis] for axis in turned)
    return _copies(node, "reverse", (_part(shape, strides, row_major(shape), read=first),))


def pad(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer that fills the result, then copies the operand into it."""
    del instructions
    op = cast("QPad", node.op)
    shape = node.operands[0].type.static_shape
    strides = row_major(node.types[0].static_shape)
    first = sum(stride * before for stride, before in zip(strides, op.before, strict=True))
    part = _part(shape, row_major(shape), strides, write=first)
    return _copies(node, "pad", (part,), fill=op.value)


def concat(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer that copies each operand to its place."""
    del instructions
    op = cast("QConcat", node.op)
    strides = row_major(node.types[0].static_shape)
    axis = op.axis % len(strides)
    parts, first = [], 0
    for number, operand in enumerate(node.operands):
        shape = operand.type.static_shape
        parts.append(_part(shape, row_major(shape), strides, operand=number, write=first))
        first += shape[axis] * strides[axis]
    return _copies(node, "concat", tuple(parts))


def _part(
    shape: Sequence[int],
    x_strides: Sequence[int],
    y_strides: Sequence[int],
    *,
    operand: int = 0,
    read: int = 0,
    write: int = 0,
) -> Part:
    loops, run = split_run(nest(shape, x_strides, y_strides))
    return operand, loops, run, read, write


def _copies(node: Node, kind: str, parts: tuple[Part, ...], fill: int | None = None) -> NativeLayer:
    constants = {
        "element": ELEMENTS.get(node.types[0].dtype, "int8_t"),
        "operands": tuple(f"x{number}" for number in range(len(node.operands))),
        "parts": parts,
        "fill": fill,
        "length": node.types[0].size,
    }
    kernel = Kernel.of(kind, "copy/kernel", constants)
    return NativeLayer(kernel, tuple(range(len(node.operands))))
