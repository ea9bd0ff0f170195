"""Reading and writing by index.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from rlx.ops import real
from rlx.ops.real import Scatter
from rlx_xla.lowerings.common import narrow, widen
from rlx_xla.rules import RULES

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_xla.rules import Traced
    from rlx_xla.trace import Trace


def _positions(node: Node, trace: Trace, indices: Traced, size: int) -> Traced:
    """Return indices counted from the front; let the run fail if one is outside of the axis."""
    wide = indices.astype(jnp.int64)
    constant = node.operands[1].constant
    if constant is None or not all(-size <= int(i) < size for i in constant.flat):
        trace.fail(node, jnp.any((wide < -size) | (wide >= size)))
    return jnp.where(wide < 0, wide + size, wide)


@RULES.rule(real.RealGather)
def gather(node: Node, trace: Trace, x: Traced, indices: Traced) -> Traced:
    """Lower slices by index."""
    assert isinstance(node.op, real.RealGather)
    axis = node.op.axis
    return jnp.take(x, _positions(node, trace, indices, x.shape[axis]), axis=axis, mode="clip")


@RULES.rule(real.RealTakeAlong)
def take_along(node: Node, trace: Trace, x: Traced, indices: Traced) -> Traced:
    """Lower elements by index."""
    assert isinstance(node.op, real.RealTakeAlong)
    axis = node.op.axis
    positions = _positions(node, trace, indices, x.shape[axis])
    return jnp.take_along_axis(x, positions, axis=axis, mode="clip")


@RULES.rule(real.RealScatter)
def scatter(node: Node, trace: Trace, x: Traced, indices: Traced, updates: Traced) -> Traced:
    """Lower slices written by index; narrow floats are added in float32 and rounded once."""
    op = node.op
    assert isinstance(op, real.RealScatter)
    axis = op.axis % x.ndim
    count = int(np.prod(indices.shape, dtype=np.int64))
    front = jnp.moveaxis(widen(x), axis, 0)
    rows = jnp.moveaxis(widen(updates), range(axis, axis + indices.ndim), range(indices.ndim))
    rows = rows.reshape(count, *front.shape[1:])
    positions = _positions(node, trace, indices, front.shape[0]).reshape(-1)
    if count:
        front = _merge(op.merge, front, positions, rows)
    return narrow(jnp.moveaxis(front, 0, axis), node)


def _merge(merge: Scatter, front: Traced, positions: Traced, rows: Traced) -> Traced:
    """Return ``front`` with rows merged into it at their positions."""
    at = front.at[positions]
    match merge:
        case Scatter.ADD:
            return at.add(rows)
        case Scatter.MULTIPLY:
            return at.multiply(rows)
        case Scatter.MINIMUM:
            return at.min(rows)
        case Scatter.MAXIMUM:
            return at.max(rows)
    # A device may write equal positions in any order: find the last one of each, and read it.
    order = jnp.arange(len(rows))
    last = jnp.full(front.shape[0], -1, order.dtype).at[positions].max(order)
    written = jnp.take(rows, jnp.maximum(last, 0), axis=0)
    return jnp.where((last >= 0).reshape(-1, *(1,) * (front.ndim - 1)), written, front)
