"""An attention step over a cache of symbolic length: traced, written, read, bound, run."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rlx
from rlx.ir import Dim, Graph, f32
from rlx.ir.evaluate import evaluate
from rlx.ir.file import load, save
from rlx.ir.module import GraphModule
from rlx.ir.parser import parse_graph
from rlx.ir.printer import format_graph
from rlx.passes.pipelines import pipeline
from rlx.passes.transforms.bind import bind, symbols
from rlx.runtime import Session
from support.messages import raises
from support.references.closeness import assert_close

BATCH, PAST = Dim("batch"), Dim("past")
HEADS, SIZE = 2, 3
WIDTH = HEADS * SIZE
CACHE = f32(BATCH, HEADS, PAST, SIZE)
TABLE = np.random.default_rng(7).standard_normal((32, WIDTH)).astype(np.float32)


def model(x, keys, values, wq, wk, wv):
    """One token for each of a batch: add its place, attend to the cache and itself."""
    t = x + x.lift(TABLE)[PAST]

    def heads(y):
        return y.reshape(BATCH, 1, HEADS, -1).transpose(0, 2, 1, 3)

    q, k, v = (heads(t @ w) for w in (wq, wk, wv))
    keys, values = keys.concat(k, axis=2), values.concat(v, axis=2)
    scores = (q @ keys.mT) / math.sqrt(SIZE)
    y = scores.softmax(-1) @ values
    return {"y": y.reshape(BATCH, -1), "keys": keys, "values": values}


def traced() -> Graph:
    w = f32(WIDTH, WIDTH)
    return rlx.trace("decode", model, f32(BATCH, 1, WIDTH), CACHE, CACHE, w, w, w).graph


def expected(x, keys, values, wq, wk, wv):
    """The same in plain NumPy."""
    batch, _, past, _ = keys.shape
    t = x + TABLE[past]
    q, k, v = (np.matmul(t, w).reshape(batch, 1, HEADS, SIZE) for w in (wq, wk, wv))
    q, k, v = (y.transpose(0, 2, 1, 3) for y in (q, k, v))
    keys, values = np.concatenate([keys, k], 2), np.concatenate([values, v], 2)
    scores = np.matmul(q, keys.swapaxes(-1, -2)) / np.float32(math.sqrt(SIZE))
    shifted = np.exp(scores - scores.max(-1, keepdims=True))
    y = np.matmul(shifted / shifted.sum(-1, keepdims=True), values)
    return y.reshape(batch, WIDTH), keys, values


def arrays(batch, past):
    generator = np.random.default_rng(past)
    shapes = [(batch, 1, WIDTH), *[(batch, HEADS, past, SIZE)] * 2, *[(WIDTH, WIDTH)] * 3]
    names = ("x", "keys", "values", "wq", "wk", "wv")
    return {
        name: generator.standard_normal(shape).astype(np.float32)
        for name, shape in zip(names, shapes, strict=True)
    }


def test_types_say_how_the_cache_grows():
    graph = traced()
    assert symbols(graph) == ("batch", "past")
    grown = f32(BATCH, HEADS, PAST + 1, SIZE)
    assert [o.type for o in graph.outputs] == [f32(BATCH, WIDTH), grown, grown]
    assert "f32[batch, 2, past + 1, 3]" in format_graph(graph)


def written_and_read(graph, folder):
    """Return a graph after a file and a text."""
    path = folder / "decode.rlx"
    save(GraphModule.hir(graph), path)
    again = load(path).graph
    assert format_graph(again) == format_graph(graph)
    text = parse_graph(format_graph(again))
    assert format_graph(text) == format_graph(graph)
    return text


def has_layers(graph):
    return any(node.op.dialect == "nn" for node in graph.nodes)


@pytest.mark.parametrize("lower", [False, True], ids=["layers", "tensor algebra"])
def test_every_length_gives_what_numpy_gives(lower, tmp_path):
    graph = traced()
    if lower:
        graph = pipeline("default").run(GraphModule.hir(graph)).graph
        assert not has_layers(graph)
    graph = written_and_read(graph, tmp_path)
    compiled = Session().compile(graph)
    for batch, past in ((1, 1), (2, 5), (3, 31), (2, 5)):
        given = arrays(batch, past)
        wanted = expected(**given)
        results = (
            compiled.run(given),
            evaluate(graph, given),
            evaluate(bind(graph, {"past": past}), given),
            evaluate(bind(graph, {"past": past, "batch": batch}), given),
        )
        for result in results:
            for found, right in zip(result, wanted, strict=True):
                # Sums of products differ by the layout of their operands, and by the processor.
                assert_close(found, right, 4)


def test_a_cache_longer_than_its_table_is_refused():
    given = arrays(1, 32)
    with raises(rlx.support.errors.ShapeError):
        Session().compile(traced()).run(given)


def test_caches_of_two_lengths_are_refused():
    given = arrays(2, 4) | {"values": arrays(2, 3)["values"]}
    with raises(ValueError):
        Session().compile(traced()).run(given)
