"""Simplification of graphs that transforms have made.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir import rebuild
from rlx.ops import real
from rlx.passes.base import in_regions
from rlx.passes.common_subexpressions import CommonSubexpressions
from rlx.passes.dead_code import DeadCode
from rlx.passes.fold_constants import FoldConstants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, Node, Value

_PASSES = (FoldConstants(), CommonSubexpressions(), DeadCode())


def simplified(graph: Graph) -> Graph:
    """Return a graph without nodes that are dead, constant, equal or repeat a tensor in vain.

    Each pass leaves nothing for another round.
    """
    graph = in_regions(graph, simplified)
    if any(isinstance(node.op, real.RealBroadcastTo) for node in graph.op_nodes):
        graph = rebuild(graph, _without_broadcasts)
    for one in _PASSES:
        graph = one.apply(graph)
    return graph


def _without_broadcasts(
    new: Graph, node: Node, operands: tuple[Value, ...]
) -> Sequence[Value] | None:
    """op(broadcast_to(x), y) -> op(x, y), where the op broadcasts to the same shape."""
    if not node.op.traits.elementwise or len(operands) < 2:
        return None
    bare = list(operands)
    for i, operand in enumerate(operands):
        if isinstance(operand.node.op, real.RealBroadcastTo):
            bare[i] = operand.node.operands[0]
            if _shape(bare) != node.types[0].shape:
                bare[i] = operand
    if bare == list(operands):
        return None
    return new.append(node.op, *bare).results


def _shape(operands: Sequence[Value]) -> tuple[object, ...]:
    """Return the shape that operands broadcast to, which they are known to do."""
    rank = max(o.type.rank for o in operands)
    shapes = [(1,) * (rank - o.type.rank) + o.type.shape for o in operands]
    return tuple(next((n for n in sizes if n != 1), 1) for sizes in zip(*shapes, strict=True))
