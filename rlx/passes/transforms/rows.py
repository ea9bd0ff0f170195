"""A graph that computes the first rows of its outputs only, where rows do not depend on others.

Tests: tests/unit/runtime/test_extent.py
"""

# ruff: noqa: ANN401 - a rule takes the op that it is registered for

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rlx.ir import Along, Rewriter, RuleTable
from rlx.ir.graph import Source
from rlx.ops import real

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Graph, Node, Op, Shape, Value

Axes: TypeAlias = tuple[int | None, ...]
"""Axis of the rows of each operand, or None if all of it is read."""

Rule: TypeAlias = "Callable[[Any, Node, int, int], tuple[Op, Axes] | None]"

_WHOLE: Final = -1

RULES: RuleTable[Rule] = RuleTable("the choice of rows")
"""Rules that get an op, a node, the axis of the rows of its result and their number, and return
the op that computes that number and the rows of operands that it reads; None if a row depends on
others."""


@dataclass(frozen=True, slots=True)
class FirstRows:
    """A graph of fewer rows.

    Attributes:
        graph: Inputs and states are as before; outputs may have fewer rows.
        axes: For each output the axis along which it has fewer, or None.
        steps: Number of nodes that compute fewer rows.
    """

    graph: Graph
    axes: Axes
    steps: int


def first_rows(graph: Graph, count: int, of: int) -> FirstRows:
    """Return ``graph`` for the first ``count`` of ``of`` rows of its outputs.

    The rows of an output are the indices of its first axis of that size. They equal those of the
    whole graph: a node that mixes rows is computed whole, and so is all that it reads.

    Args:
        graph: A graph of static shapes, without model-level ops.
        count: Number of rows.
        of: Size of the axis of rows.
    """
    next_values = {after for _, after in graph.states}
    axes: Axes = tuple(
        None if v in next_values or of not in v.type.shape else v.type.shape.index(of)
        for v in graph.outputs
    )
    forms = _forms(graph, axes, count)
    rewriter = Rewriter(graph)
    for node in rewriter:
        if node in forms:
            op, operand_axes = forms[node]
            operands = (
                v if a is None or o.node in forms else _cut(rewriter.new, v, a, count)
                for v, o, a in zip(
                    rewriter.operands(node), node.operands, operand_axes, strict=True
                )
            )
            quant = node.types[0].quant
            rewriter.replace(node, rewriter.new.apply(op, *operands, quant=quant))
    row_axes = tuple(
        a if v.node in forms else None for v, a in zip(graph.outputs, axes, strict=True)
    )
    return FirstRows(rewriter.finish(), row_axes, len(forms))


def _forms(graph: Graph, axes: Axes, count: int) -> dict[Node, tuple[Op, Axes]]:
    """Return the nodes of which the first rows are enough, each with its form for these."""
    needs: dict[Value, int] = {}
    forms: dict[Node, tuple[Op, Axes]] = {}

    def ask(value: Value, axis: int | None) -> None:
        wanted = _WHOLE if axis is None else axis
        needs[value] = wanted if needs.get(value, wanted) == wanted else _WHOLE

    for value, axis in zip(graph.outputs, axes, strict=True):
        ask(value, axis)
    for node in reversed(graph.nodes):
        needed = [needs[v] for v in node.results if v in needs]
        form = None
        if len(node.types) == 1 and needed and needed[0] != _WHOLE:
            form = _form(node, needed[0], count)
        if form is not None:
            forms[node] = form
        for operand, axis in zip(node.operands, form[1] if form else _all(node), strict=True):
            ask(operand, axis)
    return forms


def _all(node: Node) -> Axes:
    return (None,) * len(node.operands)


def _form(node: Node, axis: int, count: int) -> tuple[Op, Axes] | None:
    """Return the form in which a node computes the first rows, or None if it cannot."""
    op: Any = node.op
    if isinstance(op, Source):
        return None
    if op.traits.elementwise:
        last = axis == node.types[0].rank - 1
        return None if last and fields(op) else (op, _broadcast(node, axis))
    if type(op) in RULES:
        return RULES[type(op)](op, node, axis, count)
    if op.traits.along is not None:
        return _along(node, axis)
    return None


def _broadcast(node: Node, axis: int) -> Axes:
    """Return the rows of operands that broadcast to the result."""
    result = node.types[0]
    places = [axis - (result.rank - o.type.rank) for o in node.operands]
    return tuple(
        a if a >= 0 and o.type.shape[a] == result.shape[axis] else None
        for a, o in zip(places, node.operands, strict=True)
    )


