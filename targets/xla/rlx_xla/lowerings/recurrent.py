"""Layers with a state that outlives a run.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from rlx.ops import q
from rlx.ops.numerics.gates import SIGMOID
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


@RULES.rule(q.QLstmCell)
def lstm_cell(node: Node, trace: Trace, *operands: Traced) -> Traced:
    """Lower the next cell state of an LSTM layer."""
    del trace
    op = node.op
    assert isinstance(op, q.QLstmCell)
    i, f, g = _arguments(op, *operands)
    c = operands[2].astype(jnp.int64)
    remembered = clamp_int16(rescaled(op.forget_rescale, _sigmoid(f) * c))
    added = clamp_int16(rescaled(op.update_rescale, _sigmoid(i) * _tanh(g, -12)))
    total = clamp_int16(remembered + added)
    return clamp_int16(jnp.clip(total, -op.clip, op.clip)).astype(jnp.int16)


@RULES.rule(q.QLstmOutput)
def lstm_output(node: Node, trace: Trace, *operands: Traced) -> Traced:
    """Lower the next hidden state of an LSTM layer."""
    del trace
    op = node.op
    assert isinstance(op, q.QLstmOutput)
    (o,) = _arguments(op, *operands)
    product = _tanh(operands[2].astype(jnp.int64), op.power) * _sigmoid(o)
    return to_int8(rescaled(op.rescale, product), op.h_zero_point, -128, 127)


def _arguments(op: q.QLstmCell | q.QLstmOutput, *operands: Traced) -> Traced:
    """Return the arguments of the gates, [gates, B, S]."""
    x, h, _, w, r, bias = operands
    rows = [gate for gate in range(op.gates) for _ in range(h.shape[1])]
    sums = (x.astype(jnp.int32) - op.x_zero_point) @ w.astype(jnp.int32).T + bias
    recalled = (h.astype(jnp.int32) - op.h_zero_point) @ r.astype(jnp.int32).T
    total = clamp_int16(rescaled(op.input_rescale.take(rows), sums))
    total = clamp_int16(total + clamp_int16(rescaled(op.recurrent_rescale.take(rows), recalled)))
    return total.reshape(len(x), op.gates, -1).transpose(1, 0, 2)


def clamp_int16(x: Traced) -> Traced:
    """Return values clamped to int16."""
    return jnp.clip(x, _INT16.min, _INT16.max)


def _sigmoid(x: Traced) -> Traced:
    """Return ``sigmoid16``."""
    return sigmoid_of(3 * x)


def sigmoid_of(scaled: Traced) -> Traced:
    """Return the sigmoid of values in units of 2^-12 / 3."""
    y = _interpolated(scaled, 9, 0x7FFF << 10)
    return jnp.where(scaled >= 0, y + 512, (1 << 25) - y + 511) >> 10


def _tanh(x: Traced, power: int) -> Traced:
    """Return ``tanh16``."""
    left = 12 + power
    return tanh_of(x * (3 << left) if left >= 0 else (3 * x + (1 << (-left - 1))) >> -left)


def tanh_of(scaled: Traced) -> Traced:
    """Return the hyperbolic tangent of values in units of 2^-12 / 3."""
    y = _interpolated(scaled, 8, 0xFFFF << 8)
    return jnp.where(scaled >= 0, y - (1 << 23) + 128, -y + (1 << 23) + 127) >> 8


def _interpolated(x: Traced, bits: int, end: int) -> Traced:
    """Return the table of sigmoids at ``|x| / 2^bits``."""
    table, magnitude = jnp.asarray(SIGMOID), jnp.abs(x)
    index, fraction = magnitude >> bits, magnitude & ((1 << bits) - 1)
    known = jnp.minimum(index, 254)
    between = (table[known] << bits) + fraction * (table[known + 1] - table[known])
    return jnp.where(index >= 255, end, between)
