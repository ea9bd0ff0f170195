"""Fuse explicit padding into the windows that read it.

Tests: tests/unit/passes/test_rewrites.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import rebuild
from rlx.ops.q import QConv2d, QPad
from rlx.passes.base import Pass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, Node, Value


@dataclass(frozen=True, slots=True)
class FusePads(Pass):
    """``conv2d(pad(x))`` becomes ``conv2d(x)`` with more padding.

    Only where the pad adds rows and columns of the convolution's zero point: then both compute
    the same.
    """

    name: ClassVar[str] = "fuse-pads"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph with pads fused."""
        return rebuild(graph, _visit, by=self.name)


def _visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
    if not isinstance(node.op, QConv2d):
        return None
    conv, pad = node.op, operands[0].node.op
    if not isinstance(pad, QPad) or pad.value != conv.x_zero_point or not _spatial(pad):
        return None
    (top, bottom), (left, right) = conv.window.padding
    padding = (
        (top + pad.before[1], bottom + pad.after[1]),
        (left + pad.before[2], right + pad.after[2]),
    )
    fused = replace(conv, window=replace(conv.window, padding=padding))
    x = operands[0].node.operands[0]
    origin = node.origin.join([operands[0].node.origin]).through(FusePads.name)
    return [new.apply(fused, x, *operands[1:], quant=node.types[0].quant, origin=origin)]


def _spatial(pad: QPad) -> bool:
    """Return whether an NHWC pad leaves batch and channels alone."""
    return all(
        len(amounts) == 4 and amounts[0] == 0 and amounts[3] == 0
        for amounts in (pad.before, pad.after)
    )
