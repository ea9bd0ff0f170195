"""One of two processes with two devices each: a program for ``test_parallel.py``."""

from __future__ import annotations

import sys

import numpy as np

from rlx.ir import DType, Graph, TensorType
from rlx.ir.evaluate import evaluate
from rlx.ops import real
from rlx_xla.parallel import join, shard


def main(address: str, index: int) -> None:
    join(address, 2, index)
    graph = Graph("product")
    x = graph.input("x", TensorType((8, 12), DType.I32))
    w = graph.param("w", TensorType((12, 4), DType.I32))
    product = graph.apply(real.RealMatmul(), x, w)
    graph.output(product, graph.apply(real.RealReduceSum(axes=(0,)), product))
    random = np.random.default_rng(3)
    inputs = {"x": random.integers(-99, 99, (8, 12)).astype(np.int32)}
    params = {"w": random.integers(-99, 99, (12, 4)).astype(np.int32)}
    for splits in ({"x": ("data", None)}, {"x": (None, "data"), "w": ("data", None)}):
        program = shard(graph, {"data": 4}, splits)
        program.set_params(params)
        for found, expected in zip(
            program.run(inputs), evaluate(graph, inputs, params), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
    sys.stdout.write("equal\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
