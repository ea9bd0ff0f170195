"""Exchanges of two small axes as slices and joins, equal to the transpose."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rlx.ir import DType, Graph, GraphModule, Refusal, TensorType
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.ops.q import QTranspose
from rlx.passes.exchange import exchange_sizes
from rlx.passes.fit import fit


def transposed(shape: tuple[int, ...], axes: tuple[int, ...]) -> Graph:
    graph = Graph("net")
    x = graph.input("x", TensorType(shape, DType.I8))
    graph.output(graph.apply(QTranspose(axes=axes), x, name="y"), names=["y"])
    return graph


def fitted(graph: Graph) -> Graph:
    """Return the graph for a target that has everything but transposes."""

    def claim(node):
        return Refusal("no transposes") if isinstance(node.op, QTranspose) else None

    return fit(graph, "target", claim).graph


@pytest.mark.parametrize(
    ("shape", "axes", "sizes"),
    [
        ((1, 4, 5, 2, 2, 3), (0, 1, 3, 2, 4, 5), (4, 5, 2, 6)),  # depth to space
        ((2, 4, 2, 5, 2, 3), (0, 1, 3, 2, 4, 5), (8, 2, 5, 6)),  # space to depth
        ((3, 7, 2), (0, 2, 1), (3, 7, 2, 1)),
        ((3, 1, 8, 9), (0, 3, 1, 2), (3, 8, 9, 1)),
        ((2, 3, 1, 4, 5, 2), (2, 0, 1, 4, 3, 5), (6, 4, 5, 2)),
    ],
)
def test_exchanges_become_slices_and_joins(
    shape: tuple[int, ...], axes: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    graph = transposed(shape, axes)
    assert exchange_sizes(graph.outputs[0].node) == sizes
    other = fitted(graph)
    verify(GraphModule.mir(other))
    names = {node.op.name for node in other.op_nodes}
    assert names == {"q.reshape", "q.slice", "q.concat"}
    x = np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)
    np.testing.assert_array_equal(evaluate(other, {"x": x})[0], x.transpose(axes))


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((1, 16, 16, 3), (0, 3, 1, 2)),  # the whole image
        ((2, 9, 9), (0, 2, 1)),  # nine parts
        ((2, 3, 4, 5), (0, 3, 2, 1)),  # more than two axes
        ((2, 3, 4, 5), (0, 1, 2, 3)),
        ((2, 3, 4), (2, 0, 1)),
    ],
)
def test_other_orders_stay_transposes(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    graph = transposed(shape, axes)
    assert exchange_sizes(graph.outputs[0].node) is None
    assert fitted(graph) is graph


def test_random_orders_are_exact() -> None:
    random = np.random.default_rng(5)
    seen = 0
    for _ in range(300):
        shape = tuple(int(n) for n in random.integers(1, 6, random.integers(2, 6)))
        axes = tuple(int(a) for a in random.permutation(len(shape)))
        graph = transposed(shape, axes)
        sizes = exchange_sizes(graph.outputs[0].node)
        if sizes is None:
            continue
        seen += 1
        assert math.prod(sizes) == math.prod(shape)
        x = random.integers(-128, 128, shape).astype(np.int8)
        found = evaluate(fitted(graph), {"x": x})[0]
        np.testing.assert_array_equal(found, x.transpose(axes))
    assert seen > 20
