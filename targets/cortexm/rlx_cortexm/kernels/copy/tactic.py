"""Ops that move values: all but the reshape are strided copies.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, cast

from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, LoweredLayer
from rlx_c.nest import StridedLoop, nest, row_major, split_run
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node
    from rlx.ops.q import QConcat, QPad, QSlice, QTranspose

Part = tuple[int, tuple[StridedLoop, ...], int, int, int]
"""Operand, loops, elements of a run, first element read, first element written."""

SINGLE: Final = 4.6
"""Instructions to copy one value."""

RUN: Final = 14
BYTE: Final = 0.5
"""To copy a run of values with the C library, and for each of its bytes."""


def nothing(node: Node) -> tuple[Candidate, ...]:
    """Do nothing: the values stay in their order."""
    return (Candidate.of(LoweredLayer(None, operands=node.operands), "nothing"),)


def transpose(node: Node) -> tuple[Candidate, ...]:
    """Copy element by element, or run by run where the last axes stay in place."""
    op = cast("QTranspose", node.op)
    shape = node.types[0].static_shape
    strides = row_major(node.operands[0].type.static_shape)
    part = _part(shape, [strides[a] for a in op.axes], row_major(shape))
    return _copies(node, "transpose", (part,))


def slice_(node: Node) -> tuple[Candidate, ...]:
    """Copy the part."""
    op = cast("QSlice", node.op)
    shape = node.types[0].static_shape
    strides = row_major(node.operands[0].type.static_shape)
    steps = [stride * step for stride, step in zip(strides, op.step, strict=True)]
    first = sum(stride * start for stride, start in zip(strides, op.start, strict=True))
    return _copies(node, "slice", (_part(shape, steps, row_major(shape), read=first),))


def pad(node: Node) -> tuple[Candidate, ...]:
    """Fill the result with the padding value, then copy the operand into it."""
    op = cast("QPad", node.op)
    shape = node.operands[0].type.static_shape
    strides = row_major(node.types[0].static_shape)
    first = sum(stride * before for stride, before in zip(strides, op.before, strict=True))
    part = _part(shape, row_major(shape), strides, write=first)
    return _copies(node, "pad", (part,), fill=op.value)


def concat(node: Node) -> tuple[Candidate, ...]:
    """Copy each operand to its place."""
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


def _parameters(count: int) -> tuple[str, ...]:
    """Return the names of the operands in C."""
    return ("x",) if count == 1 else tuple(f"x{number}" for number in range(count))


def _copies(
    node: Node, kind: str, parts: tuple[Part, ...], fill: int | None = None
) -> tuple[Candidate, ...]:
    constants = {
        "operands": _parameters(len(node.operands)),
        "parts": parts,
        "fill": fill,
        "length": node.types[0].size,
    }
    copied = sum(
        _instructions(math.prod(loop.extent for loop in loops), run)
        for _, loops, run, _, _ in parts
    )
    filled = 0 if fill is None else _instructions(1, node.types[0].size)
    kernel = Kernel.of(kind, "copy/kernel", constants)
    layer = LoweredLayer(kernel, operands=node.operands, instructions=round(copied + filled))
    return (Candidate.of(layer, "copy"),)


def _instructions(runs: int, length: int) -> float:
    """Return the instructions to copy ``runs`` runs of ``length`` values."""
    return runs * (SINGLE if length == 1 else RUN + BYTE * length)


SUMMARY: Final = "`copy`: contiguous elements are copied, no arithmetic."
CONCAT: Final = Tactic(concat, SUMMARY, baseline=1.5)
NOTHING: Final = Tactic(nothing, "")
PAD: Final = Tactic(pad, SUMMARY, baseline=1.5)
SLICE: Final = Tactic(slice_, SUMMARY, baseline=1.5)
TRANSPOSE: Final = Tactic(transpose, SUMMARY, baseline=1.5)
