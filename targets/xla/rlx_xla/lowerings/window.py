"""Convolutions of reals, and pools.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import lax

from rlx.ops import q, real
from rlx.ops.real.reduce import ends_of
from rlx_xla.lowerings.common import PRECISE, is_float, narrow, widen
from rlx_xla.lowerings.integer import to_int8
from rlx_xla.lowerings.linear import accumulate
from rlx_xla.lowerings.taps import combine, padded, spatial
from rlx_xla.rules import RULES

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_xla.rules import Traced
    from rlx_xla.trace import Trace


@RULES.rule(real.RealConv)
def conv(node: Node, trace: Trace, x: Traced, w: Traced) -> Traced:
    """Lower a convolution: of integers as products of slices, which wrap."""
    del trace
    op = node.op
    assert isinstance(op, real.RealConv)
    if not is_float(x) or not op.window.rank:
        wide = widen(padded(x, op.window, 0))
        return narrow(accumulate(wide, widen(w), op.window, op.groups), node)
    window, rank = op.window, op.window.rank
    axes = tuple(range(1, rank + 1))
    numbers = lax.ConvDimensionNumbers((0, rank + 1, *axes), (0, rank + 1, *axes),
                                       (0, rank + 1, *axes))  # fmt: skip
    result = lax.conv_general_dilated(
        widen(x), widen(w), window.stride, window.padding, rhs_dilation=window.dilation,
        dimension_numbers=numbers, feature_group_count=op.groups, precision=PRECISE,
    )  # fmt: skip
    return narrow(result, node)


@RULES.rule(real.RealMaxPool)
def max_pool(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower the maximum of each window."""
    del trace
    assert isinstance(node.op, real.RealMaxPool)
    wide = widen(x)
    lowest, _ = ends_of(wide)
    window = node.op.window
    return narrow(combine(padded(wide, window, lowest), window, jnp.maximum), node)


@RULES.rule(real.RealAveragePool)
def average_pool(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower the mean of each window."""
    del trace
    op = node.op
    assert isinstance(op, real.RealAveragePool)
    wide = widen(x)
    total = combine(padded(wide, op.window, 0), op.window, jnp.add)
    count = np.array(math.prod(op.window.kernel), wide.dtype)
    if op.window.is_padded and not op.count_padding:
        ones = op.window.pad(np.ones((1, *x.shape[1:-1], 1), wide.dtype), 0)
        sums = sum(view for _, view in op.window.taps(ones))
        count = np.asarray(sums, wide.dtype)
    return narrow(total / count, node)


@RULES.rule(q.QMaxPool2d)
def max_pool_int8(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower the maximum of each window, clamped."""
    del trace
    op = node.op
    assert isinstance(op, q.QMaxPool2d)
    window = spatial(op.window)
    largest = combine(padded(x, window, -128), window, jnp.maximum)
    return jnp.clip(largest, np.int8(op.low), np.int8(op.high))


@RULES.rule(q.QAveragePool2d)
def average_pool_int8(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower the average of each window, rounded half away from zero and clamped."""
    del trace
    op = node.op
    assert isinstance(op, q.QAveragePool2d)
    window = spatial(op.window)
    sums = combine(padded(x.astype(jnp.int32), window, 0), window, jnp.add)
    rows, columns = op.window.taps_inside((x.shape[1], x.shape[2]))
    counts = np.outer(rows, columns)[:, :, np.newaxis].astype(np.int32)
    magnitude = (jnp.abs(sums) + counts // 2) // counts
    return to_int8(jnp.where(sums >= 0, magnitude, -magnitude), 0, op.low, op.high)