def _along(node: Node, axis: int) -> tuple[Op, Axes] | None:
    """Ops that combine dimensions of their first operand, and leave the rows alone."""
    op: Any = node.op
    x, result = node.operands[0].type, node.types[0]
    combined = _mixed_axes(op, x.rank)
    rows = axis not in combined and x.rank == result.rank and x.shape[axis] == result.shape[axis]
    if not rows or any(o.type.rank >= x.rank - axis for o in node.operands[1:] if _varies(o)):
        return None
    return op, (axis, *_all(node)[1:])


def _mixed_axes(op: Any, rank: int) -> set[int]:
    """Return the axes of the first operand that an op combines."""
    if op.traits.along is Along.LAST:
        return {rank - 1}
    if op.traits.along is Along.IMAGE:
        return set(range(1, rank))
    axes = (op.axis,) if op.traits.along is Along.AXIS else op.axes
    return {axis % rank for axis in axes}


def _varies(value: Value) -> bool:
    return not isinstance(value.node.op, Source)


@RULES.rule(
    real.RealReduceSum,
    real.RealReduceMean,
    real.RealReduceProd,
    real.RealReduceMax,
    real.RealReduceMin,
)
def _reduce(op: Any, node: Node, axis: int, count: int) -> tuple[Op, Axes] | None:
    del count
    rank = node.operands[0].type.rank
    gone = {a % rank for a in op.axes}
    left = list(range(rank)) if op.keep_dims else [a for a in range(rank) if a not in gone]
    return None if left[axis] in gone else (op, (left[axis],))


@RULES.rule(real.RealMatmul)
def _matmul(op: Any, node: Node, axis: int, count: int) -> tuple[Op, Axes] | None:
    del count
    rank = node.types[0].rank
    if axis == rank - 1:
        return None
    if axis == rank - 2:
        return op, (node.operands[0].type.rank - 2, None)
    return op, _broadcast(node, axis)


@RULES.rule(real.RealReshape)
def _reshape(op: Any, node: Node, axis: int, count: int) -> tuple[Op, Axes] | None:
    old, new = node.operands[0].type.static_shape, node.types[0].static_shape
    for place, size in enumerate(old):
        if size == new[axis] and math.prod(old[:place]) == math.prod(new[:axis]):
            return replace(op, shape=_with(new, axis, count)), (place,)
    return None


@RULES.rule(real.RealBroadcastTo)
def _broadcast_to(op: Any, node: Node, axis: int, count: int) -> tuple[Op, Axes]:
    return replace(op, shape=_with(op.shape, axis, count)), _broadcast(node, axis)


@RULES.rule(real.RealTranspose)
def _transpose(op: Any, node: Node, axis: int, count: int) -> tuple[Op, Axes]:
    del count
    return op, (op.axes[axis] % node.types[0].rank,)


@RULES.rule(real.RealConcat)
def _concat(op: Any, node: Node, axis: int, count: int) -> tuple[Op, Axes] | None:
    del count
    joined = op.axis % node.types[0].rank
    return None if axis == joined else (op, (axis,) * len(node.operands))


@RULES.rule(real.RealSlice)
def _slice(op: Any, node: Node, axis: int, count: int) -> tuple[Op, Axes] | None:
    size = node.operands[0].type.shape[axis]
    if op.start[axis] != 0 or op.step[axis] != 1 or op.stop[axis] not in (None, size):
        return None
    return replace(op, stop=(*op.stop[:axis], count, *op.stop[axis + 1 :])), (axis,)


@RULES.rule(real.RealGather)
def _gather(op: Any, node: Node, axis: int, count: int) -> tuple[Op, Axes] | None:
    """Rows that the indices have."""
    del count
    table, indices = (o.type for o in node.operands)
    first = op.axis % table.rank
    return (op, (None, axis - first)) if first <= axis < first + indices.rank else None


@RULES.rule(real.RealQuantize, real.RealDequantize)
def _quantize(op: Any, node: Node, axis: int, count: int) -> tuple[Op, Axes] | None:
    del count
    own = op.quant.axis is not None and op.quant.axis % node.types[0].rank == axis
    return None if own else (op, (axis,))


def _with(shape: Shape, axis: int, size: int) -> Shape:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _cut(graph: Graph, value: Value, axis: int, count: int) -> Value:
    """Return the first ``count`` indices of an axis."""
    shape = value.type.static_shape
    op = real.RealSlice(
        start=(0,) * len(shape), stop=_with(shape, axis, count), step=(1,) * len(shape)
    )
    return graph.apply(op, value, quant=value.type.quant)
