"""Ops that move elements.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import lax

from rlx.ops import q, real
from rlx_xla.lowerings.common import shape_of
from rlx_xla.rules import RULES
from rlx_xla.trace import held_type

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_xla.rules import Traced
    from rlx_xla.trace import Trace


@RULES.rule(real.RealReshape, q.QReshape)
def reshape(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower another shape of the same elements."""
    del trace
    return x.reshape(shape_of(node))


@RULES.rule(real.RealTranspose, q.QTranspose)
def transpose(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower another order of axes."""
    del trace
    assert isinstance(node.op, real.RealTranspose | q.QTranspose)
    return jnp.transpose(x, node.op.axes)


@RULES.rule(real.RealBroadcastTo)
def broadcast_to(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower repetition along axes."""
    del trace
    return jnp.broadcast_to(x, shape_of(node))


@RULES.rule(real.RealSlice, q.QSlice)
def slice_(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower a part of each axis."""
    del trace
    op = node.op
    assert isinstance(op, real.RealSlice | q.QSlice)
    stops = tuple(n if s is None else s for s, n in zip(op.stop, x.shape, strict=True))
    return lax.slice(x, op.start, stops, op.step)


@RULES.rule(real.RealConcat, q.QConcat)
def concat(node: Node, trace: Trace, *operands: Traced) -> Traced:
    """Lower tensors joined along an axis."""
    del trace
    assert isinstance(node.op, real.RealConcat | q.QConcat)
    return jnp.concatenate(operands, axis=node.op.axis)


@RULES.rule(real.RealPad)
def pad(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower a constant around a tensor and between its elements."""
    del trace
    op = node.op
    assert isinstance(op, real.RealPad)
    value = np.asarray(op.value).astype(held_type(node.types[0].dtype))
    interior = op.interior or (0,) * x.ndim
    return lax.pad(x, jnp.asarray(value), list(zip(op.before, op.after, interior, strict=True)))


@RULES.rule(q.QPad)
def pad_int8(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower a constant around a tensor."""
    del trace
    op = node.op
    assert isinstance(op, q.QPad)
    edges = [(b, a, 0) for b, a in zip(op.before, op.after, strict=True)]
    return lax.pad(x, jnp.int8(op.value), edges)


@RULES.rule(real.RealReverse)
def reverse(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower the opposite order along axes."""
    del trace
    assert isinstance(node.op, real.RealReverse)
    return jnp.flip(x, node.op.axes)
