"""Transposes of reading and writing by index.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType
from rlx.ops import real
from rlx.ops.real import Scatter
from rlx.passes.transforms.formulas import constant, zeros
from rlx.passes.transforms.transpose import RULES

if TYPE_CHECKING:
    from rlx.ops.expression import Expression
    from rlx.passes.transforms.transpose import Gradients, TransposeCall


@RULES.rule(real.RealGather)
def _gather(op: real.RealGather, call: TransposeCall) -> Gradients:
    """Gradients added at the indices."""
    indices = call.operands[1]
    assert indices is not None
    scatter = real.RealScatter(axis=op.axis, merge=Scatter.ADD)
    empty = zeros(call.graph, call.types[0])
    return [empty.apply(scatter, indices, call.gradient), None]


@RULES.rule(real.RealTakeAlong)
def _take_along(op: real.RealTakeAlong, call: TransposeCall) -> Gradients:
    """Gradients added at the indices, in the flattened tensor."""
    indices, x = call.operands[1], call.types[0]
    assert indices is not None
    if not (x.is_static and indices.type.is_static):
        raise call.refuse(f"the size of {x} must be known")
    flat_indices = _flat_places(indices, x.static_shape, op.axis % x.rank)
    empty = zeros(call.graph, x.with_shape((math.prod(x.static_shape),)))
    scatter = real.RealScatter(axis=0, merge=Scatter.ADD)
    total = empty.apply(scatter, flat_indices, call.gradient.reshape(-1))
    return [total.reshape(*x.shape), None]


def _flat_places(indices: Expression, shape: tuple[int, ...], axis: int) -> Expression:
    """Return the flat_indices of elements in a flattened tensor, by their indices along an axis."""
    wide = indices.cast(DType.I64)
    size = shape[axis]
    if indices.dtype.value.startswith("i"):
        wide = (wide + size).where(wide < 0, wide)
    strides = [math.prod(shape[a + 1 :]) for a in range(len(shape))]
    grid = np.indices(indices.type.static_shape)
    other_axes = sum(g * s for a, (g, s) in enumerate(zip(grid, strides, strict=True)) if a != axis)
    offsets = np.broadcast_to(np.asarray(other_axes, np.int64), indices.type.static_shape)
    return (wide * strides[axis] + constant(indices.graph, offsets)).reshape(-1)


@RULES.rule(real.RealScatter)
def _scatter(op: real.RealScatter, call: TransposeCall) -> Gradients:
    """Updates read their gradients at the indices; replaced elements have none."""
    x, indices, updates = call.operands
    gradient = call.gradient
    assert indices is not None
    by_x, by_updates = gradient, gradient.gather(indices, op.axis)
    if op.merge is Scatter.REPLACE:
        by_x = gradient.apply(op, indices, zeros(call.graph, call.types[2]))
        by_updates = by_updates.where(_is_last(op, call, indices), 0.0)
    return [by_x if x is None else None, None, by_updates if updates is None else None]


def _is_last(op: real.RealScatter, call: TransposeCall, indices: Expression) -> Expression:
    """Return whether each update is the last one of its index, shaped to broadcast to updates."""
    x = call.types[0]
    axis = op.axis % x.rank
    count = x.shape[axis]
    if not (indices.type.is_static and isinstance(count, int)):
        raise call.refuse(f"the sizes of {x} and {indices.type} must be known")
    shape = indices.type.static_shape
    numbers = constant(call.graph, np.arange(math.prod(shape), dtype=np.int32).reshape(shape))
    written = constant(call.graph, np.zeros(count, np.int32)).apply(
        replace(op, axis=0), indices, numbers
    )
    return written.gather(indices).equal(numbers).reshape(*shape, *[1] * (x.rank - axis - 1))
