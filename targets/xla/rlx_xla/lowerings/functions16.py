"""Softmax, sigmoid and hyperbolic tangent on int16.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
from jax import lax

from rlx.ops import q
from rlx.ops.numerics.lookup16 import EXPONENTIALS, RECIPROCALS
from rlx_xla.lowerings.integer import rescaled
from rlx_xla.lowerings.recurrent import clamp_int16, sigmoid_of, tanh_of
from rlx_xla.rules import RULES

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.numerics.fixed_point import Int64
    from rlx_xla.rules import Traced
    from rlx_xla.trace import Trace


@RULES.rule(q.QSigmoid16, q.QTanh16)
def gate(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower a function by the table of sigmoids."""
    del trace
    op = node.op
    assert isinstance(op, q.QSigmoid16 | q.QTanh16)
    scaled = (x.astype(jnp.int64) * op.multiplier + (1 << op.shift >> 1)) >> op.shift
    function = sigmoid_of if isinstance(op, q.QSigmoid16) else tanh_of
    return function(scaled).astype(jnp.int16)


@RULES.rule(q.QSoftmax16)
def softmax(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower the softmax over the last axis."""
    del trace
    op = node.op
    assert isinstance(op, q.QSoftmax16)
    wide = x.astype(jnp.int64)
    differences = wide - jnp.max(wide, axis=-1, keepdims=True, initial=-32768)
    exponentials = _lookup(rescaled(op.rescale, differences) + 32767, EXPONENTIALS)
    total = jnp.sum(exponentials, axis=-1, keepdims=True)
    headroom = lax.clz(total.astype(jnp.int32)).astype(jnp.int64)
    shifted = ((total << (headroom - 1)) + (1 << 13)) >> 14
    reciprocal = _lookup(shifted - (1 << 15) - (1 << 16), RECIPROCALS)
    shift = 31 - headroom
    product = (exponentials * reciprocal + (jnp.int64(1) << (shift - 1))) >> shift
    return jnp.clip(product, 0, 32767).astype(jnp.int16)


def _lookup(x: Traced, table: Int64) -> Traced:
    """Return the interpolated entries at places that are clamped to int16."""
    entries, x = jnp.asarray(table), clamp_int16(x)
    place, fraction = 256 + (x >> 7), x & 127
    return entries[place] + (((entries[place + 1] - entries[place]) * fraction + 64) >> 7)
