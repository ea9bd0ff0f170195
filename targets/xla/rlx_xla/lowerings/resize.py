"""Images of another size.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from rlx.ops import q
from rlx.ops.numerics.resampling import POSITION_BITS
from rlx_xla.rules import RULES

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.numerics.resampling import Resampling
    from rlx_xla.rules import Traced
    from rlx_xla.trace import Trace


@RULES.rule(q.QResizeNearest)
def resize_nearest(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower copies of the nearest elements."""
    del trace
    op = node.op
    assert isinstance(op, q.QResizeNearest)
    rows, columns = (axis.nearest for axis in op.axes(x.shape[1:3]))
    return x[:, rows[:, np.newaxis], columns]


@RULES.rule(q.QResizeBilinear)
def resize_bilinear(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower the exact weighted sums, rounded half away from zero."""
    del trace
    op = node.op
    assert isinstance(op, q.QResizeBilinear)
    rows, columns = op.axes(x.shape[1:3])
    sums = _between(_between(x.astype(jnp.int32), rows, 1), columns, 2)
    bits = 2 * POSITION_BITS
    return ((sums + (1 << (bits - 1)) + (sums >> 31)) >> bits).astype(jnp.int8)


def _between(x: Traced, resampling: Resampling, axis: int) -> Traced:
    """Return 1024 times the values between the elements of an axis."""
    lower, upper, weights = resampling.neighbours
    above = weights.reshape(-1, *(1,) * (x.ndim - axis - 1))
    below = (1 << POSITION_BITS) - above
    return jnp.take(x, lower, axis) * below + jnp.take(x, upper, axis) * above
