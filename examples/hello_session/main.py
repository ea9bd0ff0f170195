"""Build a graph by hand, compile it, set its parameters, run it."""

from __future__ import annotations

import numpy as np

import rlx


def build() -> rlx.Graph:
    """Return one dense layer with GELU: y = gelu(x @ w + b)."""
    graph = rlx.Graph("hello")
    x = graph.input("x", (4, 64))
    w = graph.param("w", (64, 128))
    b = graph.param("b", (128,))
    graph.output((graph.matmul(x, w) + b).gelu(), names=["y"])
    return graph


def main() -> None:
    """Run the layer on random numbers and print statistics of the result."""
    generator = np.random.default_rng(0)
    compiled = rlx.Session(rlx.Device.CPU).compile(build())
    compiled.set_param("w", generator.standard_normal((64, 128)) / 8)
    compiled.set_param("b", np.zeros(128))
    (y,) = compiled.run({"x": generator.standard_normal((4, 64))})
    print(f"{compiled!r}: y is {y.dtype}{list(y.shape)}")
    print(f"minimum {y.min():.3f}, mean {y.mean():.3f}, maximum {y.max():.3f}")


if __name__ == "__main__":
    main()
