"""Tangents of products, extremes and running products.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ops import real
from rlx.passes.transforms.formulas import constant, with_axes
from rlx.passes.transforms.linearize import RULES

if TYPE_CHECKING:
    from rlx.ops.expression import Expression
    from rlx.ops.real.reduce import RealReduce
    from rlx.passes.transforms.linearize import JvpCall, Tangents


@RULES.rule(real.RealReduceMax, real.RealReduceMin)
def _extreme(op: RealReduce, call: JvpCall) -> Tangents:
    """Mean of the tangents of all elements that are the extreme."""
    (x,), (y,), (t,) = call.operands, call.results, call.tangents
    assert t is not None
    chosen = x.equal(with_axes(y, op.axes, x.ndim))
    total = real.RealReduceSum(axes=op.axes, keep_dims=op.keep_dims)
    return [t.where(chosen, 0.0).apply(total) / chosen.cast(t.dtype).apply(total)]


@RULES.rule(real.RealReduceProd)
def _product(op: real.RealReduceProd, call: JvpCall) -> Tangents:
    """One axis at a time, the tangent of each element times the product of the others."""
    (x,), (t,) = call.operands, call.tangents
    assert t is not None
    for axis in op.axes:
        t = (t * _product_of_others(x, axis % x.ndim)).sum(axis, keep_dims=True)
        x = x.prod(axis, keep_dims=True)
    return [t.reshape(*call.node.types[0].shape)]


def _product_of_others(x: Expression, axis: int) -> Expression:
    """Return for each element the product of the others along an axis, without a division."""
    before = real.RealCumprod(axis=axis, exclusive=True)
    reverse = real.RealReverse(axes=(axis,))
    return x.apply(before) * x.apply(reverse).apply(before).apply(reverse)


@RULES.rule(real.RealCumprod)
def _running_product(op: real.RealCumprod, call: JvpCall) -> Tangents:
    """Sum over j of the tangent of x[j] times the running product without x[j].

    The running products stand in a matrix [j, i], whose diagonal is 1 in place of x[j]; so zeros
    among the elements do no harm.
    """
    (x,), (t,) = call.operands, call.tangents
    assert t is not None
    rank, axis = x.ndim, op.axis % x.ndim
    count = x.shape[axis]
    if not isinstance(count, int):
        raise call.refuse(f"its axis has {count} elements, expected a number")
    order = (*(a for a in range(rank) if a != axis), axis)
    rows, tangents = x.transpose(*order), t.transpose(*order)
    same = constant(call.graph, np.eye(count, dtype=bool))
    without = rows.lift(1.0).where(same, rows.expand_dims(-2))
    running = without.apply(real.RealCumprod(axis=rank, exclusive=op.exclusive))
    counts = np.triu(np.ones((count, count), bool), 1 if op.exclusive else 0)
    parts = running.where(constant(call.graph, counts), 0.0) * tangents.expand_dims(-1)
    back = tuple(np.argsort(order).tolist())
    return [parts.sum(rank - 1).transpose(*back)]
