"""Runs that compute the first rows only: what they give, and what they compute."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rlx
from rlx.ir import Dim, f32
from rlx.passes.decompose import decompose
from rlx.passes.transforms.rows import first_rows
from rlx.runtime import CompiledGraph, Session
from support.messages import raises
from support.networks.decoder import SENTENCE, TOKENS, whole

UPPER, WIDTH = 64, 12
RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((UPPER, WIDTH)).astype(np.float32)
W = RANDOM.standard_normal((WIDTH, WIDTH)).astype(np.float32)


def mlp(x: rlx.Tensor) -> rlx.Tensor:
    for _ in range(2):
        x = (x @ W).relu().softmax(-1) + x
    return x


def attention(x: rlx.Tensor) -> rlx.Tensor:
    """Keys and values of all rows; queries and what follows by themselves."""
    q, k, v = x @ W, x @ (2.0 * W), x @ (3.0 * W)
    return ((q @ k.T).softmax(-1) @ v) @ W


def compiled(function=mlp, *types: rlx.TensorType) -> CompiledGraph:
    return Session().compile(rlx.trace("g", function, *(types or (f32(UPPER, WIDTH),))))


def elements(graph: CompiledGraph) -> int:
    """Return the elements that the steps of the active program compute, apart from copies."""
    program = (graph._extent.loaded if graph._extent else graph._programs[()]).program
    nodes = [node for node, _ in program.steps if not node.op.traits.moves_only]
    return sum(v.type.size for node in nodes for v in node.results)


@pytest.mark.parametrize("actual", [1, 7, UPPER - 1])
@pytest.mark.parametrize("function", [mlp, attention])
def test_the_first_rows_are_those_of_a_whole_run(function, actual):
    graph = compiled(function)
    (expected,) = graph.run({"x": X})
    with graph.active_extent(actual, UPPER):
        (found,) = graph.run({"x": X})
    np.testing.assert_allclose(found[:actual], expected[:actual], rtol=1e-5, atol=1e-5)
    assert found.shape == expected.shape
    assert not found[actual:].any()
    np.testing.assert_array_equal(graph.run({"x": X})[0], expected)


def test_only_the_first_rows_are_computed():
    graph = compiled()
    graph.run({"x": X})
    every = elements(graph)
    graph.set_active_extent(16, UPPER)
    graph.run({"x": X})
    assert elements(graph) == every // 4


def test_what_mixes_rows_reads_all_of_them():
    graph = rlx.trace("g", attention, f32(UPPER, WIDTH)).graph
    short = first_rows(decompose(graph), 16, UPPER).graph
    shapes = [node.types[0].shape for node in short.op_nodes if node.op.name == "real.matmul"]
    rows = sorted(shapes)
    assert rows == [(16, WIDTH)] * 3 + [(16, UPPER)] + [(UPPER, WIDTH)] * 2


def test_a_decoder_computes_its_last_layer_for_few_rows():
    graph = Session().compile(whole())
    (expected,) = graph.run({"tokens": SENTENCE})
    full = elements(graph)
    graph.set_active_extent(20, TOKENS)
    (found,) = graph.run({"tokens": SENTENCE})
    np.testing.assert_allclose(found[:20], expected[:20], atol=1e-5, rtol=0)
    assert elements(graph) < 0.7 * full


def test_every_op_takes_rows_as_it_says():
    """Rows after any of these ops equal those of the whole."""
    table = RANDOM.standard_normal((9, WIDTH)).astype(np.float32)
    places = RANDOM.integers(0, 9, UPPER).astype(np.int32)
    column = RANDOM.standard_normal((UPPER, 1)).astype(np.float32)
    functions = [
        lambda x: x.reshape(UPPER, 3, 4).transpose(1, 0, 2).reshape(3, UPPER * 4),
        lambda x: x.reshape(UPPER, 3, 4).transpose(1, 0, 2),
        lambda x: x.reshape(1, UPPER, WIDTH)[:, :, 2:5],
        lambda x: x.concat(x * 2.0, axis=1),
        lambda x: x.concat(x * 2.0, axis=0),
        lambda x: x.sum(-1),
        lambda x: x.mean(-1, keep_dims=True) * x + column,
        lambda x: x.max(0) + x,
        lambda x: x.lift(table).gather(x.builder.constant(places)) * x,
        lambda x: x.T @ x,
        lambda x: (x.T @ x) @ x.T,
        lambda x: x[:UPPER].cast("f64"),
        lambda x: x[1:].concat(x[:1], axis=0),
        lambda x: x.argmax(-1),
        lambda x: x.argmax(0) + x.argmax(1).sum(0).cast("i32"),
    ]
    for number, function in enumerate(functions):
        graph = decompose(rlx.trace("g", function, f32(UPPER, WIDTH)).graph)
        short = first_rows(graph, 5, UPPER)
        (expected,) = Session().compile(graph).run({"x": X})
        (found,) = Session().compile(short.graph).run({"x": X})
        (axis,) = short.axes
        if axis is not None:
            expected = np.take(expected, range(5), axis)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4, err_msg=str(number))


def test_integers_have_rows_too():
    graph = rlx.Graph("g")
    quant = rlx.QuantParams.per_tensor(0.05, 3)
    codes = graph.quantize(graph.input("x", (UPPER, WIDTH)), quant)
    graph.output(codes, graph.dequantize(codes) @ W, names=["codes", "y"])
    program = Session().compile(graph)
    codes, y = program.run({"x": X})
    program.set_active_extent(9, UPPER)
    short_codes, short_y = program.run({"x": X})
    np.testing.assert_array_equal(short_codes[:9], codes[:9])
    np.testing.assert_allclose(short_y[:9], y[:9], rtol=1e-5, atol=1e-5)
    assert elements(program) == 9 * WIDTH * 3


def test_states_are_computed_whole():
    graph = rlx.Graph("g")
    total, x = graph.state("total", (UPPER,)), graph.input("x", (UPPER,))
    after = total + x
    graph.set_state(total, after)
    graph.output(after * 2.0, names=["y"])
    program = Session().compile(graph)
    ones = np.ones(UPPER, np.float32)
    program.run({"x": ones})
    with program.active_extent(4, UPPER):
        y = program.run_named({"x": ones})["y"]
    assert y.tolist() == [4.0] * 4 + [0.0] * (UPPER - 4)
    assert program.run_named({"x": ones})["y"].tolist() == [6.0] * UPPER
    assert program.read_state("total").tolist() == [3.0] * UPPER


def test_programs_of_extents_are_kept_but_not_without_end():
    graph = compiled()
    for actual in (*range(1, 13), 12):
        graph.set_active_extent(actual, UPPER)
    assert list(graph._extents) == [(actual, UPPER) for actual in range(5, 13)]
    kept = graph._extent
    graph.set_active_extent(UPPER, UPPER)
    assert graph._extent is None
    graph.set_active_extent(12, UPPER)
    assert graph._extent is kept


def test_parameters_and_clones_follow():
    graph = rlx.Graph("g")
    graph.output(graph.input("x", (UPPER, WIDTH)) @ graph.param("w", (WIDTH, WIDTH)))
    program = Session().compile(graph)
    program.set_active_extent(3, UPPER)
    for factor in (1, 2):
        program.set_param("w", factor * W)
        for each in (program, program.clone()):
            (found,) = each.run({"x": X})
            np.testing.assert_allclose(found[:3], X[:3] @ W * factor, rtol=1e-4, atol=1e-5)
            assert not found[3:].any()


def test_blocks_can_be_nested():
    graph = compiled()
    with graph.active_extent(8, UPPER):
        with pytest.raises(KeyError), graph.active_extent(4, UPPER):
            raise KeyError
        assert graph._extent.rows == (8, UPPER)
    assert graph._extent is None


def test_wrong_extents_are_refused():
    graph = compiled()
    for actual in (0, -1, 2.5, UPPER + 1):
        with raises(ValueError):
            graph.set_active_extent(actual, UPPER)
    with raises(ValueError):
        graph.set_active_extent(1, 65)
    mixed = compiled(lambda x: x.sum(0))
    with raises(ValueError):
        mixed.set_active_extent(1, UPPER)
    with raises(ValueError):
        compiled(mlp, f32(Dim("n"), WIDTH)).set_active_extent(1, UPPER)
    assert graph._extent is None
    assert math.isfinite(float(graph.run({"x": X})[0].sum()))
