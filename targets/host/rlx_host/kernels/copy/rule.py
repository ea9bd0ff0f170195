"""Ops that move values: strided copies.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

from rlx_c.layer import Kernel
from rlx_c.nest import StridedLoop, nest, row_major, split_run
from rlx_host.layer import NativeLayer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node
    from rlx.ops.q import QConcat, QPad, QSlice, QTranspose
    from rlx_host.instruction_set import InstructionSet

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
    part = _part(shape, [strides[axis] for axis in op.axes], row_major(shape))
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
    parts, first = [], 0
    for number, operand in enumerate(node.operands):
        shape = operand.type.static_shape
        parts.append(_part(shape, row_major(shape), strides, operand=number, write=first))
        first += shape[op.axis] * strides[op.axis]
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
        "element": "int8_t",
        "operands": tuple(f"x{number}" for number in range(len(node.operands))),
        "parts": parts,
        "fill": fill,
        "length": node.types[0].size,
    }
    kernel = Kernel.of(kind, "copy/kernel", constants)
    return NativeLayer(kernel, tuple(range(len(node.operands))))
