"""Nearest elements of an image as slices and joins, which streams can do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from rlx.ops.q import QConcat, QReshape, QResizeNearest, QSlice

if TYPE_CHECKING:
    from rlx.ir import Graph, Node, Value
    from rlx.ops.numerics.resampling import Resampling

_MAX_TIMES = 8
"""Copies of an element: parts of a join, each with a queue in hardware."""


class AxisCopies(NamedTuple):
    """Elements ``start, start + step, ...`` of an axis, ``kept`` of them, each ``times``."""

    start: int
    step: int
    kept: int
    times: int


def axis_copies(node: Node) -> tuple[AxisCopies, AxisCopies] | None:
    """Return the copies along height and width; None if an axis has others.

    Each element is repeated at most 8 times.
    """
    op = cast("QResizeNearest", node.op)
    rows, columns = map(_copies, op.axes(node.operands[0].type.static_shape[1:3]))
    return None if rows is None or columns is None else (rows, columns)


def _copies(axis: Resampling) -> AxisCopies | None:
    indices = axis.nearest
    distinct = np.unique(indices)
    times = len(indices) // len(distinct)
    steps = np.unique(np.diff(distinct))
    regular = np.array_equal(indices, np.repeat(distinct, times)) and len(steps) <= 1
    if not regular or times > _MAX_TIMES:
        return None
    return AxisCopies(int(distinct[0]), int(max(steps, default=1)), len(distinct), times)


def as_repeats(new: Graph, node: Node, operands: tuple[Value, ...]) -> Value:
    """Write q.resize_nearest as a slice, then rows and pixels joined to themselves."""
    copies = axis_copies(node)
    assert copies is not None
    (x,), quant = operands, node.types[0].quant
    batch, height, width, channels = x.type.static_shape
    shape = [batch, *(axis.kept for axis in copies), channels]
    if shape != [batch, height, width, channels] or any(axis.start for axis in copies):
        start = (0, *(axis.start for axis in copies), 0)
        stop = (batch, *(a.start + (a.kept - 1) * a.step + 1 for a in copies), channels)
        step = (1, *(axis.step for axis in copies), 1)
        x = new.apply(QSlice(start=start, stop=stop, step=step), x)
    # Rows first: fewer elements wait for their second turn.
    for axis, (_, _, _, times) in enumerate(copies, start=1):
        if times == 1:
            continue
        rows = math.prod(shape[: axis + 1])
        shape[axis] *= times
        lines = new.apply(QReshape(shape=(rows, x.type.size // rows)), x, quant=quant)
        joined = new.apply(QConcat(axis=1), *[lines] * times)
        x = new.apply(QReshape(shape=tuple(shape)), joined)
    return x
