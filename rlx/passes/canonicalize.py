"""Remove ops that change nothing and merge those that undo or repeat each other.

Tests: tests/unit/passes/test_rewrites.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rlx.ir import rebuild
from rlx.ops.q import (
    CODE_RANGE,
    QClamp,
    QPad,
    QReshape,
    QResizeBilinear,
    QResizeNearest,
    QSlice,
    QTranspose,
)
from rlx.passes.base import Pass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, Node, Value


@dataclass(frozen=True, slots=True)
class Canonicalize(Pass):
    """Drop identities; merge reshapes of reshapes and transposes of transposes.

    A transpose that only moves dimensions of 1 becomes a reshape.
    """

    name: ClassVar[str] = "canonicalize"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph in its simplest form."""
        return rebuild(graph, _visit, by=self.name)


def _visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
    if is_identity(node):
        return operands
    match node.op:
        case QReshape(shape=shape) if isinstance(operands[0].node.op, QReshape):
            inner = operands[0].node.operands[0]
            return [new.apply(QReshape(shape=shape), inner, **_merged(node, operands[0].node))]
        case QTranspose(axes=axes) if isinstance(operands[0].node.op, QTranspose):
            first = operands[0].node.op.axes
            merged = QTranspose(axes=tuple(first[a] for a in axes))
            inner = operands[0].node.operands[0]
            return [new.apply(merged, inner, **_merged(node, operands[0].node))]
        case QTranspose(axes=axes) if _keeps_order(axes, operands[0].type.static_shape):
            shape = node.types[0].static_shape
            return [new.apply(QReshape(shape=shape), operands[0], quant=node.types[0].quant)]
    return None


def _merged(node: Node, before: Node) -> dict[str, Any]:
    """Return quantization and origin of a node that also replaces another one before it."""
    origin = node.origin.join([before.origin]).through(Canonicalize.name)
    return {"quant": node.types[0].quant, "origin": origin}


def is_identity(node: Node) -> bool:
    """Return whether the node returns its only operand unchanged, quantization included."""
    if len(node.operands) != 1 or node.types != (node.operands[0].type,):
        return False
    match node.op:
        case QReshape() | QSlice() | QPad() | QResizeBilinear():
            # Same shape: nothing reshaped, cut off, added or interpolated.
            return True
        case QResizeNearest(align_corners=align_corners, half_pixel_centers=half_pixel_centers):
            # With both, positions are halves, which round up.
            return not (align_corners and half_pixel_centers)
        case QClamp(low=low, high=high):
            return (low, high) == CODE_RANGE[node.types[0].dtype]
        case QTranspose(axes=axes):
            return axes == tuple(sorted(axes))
    return False


def _keeps_order(axes: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Return whether a transpose keeps the elements' order in memory."""
    moved = [a for a in axes if shape[a] != 1]
    return moved == sorted(moved)
