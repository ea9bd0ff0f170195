"""Layers with a state that outlives a run.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from rlx.ops import q
from rlx_xla.lowerings.integer import rescaled, to_int8
from rlx_xla.rules import RULES

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_xla.rules import Traced
    from rlx_xla.trace import Trace

_INT16 = np.iinfo(np.int16)


@RULES.rule(q.QSvdfState)
def svdf_state(node: Node, trace: Trace, x: Traced, state: Traced, w: Traced) -> Traced:
    """Lower the next state of an SVDF layer."""
    del trace
    op = node.op
    assert isinstance(op, q.QSvdfState)
    sums = (x.astype(jnp.int32) - op.x_zero_point) @ w.astype(jnp.int32).T
    newest = jnp.clip(rescaled(op.rescale, sums), _INT16.min, _INT16.max).astype(jnp.int16)
    rows = state.reshape(*newest.shape, -1)
    return jnp.concatenate([rows[..., 1:], newest[..., None]], axis=2).reshape(state.shape)


@RULES.rule(q.QSvdf)
def svdf(node: Node, trace: Trace, state: Traced, w: Traced, bias: Traced) -> Traced:
    """Lower the output of an SVDF layer, whose sums wrap around."""
    del trace
    op = node.op
    assert isinstance(op, q.QSvdf)
    products = state.reshape(len(state), *w.shape).astype(jnp.int32) * w.astype(jnp.int32)
    sums = products.reshape(len(state), len(bias), -1).sum(axis=2, dtype=jnp.int32) + bias
    return to_int8(rescaled(op.rescale, sums), op.zero_point, op.low, op.high)
