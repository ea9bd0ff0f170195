"""Random numbers: Philox4x32-10, as ``rlx.ops.numerics.philox`` defines it.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import jax.numpy as jnp
import numpy as np

from rlx.ops import real
from rlx.ops.numerics.philox import ROUNDS, blocks_of
from rlx_xla.lowerings.common import shape_of
from rlx_xla.rules import RULES

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_xla.rules import Traced
    from rlx_xla.trace import Trace

_MULTIPLIERS: Final = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEY_STEPS: Final = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW: Final = np.uint64(0xFFFFFFFF)
_SHIFT: Final = np.uint64(32)


def _philox(words: list[Traced], keys: list[Traced]) -> list[Traced]:
    """Return four words for each counter, which is four words of 64 bits."""
    for _ in range(ROUNDS):
        first, second = (m * w for m, w in zip(_MULTIPLIERS, words[::2], strict=True))
        words = [
            (second >> _SHIFT) ^ words[1] ^ keys[0],
            second & _LOW,
            (first >> _SHIFT) ^ words[3] ^ keys[1],
            first & _LOW,
        ]
        keys = [(k + step) & _LOW for k, step in zip(keys, _KEY_STEPS, strict=True)]
    return words


def _advance(counter: Traced, steps: Traced) -> list[Traced]:
    """Return the words of a counter advanced by ``steps``, modulo 2^128."""
    wide = counter.astype(jnp.uint64)
    first, second = wide[0] | wide[1] << _SHIFT, wide[2] | wide[3] << _SHIFT
    low = first + steps
    high = second + (low < first).astype(jnp.uint64)
    return [low & _LOW, low >> _SHIFT, high & _LOW, high >> _SHIFT]


def _uniform(words: Traced) -> Traced:
    """Return a float in [0, 1) for each word."""
    return (words >> np.uint32(8)).astype(jnp.float32) * np.float32(2.0**-24)


def _normal(words: Traced) -> Traced:
    """Return a number of the standard normal distribution for each word."""
    first, second = (_uniform(half).astype(jnp.float64) for half in (words[::2], words[1::2]))
    radius, angle = jnp.sqrt(-2.0 * jnp.log1p(-first)), 2.0 * np.pi * second
    pairs = jnp.stack([radius * jnp.cos(angle), radius * jnp.sin(angle)], axis=-1)
    return pairs.reshape(-1).astype(jnp.float32)


@RULES.rule(real.RealRandomBits, real.RealRandomNormal, real.RealRandomUniform)
def random(node: Node, trace: Trace, key: Traced, counter: Traced) -> tuple[Traced, Traced]:
    """Lower random numbers."""
    del trace
    op = node.op
    assert isinstance(op, real.RealRandomBits | real.RealRandomNormal | real.RealRandomUniform)
    shape = shape_of(node)
    count = math.prod(shape)
    blocks = jnp.arange(blocks_of(op.words(count)), dtype=jnp.uint64)
    words = _philox(_advance(counter, blocks), [k.astype(jnp.uint64) for k in key])
    flat = jnp.stack(words, axis=-1).reshape(-1)[: op.words(count)].astype(jnp.uint32)
    if isinstance(op, real.RealRandomUniform):
        flat = _uniform(flat)
    elif isinstance(op, real.RealRandomNormal):
        flat = _normal(flat)
    following = _advance(counter, np.uint64(blocks_of(count)))
    return flat[:count].reshape(shape), jnp.stack(following).astype(jnp.uint32)
