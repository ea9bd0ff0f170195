"""Fuse activation clamps into the ops before them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rlx.ir import rebuild
from rlx.ops.q import (
    QAdd,
    QAveragePool2d,
    QClamp,
    QConv2d,
    QDense,
    QMaxPool2d,
    QMean,
    QMul,
    QRequantize,
    QSub,
)
from rlx.passes.base import Pass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, Node, Value

CLAMPING = (
    QAdd, QAveragePool2d, QClamp, QConv2d, QDense, QMaxPool2d, QMean, QMul, QRequantize, QSub,
)  # fmt: skip
"""Ops whose last step is a clamp to attributes ``low`` and ``high``."""


@dataclass(frozen=True, slots=True)
class FuseClamps(Pass):
    """``clamp(op(x))`` becomes ``op(x)`` with narrower bounds, if nobody else reads ``op(x)``."""

    name: ClassVar[str] = "fuse-clamps"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph with clamps fused."""
        users = graph.users()
        outputs = set(graph.outputs)

        def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
            if not isinstance(node.op, QClamp):
                return None
            (old,) = node.operands
            producer = operands[0].node
            read_once = len(users[old]) == 1 and old not in outputs
            if not read_once or not isinstance(producer.op, CLAMPING):
                return None
            low, high = clamp_of_clamp(producer.op.low, producer.op.high, node.op)
            fused = replace(cast("Any", producer.op), low=low, high=high)
            result = new.apply(
                fused,
                *producer.operands,
                name=producer.name,
                quant=node.types[0].quant,
                origin=producer.origin.through(self.name),
            )
            return [result]

        return rebuild(graph, visit, by=self.name)


def clamp_of_clamp(low: int, high: int, outer: QClamp) -> tuple[int, int]:
    """Return the bounds of one clamp that equals a clamp to [low, high] followed by ``outer``."""
    return (
        min(max(low, outer.low), outer.high),
        min(max(high, outer.low), outer.high),
    )
