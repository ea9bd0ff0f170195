"""Record what a Python function does to tensors: a block of a transformer."""

from __future__ import annotations

import math

import numpy as np

import rlx

LENGTH, WIDTH, HEADS = 6, 16, 2


def attention(t: rlx.Graph, x: rlx.Tensor) -> rlx.Tensor:
    """Return causal self-attention with a head for each slice of the width."""
    q, k, v = (x @ t.param(name, (WIDTH, WIDTH)) for name in ("wq", "wk", "wv"))
    size = WIDTH // HEADS
    q, k, v = (a.reshape(LENGTH, HEADS, size).transpose(1, 0, 2) for a in (q, k, v))
    position = np.arange(LENGTH)
    future = t.constant(position[None, :] > position[:, None])
    scores = t.where(future, -math.inf, q @ k.t() / math.sqrt(size))
    mixed = scores.softmax(-1) @ v
    return mixed.transpose(1, 0, 2).reshape(LENGTH, WIDTH) @ t.param("wo", (WIDTH, WIDTH))


def block(t: rlx.Graph) -> rlx.Tensor:
    """Return a transformer block: attention and two dense layers, each beside a shortcut."""
    x = t.input("x", (LENGTH, WIDTH))
    with t.scope("attention"):
        x = x + attention(t, x.rms_norm(t.param("norm", value=np.ones(WIDTH, np.float32))))
    with t.scope("mlp"):
        hidden = x.layer_norm(
            t.param("gamma", value=np.ones(WIDTH, np.float32)),
            t.param("beta", value=np.zeros(WIDTH, np.float32)),
        )
        hidden = (hidden @ t.param("w1", (WIDTH, 4 * WIDTH))).gelu()
        return x + hidden @ t.param("w2", (4 * WIDTH, WIDTH))


def main() -> None:
    """Trace the block, give it weights, and show that the first tokens ignore the later ones."""
    compiled = rlx.Session().compile(rlx.trace("block", block))
    generator = np.random.default_rng(0)
    for name, type_ in compiled.param_types.items():
        if name.rpartition(".")[2].startswith("w"):
            compiled.set_param(name, generator.standard_normal(type_.shape) / 4)
    x = generator.standard_normal((LENGTH, WIDTH)).astype(np.float32)
    (before,) = compiled.run({"x": x})
    x[-1] += 1.0
    (after,) = compiled.run({"x": x})
    changed = np.abs(after - before).max(axis=-1) > 0
    print("ops:", ", ".join(f"{e.count} {e.op}" for e in compiled.dispatch.entries))
    print("tokens that changed with the last one:", np.flatnonzero(changed).tolist())


if __name__ == "__main__":
    main()
