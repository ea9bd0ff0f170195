"""Attention and rotary position embedding.

Tests: tests/onnx_backend/test_onnx_backend.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.onnx.elements import DTYPES
from rlx.frontends.onnx.ops.call import OPEN_SHAPE
from rlx.frontends.onnx.ops.registry import importer
from rlx.ir import DType
from rlx.ops import nn, real

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real


@dataclass(frozen=True, slots=True)
class _Heads:
    """Queries [B, H, S, D], keys [B, H, T, D] and values [B, H, T, E], a head each.

    Attributes:
        q: Queries.
        k: Keys, those of past steps in front.
        v: The same for values.
        keys: Keys before heads were repeated, for the output.
        values: The same for values.
        past: Steps before the first query, None if the file keeps none.
    """

    q: Real
    k: Real
    v: Real
    keys: Real
    values: Real
    past: int | None


def _numbers(call: Call, x: Real, what: str) -> tuple[int, ...]:
    """Return a shape, whose dimensions other than the batch must be integers."""
    shape = tuple(d for d in x.shape[1:] if isinstance(d, int))
    if len(shape) != x.ndim - 1:
        raise call.refuse(
            f"the {what} are {x.type}, expected sizes for all dimensions but the batch", OPEN_SHAPE
        )
    return shape


def _split(call: Call, index: int, attribute: str, what: str) -> Real:
    """Return queries, keys or values as [B, heads, steps, width]."""
    x = call.value(index)
    if x.ndim == 4:
        return x
    count = call.integer(attribute, 0)
    shape = _numbers(call, x, what)
    if x.ndim != 3 or count < 1 or shape[-1] % count:
        raise call.malformed(f"the {what} are {x.type}, and {attribute} is {count}")
    return x.reshape(x.shape[0], shape[0], count, -1).transpose(0, 2, 1, 3)


def _repeat_heads(call: Call, x: Real, heads: int) -> Real:
    """Return keys or values with each head once for each query head that reads it."""
    batch, (own, steps, width) = x.shape[0], _numbers(call, x, "keys and values")
    if own == heads:
        return x
    if own < 1 or heads % own:
        raise call.malformed(f"{heads} heads of queries do not share {own} heads of keys")
    wide = x.expand_dims(2).broadcast_to(batch, own, heads // own, steps, width)
    return wide.reshape(batch, heads, steps, width)


def _heads(call: Call) -> _Heads:
    q = _split(call, 0, "q_num_heads", "queries")
    k = _split(call, 1, "kv_num_heads", "keys")
    v = _split(call, 2, "kv_num_heads", "values")
    past: int | None = None
    if call.has(4) != call.has(5):
        raise call.malformed("expected past keys and past values, or neither, got one of them")
    if call.has(4):
        keys, values = call.value(4), call.value(5)
        past = _numbers(call, keys, "past keys")[1]
        k, v = keys.concat(k, axis=2), values.concat(v, axis=2)
    count = _numbers(call, q, "queries")[0]
    return _Heads(q, _repeat_heads(call, k, count), _repeat_heads(call, v, count), k, v, past)


@importer("Attention")
def import_attention(call: Call) -> Sequence[Real | None]:
    """``Attention``; a query that attends to nothing results in zeros."""
    heads = _heads(call)
    queries, steps = heads.q.shape[-2], heads.k.shape[-2]
    aligned = not call.flag("is_causal") or heads.past is not None or queries == steps
    simple = not any((call.has(3), call.has(6), call.wants(3), *_windows(call)))
    if simple and aligned and heads.q.dtype in (DType.F32, DType.F64):
        y, scores = heads.q.apply(_layer(call), heads.k, heads.v), None
    else:
        y, scores = _in_steps(call, heads)
    if len(call.shape(0)) == 3:
        y = y.transpose(0, 2, 1, 3)
        y = y.reshape(*y.shape[:2], -1)
    return [y, heads.keys, heads.values, scores]


def _windows(call: Call) -> list[bool]:
    """Return whether a query sees a bounded number of keys to the left, and to the right."""
    return [call.integer(f"{side}_window_size", -1) >= 0 for side in ("left", "right")]


def _layer(call: Call) -> nn.NnAttention:
    scale, cap = call.attribute("scale"), call.number("softcap", 0.0)
    return nn.NnAttention(
        scale=float(scale) if isinstance(scale, float) else None,
        causal=call.flag("is_causal"),
        soft_cap=cap or None,
    )


def _in_steps(call: Call, heads: _Heads) -> tuple[Real, Real | None]:
    """Return the attended values, and the scores of the stage that is asked for."""
    dtype = heads.q.dtype
    # The root of the scale multiplies both sides, as the operator's definition has it.
    scale = call.number("scale", 1.0 / math.sqrt(_numbers(call, heads.q, "queries")[-1]))
    root = math.sqrt(scale) if scale >= 0 else math.nan
    raw = (heads.q * root) @ (heads.k * root).mT if scale >= 0 else (heads.q * scale) @ heads.k.mT
    cap = call.number("softcap", 0.0)
    capped = (raw / cap).tanh() * cap if cap else raw
    biased = _mask_scores(call, heads, capped)
    precision = DTYPES.get(call.integer("softmax_precision", 0), dtype)
    shares = _softmax(biased.cast(precision)).cast(dtype)
    stages = (raw, capped, biased, shares)
    mode = call.integer("qk_matmul_output_mode")
    if not 0 <= mode < len(stages):
        raise call.malformed(f"qk_matmul_output_mode is {mode}, expected 0 to 3")
    return shares @ heads.v, stages[mode] if call.wants(3) else None


def _softmax(scores: Real) -> Real:
    """Return the softmax of the last axis; zeros where all scores are minus infinity."""
    top = scores.max(-1, keep_dims=True)
    top = top.lift(0.0).where(top.equal(-math.inf), top)
    exponentials = (scores - top).exp()
    total = exponentials.sum(-1, keep_dims=True)
    return exponentials / total.lift(1.0).where(total.equal(0.0), total)


def _mask_scores(call: Call, heads: _Heads, scores: Real) -> Real:
    """Return scores with masks added, or minus infinity where a query must not look."""
    queries, steps = _numbers(call, scores, "scores")[-2:]
    for allowed in _limits(call, heads, scores, queries, steps):
        scores = scores.where(allowed, -math.inf)
    if not call.has(3):
        return scores
    mask = call.value(3)
    missing = steps - (mask.shape[-1] if isinstance(mask.shape[-1], int) else steps)
    if missing:
        zeros = (0,) * mask.ndim
        behind = (*zeros[:-1], missing)
        fill = 0.0 if mask.dtype is DType.BOOL else -math.inf
        mask = mask.apply(real.RealPad(before=zeros, after=behind, value=fill))
    if mask.dtype is DType.BOOL:
        return scores.where(mask, -math.inf)
    return scores + mask.cast(scores.dtype)


def _limits(call: Call, heads: _Heads, scores: Real, queries: int, steps: int) -> list[Real]:
    """Return masks of the keys that each query may look at, in addition to the given mask.

    A query's position is its index after the earlier keys: those of past steps, or all valid keys
    but the last ones. It sees the number of keys to the left and right that the file gives.
    """
    left, right = (call.integer(f"{side}_window_size", -1) for side in ("left", "right"))
    right = 0 if call.flag("is_causal") else right
    away = np.arange(steps)[None, :] - np.arange(queries)[:, None]
    fixed = not call.has(6) or heads.past is not None
    offset, masks = heads.past or 0, []
    allowed = np.full(away.shape, fill_value=True)
    if fixed and right >= 0:
        allowed &= away <= offset + right
    if fixed and left >= 0:
        allowed &= away >= offset - left
    if not allowed.all():
        masks.append(scores.lift(allowed))
    if call.has(6):
        valid = call.value(6).cast(DType.I64)
        valid = valid.reshape(*valid.shape, 1, 1, 1)
        masks.append(valid > np.arange(steps)[None, None, None])
        away = (away + queries)[None, None]
        masks += [valid >= away - right] if right >= 0 and not fixed else []
        masks += [valid <= away + left] if left >= 0 and not fixed else []
    return masks


@importer("RotaryEmbedding")
def import_rotary_embedding(call: Call) -> Real:
    """``RotaryEmbedding``: pairs of elements rotated by angles of their position."""
    x, rank = call.value(0), len(call.shape(0))
    if rank == 3:
        count = call.integer("num_heads", 0)
        width = _numbers(call, x, "tokens")[-1]
        if count < 1 or width % count:
            raise call.malformed(f"num_heads is {count}, but tokens have {width} numbers")
        x = x.reshape(*x.shape[:2], count, width // count)
    elif rank == 4:
        x = x.transpose(0, 2, 1, 3)
    else:
        raise call.malformed(f"the tokens are {x.type}, expected 3 or 4 dimensions")
    size = _numbers(call, x, "tokens")[-1]
    turned = call.integer("rotary_embedding_dim", 0) or size
    if not 0 < turned <= size or turned % 2:
        raise call.malformed(f"rotary_embedding_dim is {turned}, but heads have {size} numbers")
    cosine, sine = (_angles(call, place, turned // 2) for place in (1, 2))
    y = _rotate_pairs(x[..., :turned], cosine, sine, interleaved=call.flag("interleaved"))
    if turned < size:
        y = y.concat(x[..., turned:], axis=3)
    if rank == 4:
        return y.transpose(0, 2, 1, 3)
    return y.reshape(*y.shape[:2], -1)


def _angles(call: Call, index: int, half: int) -> Real:
    """Return cosines or sines as [B, S, 1, half]."""
    cache = call.value(index)
    if call.has(3):
        cache = cache.gather(call.value(3), axis=0)
    if cache.ndim != 3 or cache.shape[-1] != half:
        raise call.malformed(f"input {index} is {call.type(index)}, expected {half} angles")
    return cache.expand_dims(2)


def _rotate_pairs(x: Real, cosine: Real, sine: Real, *, interleaved: bool) -> Real:
    """Return pairs turned: neighbours, or numbers of the first and the second half."""
    shape, half = x.shape, x.shape[-1] // 2
    if interleaved:
        pairs = x.reshape(*shape[:-1], half, 2)
        first, second = (pairs[..., i : i + 1].reshape(*shape[:-1], half) for i in (0, 1))
    else:
        first, second = x[..., :half], x[..., half:]
    left, right = first * cosine - second * sine, first * sine + second * cosine
    if not interleaved:
        return left.concat(right, axis=3)
    return left.expand_dims(4).concat(right.expand_dims(4), axis=4).reshape(*shape)
