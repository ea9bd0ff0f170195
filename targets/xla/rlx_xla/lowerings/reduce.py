"""Reductions, running sums, and the order of elements along an axis.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import jax.numpy as jnp
import numpy as np

from rlx.ops import q, real
from rlx.ops.real.reduce import ends_of
from rlx_xla.lowerings.common import narrow, widen
from rlx_xla.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rlx.ir import Node, Op
    from rlx_xla.rules import Traced
    from rlx_xla.trace import Trace

_TOTALS: Final[Mapping[type[Op], Callable[..., Traced]]] = {
    real.RealReduceMean: jnp.mean,
    real.RealReduceProd: jnp.prod,
    real.RealReduceSum: jnp.sum,
}


@RULES.rule(*_TOTALS)
def total(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower a sum, a mean or a product over axes."""
    del trace
    op = node.op
    assert isinstance(op, real.RealReduceSum | real.RealReduceMean | real.RealReduceProd)
    wide = widen(x)
    result = _TOTALS[type(op)](wide, axis=op.axes, keepdims=op.keep_dims, dtype=wide.dtype)
    return narrow(result, node)


@RULES.rule(real.RealReduceMax, real.RealReduceMin)
def extreme(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower a maximum or minimum over axes."""
    del trace
    op = node.op
    assert isinstance(op, real.RealReduceMax | real.RealReduceMin)
    wide = widen(x)
    smallest, largest = (np.array(end, wide.dtype) for end in ends_of(wide))
    if isinstance(op, real.RealReduceMax):
        result = jnp.max(wide, axis=op.axes, keepdims=op.keep_dims, initial=smallest)
    else:
        result = jnp.min(wide, axis=op.axes, keepdims=op.keep_dims, initial=largest)
    return narrow(result, node)


@RULES.rule(real.RealArgmax, real.RealArgmin)
def choice(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower the index of an extreme."""
    del trace
    op = node.op
    assert isinstance(op, real.RealArgmax | real.RealArgmin)
    choose = jnp.argmax if isinstance(op, real.RealArgmax) else jnp.argmin
    wide = widen(x)
    if not op.last:
        return narrow(choose(wide, axis=op.axis), node)
    result = choose(jnp.flip(wide, op.axis), axis=op.axis)
    return narrow(x.shape[op.axis] - 1 - result, node)


@RULES.rule(q.QArgmax)
def argmax_int8(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower the index of the maximum."""
    del trace
    assert isinstance(node.op, q.QArgmax)
    return narrow(jnp.argmax(x, axis=node.op.axis), node)


@RULES.rule(real.RealCumsum, real.RealCumprod)
def scan(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower a running sum or product."""
    del trace
    op = node.op
    assert isinstance(op, real.RealCumsum | real.RealCumprod)
    x_last = jnp.moveaxis(widen(x), op.axis, -1)
    if op.exclusive:
        first = jnp.full_like(x_last[..., :1], op.neutral)
        x_last = jnp.concatenate([first, x_last[..., :-1]], axis=-1)
    run = jnp.cumsum if isinstance(op, real.RealCumsum) else jnp.cumprod
    return narrow(jnp.moveaxis(run(x_last, axis=-1, dtype=x_last.dtype), -1, op.axis), node)


@RULES.rule(real.RealTopK)
def top_k(node: Node, trace: Trace, x: Traced) -> tuple[Traced, Traced]:
    """Lower the largest or smallest elements and their indices."""
    del trace
    op = node.op
    assert isinstance(op, real.RealTopK)
    values = jnp.moveaxis(widen(x), op.axis, -1)
    if op.smallest:
        order = jnp.argsort(values, axis=-1, stable=True)
    else:
        # A stable rising sort of the reversed axis, read backwards, puts lower indices first.
        rising = jnp.argsort(jnp.flip(values, -1), axis=-1, stable=True)
        order = jnp.flip(values.shape[-1] - 1 - rising, -1)
    indices = jnp.moveaxis(order[..., : op.count], -1, op.axis)
    return jnp.take_along_axis(x, indices, axis=op.axis), narrow(indices, node, 1)
