"""Fuse activation clamps into the ops before them.

Tests: tests/unit/passes/test_rewrites.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rlx.ir import Rewriter
from rlx.ops.q import QClamp
from rlx.passes.base import Pass

if TYPE_CHECKING:
    from rlx.ir import Graph


@dataclass(frozen=True, slots=True)
class FuseClamps(Pass):
    """``clamp(op(x))`` becomes ``op(x)`` with narrower bounds, if no other node reads ``op(x)``."""

    name: ClassVar[str] = "fuse-clamps"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph with clamps fused."""
        users = graph.users()
        outputs = set(graph.outputs)
        rewriter = Rewriter(graph, by=self.name)
        for node in rewriter:
            if not isinstance(node.op, QClamp):
                continue
            (old,) = node.operands
            producer = rewriter[old].node
            read_once = len(users[old]) == 1 and old not in outputs
            if not read_once or not producer.op.traits.clamps:
                continue
            op = cast("Any", producer.op)
            low, high = clamp_of_clamp(op.low, op.high, node.op)
            fused = rewriter.new.apply(
                replace(op, low=low, high=high),
                *producer.operands,
                name=producer.name,
                quant=node.types[0].quant,
                origin=producer.origin.join([node.origin]).through(self.name),
            )
            rewriter.join((old.node, node), {node.result: fused})
        return rewriter.finish()


def clamp_of_clamp(low: int, high: int, outer: QClamp) -> tuple[int, int]:
    """Return the bounds of one clamp that equals a clamp to [low, high] followed by ``outer``."""
    return (
        min(max(low, outer.low), outer.high),
        min(max(high, outer.low), outer.high),
    )
