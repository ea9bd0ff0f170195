"""Decode token by token with a cache of keys and values, in one graph for every length."""

from __future__ import annotations

import numpy as np

import rlx
from rlx import Dim

WIDTH, HEADS = 16, 2
BATCH, NEW = Dim("batch"), Dim("new")
# A symbol is at least 1, and a cache may be empty: count the tokens from 1.
PAST = Dim("place") - 1


def heads(x: rlx.Tensor) -> rlx.Tensor:
    """Return [batch, new, width] as [batch, heads, new, width / heads]."""
    return x.reshape(BATCH, NEW, HEADS, -1).transpose(0, 2, 1, 3)


def decode(t: rlx.Graph) -> dict[str, rlx.Tensor]:
    """Return the attention of new tokens to all so far, and the caches grown by them."""
    x = t.input("x", (BATCH, NEW, WIDTH))
    cache = (BATCH, HEADS, PAST, WIDTH // HEADS)
    q, k, v = (heads(x @ t.param(name, (WIDTH, WIDTH))) for name in ("wq", "wk", "wv"))
    keys = t.input("keys", cache).concat(k, axis=2)
    values = t.input("values", cache).concat(v, axis=2)
    seen = q.attention(keys, values, causal=True)
    y = seen.transpose(0, 2, 1, 3).reshape(BATCH, NEW, -1)
    return {"y": y, "keys": keys, "values": values}


def main() -> None:
    """Trace one step, run it over a growing cache, and compare with all tokens at once."""
    graph = rlx.trace("decode", decode)
    print("cache:", graph.graph.outputs[1].type)
    compiled = rlx.Session().compile(graph)
    generator = np.random.default_rng(0)
    for name, type_ in compiled.param_types.items():
        compiled.set_param(name, generator.standard_normal(type_.shape) / 4)
    x = generator.standard_normal((3, 8, WIDTH)).astype(np.float32)
    empty = np.zeros((3, HEADS, 0, WIDTH // HEADS), np.float32)
    whole = compiled.run_named({"x": x, "keys": empty, "values": empty})["y"]
    keys, values = empty, empty
    for place in range(x.shape[1]):
        token = x[:, place : place + 1]
        y, keys, values = compiled.run({"x": token, "keys": keys, "values": values})
        # Sums of products in another order.
        np.testing.assert_allclose(y, whole[:, place : place + 1], rtol=0, atol=1e-6)
    print("cache at the end:", list(keys.shape))
    print("one token at a time gives what all at once give")


if __name__ == "__main__":
    main()
