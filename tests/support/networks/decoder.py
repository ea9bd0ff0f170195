"""A small transformer: all tokens at once, and token by token with its cache as states."""

from __future__ import annotations

import numpy as np

import rlx
from rlx.ops import real

TOKENS, WORDS, WIDTH, HEADS, LAYERS = 200, 32, 16, 2, 2
HEAD = WIDTH // HEADS
RANDOM = np.random.default_rng(11)
TABLE = RANDOM.standard_normal((WORDS, WIDTH)).astype(np.float32)
PLACES = (0.3 * RANDOM.standard_normal((TOKENS, WIDTH))).astype(np.float32)
WEIGHTS = (RANDOM.standard_normal((LAYERS, 6, WIDTH, WIDTH)) / WIDTH**0.5).astype(np.float32)
SCALE = np.ones(WIDTH, np.float32)
SENTENCE = RANDOM.integers(0, WORDS, TOKENS).astype(np.int32)


def heads(t: rlx.Tensor, count: int) -> rlx.Tensor:
    return t.reshape(count, HEADS, HEAD).transpose(1, 0, 2)


def layer(x, number, count, keys_and_values, seen):
    """Attention and a gated block; ``keys_and_values`` gives those to attend to."""
    wq, wk, wv, wo, wg, wd = WEIGHTS[number]
    h = x.rms_norm(SCALE)
    q, k, v = (heads(h @ w, count) for w in (wq, wk, wv))
    keys, values = keys_and_values(number, k, v)
    y = q.attention(keys, values, seen).transpose(1, 0, 2).reshape(count, WIDTH)
    x = x + y @ wo
    return x + (x.rms_norm(SCALE) @ wg).silu() @ wd


def whole() -> rlx.Graph:
    """All tokens at once, each of which sees those before it."""
    graph = rlx.Graph("whole")
    tokens = graph.input("tokens", (TOKENS,), "i32")
    seen = graph.constant(np.tril(np.ones((TOKENS, TOKENS), bool)))
    x = graph.constant(TABLE).gather(tokens) + PLACES
    for number in range(LAYERS):
        x = layer(x, number, TOKENS, lambda _, k, v: (k, v), seen)
    graph.output(x @ TABLE.T, names=["scores"])
    return graph


def step() -> rlx.Graph:
    """One token; keys, values and the position are states."""
    graph = rlx.Graph("step")
    token = graph.input("token", (1,), "i32")
    position = graph.state("position", (1,), "i32")
    seen = graph.constant(np.arange(TOKENS, dtype=np.int32)[np.newaxis]) <= position

    def kept(number, *new):
        for name, rows in zip(("keys", "values"), new, strict=True):
            cache = graph.state(f"{name}{number}", (HEADS, TOKENS, HEAD))
            after = cache.apply(real.RealScatter(axis=1), position, rows)
            graph.set_state(cache, after)
            yield after

    x = graph.constant(TABLE).gather(token) + graph.constant(PLACES).gather(position)
    for number in range(LAYERS):
        x = layer(x, number, 1, kept, seen)
    graph.set_state(position, position + 1)
    graph.output(x @ TABLE.T, names=["scores"])
    return graph
