from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import Dim, Graph, f32
from rlx.ir.evaluate import evaluate
from rlx.ops import nn
from rlx.ops.nn import Layout
from rlx.passes.decompose import Decompose
from rlx.support.errors import ShapeError
from support.messages import raises

X = np.arange(24.0).reshape(2, 3, 4)
BATCH = Dim("batch")


@pytest.mark.parametrize(
    ("axis", "shape"), [(0, (24,)), (1, (2, 12)), (-1, (2, 3, 4)), (3, (2, 3, 4, 1))]
)
def test_flatten(axis, shape):
    (y,) = nn.NnFlatten(axis=axis).evaluate(X)
    assert y.shape == shape
    assert y.ravel().tolist() == X.ravel().tolist()


def test_split_has_as_many_results_as_sizes():
    parts = nn.NnSplit(sizes=(1, 0, 3), axis=-1).evaluate(X)
    assert [p.shape for p in parts] == [(2, 3, 1), (2, 3, 0), (2, 3, 3)]
    np.testing.assert_array_equal(np.concatenate(parts, axis=-1), X)
    types = nn.NnSplit(sizes=(1, 2), axis=1).infer(f32(BATCH, 3))
    assert types == (f32(BATCH, 1), f32(BATCH, 2))


def test_tile_adds_an_axis_only_where_copies_are_made():
    op = nn.NnTile(repeats=(1, 2, 1, 3, 1))
    graph = Graph("g")
    graph.output(graph.apply(op, graph.input("x", f32(1, 2, 3, 4, 5))))
    graph = Decompose().apply(graph)
    assert max(node.result.type.rank for node in graph.nodes) == 7
    x = np.arange(120, dtype=np.float32).reshape(1, 2, 3, 4, 5)
    assert np.array_equal(evaluate(graph, {"x": x})[0], np.tile(x, op.repeats))


def test_tile_repeats_copies():
    (y,) = nn.NnTile(repeats=(2, 1, 3)).evaluate(X)
    for i, j, k in np.ndindex(y.shape):
        assert y[i, j, k] == X[i % 2, j, k % 4]
    assert nn.NnTile(repeats=(1, 2)).infer(f32(BATCH, 3)) == (f32(BATCH, 6),)


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("column_row_depth", [False, True])
def test_depth_to_space_moves_channels(layout, column_row_depth):
    side, depth = 2, 3
    x = np.random.default_rng(0).standard_normal((2, 3, 2, side * side * depth))
    op = nn.NnDepthToSpace(block=side, column_row_depth=column_row_depth, layout=layout)
    first = layout is Layout.CHANNELS_FIRST
    (y,) = op.evaluate(np.moveaxis(x, -1, 1) if first else x)
    y = np.moveaxis(y, 1, -1) if first else y
    for n, h, w, c in np.ndindex(y.shape):
        square = h % side * side + w % side
        channel = c * side * side + square if column_row_depth else square * depth + c
        assert y[n, h, w, c] == x[n, h // side, w // side, channel]


@pytest.mark.parametrize("layout", Layout)
def test_space_to_depth_undoes_it(layout):
    x = np.arange(96.0).reshape(1, 4, 4, 6) if layout is Layout.CHANNELS_LAST else \
        np.arange(96.0).reshape(1, 6, 4, 4)  # fmt: skip
    (deep,) = nn.NnSpaceToDepth(block=2, layout=layout).evaluate(x)
    (back,) = nn.NnDepthToSpace(block=2, layout=layout).evaluate(deep)
    np.testing.assert_array_equal(back, x)
    assert deep.shape == ((1, 2, 2, 24) if layout is Layout.CHANNELS_LAST else (1, 24, 2, 2))


def test_symbols_are_joined_split_and_repeated():
    length = Dim("length")
    assert nn.NnFlatten(axis=0).infer(f32(BATCH, length, 3)) == (f32(3 * BATCH * length),)
    assert nn.NnTile(repeats=(2, 1)).infer(f32(BATCH, 3)) == (f32(2 * BATCH, 3),)
    parts = nn.NnSplit(sizes=(length, 1)).infer(f32(length + 1, 3))
    assert parts == (f32(length, 3), f32(1, 3))


def test_images_keep_a_symbolic_batch():
    assert nn.NnSpaceToDepth(block=2).infer(f32(BATCH, 4, 6, 3)) == (f32(BATCH, 2, 3, 12),)
    assert nn.NnDepthToSpace(block=2).infer(f32(BATCH, 2, 3, 12)) == (f32(BATCH, 4, 6, 3),)


@pytest.mark.parametrize(
    ("op", "x"),
    [
        (nn.NnFlatten(axis=3), f32(2, 3)),
        (nn.NnSplit(sizes=(1, 1)), f32(3)),
        (nn.NnTile(repeats=(2,)), f32(2, 3)),
        (nn.NnSplit(sizes=(BATCH, 1)), f32(BATCH)),
        (nn.NnDepthToSpace(block=2), f32(1, 2, 2, 6)),
        (nn.NnDepthToSpace(block=2), f32(1, 2, 8)),
        (nn.NnSpaceToDepth(block=2), f32(1, 3, 2, 6)),
    ],
)
def test_refusals(op, x):
    with raises(ShapeError):
        op.infer(x)
