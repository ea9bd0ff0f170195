"""Exchanges of two small axes within a row, as slices and joins, which streams can do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from rlx.ops.q import QConcat, QReshape, QSlice, QTranspose

if TYPE_CHECKING:
    from rlx.ir import Graph, Node, Value

_MAX_PARTS = 8


def exchange_sizes(node: Node) -> tuple[int, int, int, int] | None:
    """Return the sizes [A, B, C, D] of a transpose that makes [A, C, B, D]; None if it is none.

    It moves a row of several (A) at a time, and has at most 8 parts in one of its axes: the squares
    of ``DEPTH_TO_SPACE`` and ``SPACE_TO_DEPTH``. Other orders need the tensor in memory.
    """
    shape, op = node.operands[0].type.static_shape, cast("QTranspose", node.op)
    groups: list[list[int]] = []
    for axis in (a for a in op.axes if shape[a] > 1):
        # Axes that follow each other before and after move as one; those of 1 do not matter.
        follows = groups and all(shape[a] == 1 for a in range(groups[-1][-1] + 1, axis))
        if groups and follows and axis > groups[-1][-1]:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    order = [group[0] for group in groups]
    sizes = [math.prod(shape[a] for a in group) for group in groups]
    descent = next((i for i in range(len(order) - 1) if order[i] > order[i + 1]), None)
    if descent is None or descent == 0:
        return None
    order[descent], order[descent + 1] = order[descent + 1], order[descent]
    if order != sorted(order) or min(sizes[descent], sizes[descent + 1]) > _MAX_PARTS:
        return None
    return (
        math.prod(sizes[:descent]),
        sizes[descent + 1],
        sizes[descent],
        math.prod(sizes[descent + 2 :]),
    )


def as_slices(new: Graph, node: Node, operands: tuple[Value, ...]) -> Value:
    """Write q.transpose as parts along the shorter axis, joined along it at its new place."""
    sizes = exchange_sizes(node)
    assert sizes is not None
    rows, first, second, depth = sizes
    quant, shape = node.types[0].quant, (rows, first, second, depth)
    x = new.apply(QReshape(shape=shape), operands[0], quant=quant)
    axis, count = (2, second) if second <= first else (1, first)
    parts = []
    for index in range(count):
        start, stop = [0] * 4, list(shape)
        start[axis], stop[axis] = index, index + 1
        part = QSlice(start=tuple(start), stop=tuple(stop), step=(1,) * 4)
        turned = (rows, 1, first, depth) if axis == 2 else (rows, second, 1, depth)
        parts.append(new.apply(QReshape(shape=turned), new.apply(part, x)))
    whole = new.apply(QConcat(axis=3 - axis), *parts)
    return new.apply(QReshape(shape=node.types[0].static_shape), whole)
