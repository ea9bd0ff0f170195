"""Attention whose state is a matrix that each element of a sequence changes.

Tests: tests/onnx_backend/test_onnx_backend.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.frontends.onnx.ops.index import numbers
from rlx.frontends.onnx.ops.registry import importer
from rlx.ir import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real

# Each element of the sequence becomes some ten nodes.
_MAX_STEPS: Final = 256

# Whether a rule lets the state decay, and whether it subtracts the state's share of a value.
_RULES = {
    "linear": (False, False), "gated": (True, False), "delta": (False, True),
    "gated_delta": (True, True),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Sequences:
    """Operands of the recurrence, by head: [B, H, T, D].

    Attributes:
        query: Queries of all heads.
        key: Keys of the heads that have a state.
        value: Values of the same heads.
        decay: Logarithm of the remaining share of the state, for each key or for all of them.
        beta: Share of a value that is written.
    """

    query: Real
    key: Real
    value: Real
    decay: Real | None
    beta: Real | None


@importer("LinearAttention")
def import_linear_attention(call: Call) -> Sequence[Real]:
    """``LinearAttention``, one step after the other."""
    query = call.value(0)
    heads, stored = call.integer("q_num_heads"), call.integer("kv_num_heads")
    if stored < 1 or heads < 1 or heads % stored or call.text("update_rule") not in _RULES:
        raise call.malformed(f"{heads} heads of {stored} with rule {call.text('update_rule')!r}")
    call.integer("chunk_size")  # a hint that changes no number
    read = _sequences(call, heads, stored)
    batch, _, steps, keys = numbers(call, read.key.shape)
    if not 1 <= steps <= _MAX_STEPS:
        raise call.refuse(
            f"has {steps} steps, each with nodes of its own; rlx does {_MAX_STEPS}",
            "export it for single steps, with the state as input and output",
        )
    shape = (batch, stored, keys, numbers(call, read.value.shape)[-1])
    past = call.maybe(3)
    state = call.constant(np.zeros((), np.float32)).broadcast_to(*shape)
    state = state if past is None else past.cast(DType.F32)
    scale_attribute = call.number("scale")
    scale = (
        scale_attribute if scale_attribute else 1 / math.sqrt(numbers(call, read.query.shape)[-1])
    )
    results = []
    for step in range(steps):
        state = _update_state(state, read, step)
        results.append(_read_state(state, read.query[:, :, step], heads // stored) * scale)
    first, *rest = [r.expand_dims(1) for r in results]
    y = first.concat(*rest, axis=1) if rest else first
    y = y.reshape(batch, steps, -1).cast(query.dtype)
    return y, state.cast(query.dtype if past is None else past.dtype)


def _sequences(call: Call, heads: int, stored: int) -> _Sequences:
    """Return the operands by head, in f32."""
    gated, delta = _RULES[call.text("update_rule")]
    if call.has(4) != gated or call.has(5) != delta:
        raise call.malformed(f"the rule {call.text('update_rule')!r} has other inputs")
    query, key, value = (call.value(i) for i in range(3))
    for x in (query, key, value):
        if x.ndim != 3:
            raise call.malformed(f"{x.type} is not packed in three dimensions")
    decay, beta = call.maybe(4), call.maybe(5)
    return _Sequences(
        _by_head(query, heads), _by_head(key, stored), _by_head(value, stored),
        None if decay is None else _by_head(decay, stored),
        None if beta is None else _by_head(beta, 1 if beta.shape[-1] == 1 else stored),
    )  # fmt: skip


def _by_head(x: Real, heads: int) -> Real:
    """Return [B, T, H * D] as [B, H, T, D] of f32."""
    batch, steps, _ = x.shape
    return x.reshape(batch, steps, heads, -1).transpose(0, 2, 1, 3).cast(DType.F32)


def _update_state(state: Real, read: _Sequences, step: int) -> Real:
    """Return the state [B, H, K, V] after a step."""
    key = read.key[:, :, step].expand_dims(3)
    value = read.value[:, :, step].expand_dims(2)
    if read.decay is not None:
        state = state * read.decay[:, :, step].exp().expand_dims(3)
    if read.beta is not None:
        known = key.mT @ state
        value = (value - known) * read.beta[:, :, step].expand_dims(3)
    return state + key * value


def _read_state(state: Real, query: Real, group: int) -> Real:
    """Return the values that each head reads from the state of its group: [B, heads, V]."""
    batch, stored, keys, values = state.shape
    rows = query.reshape(batch, stored, group, keys)
    return (rows @ state).reshape(batch, stored * group, values)
