from __future__ import annotations

import numpy as np
import pytest

import rlx
from rlx.ir import Dim, Graph, QuantParams, f32, i8
from rlx.ir.binding import match_shapes
from rlx.ir.evaluate import evaluate
from rlx.ops.real import RealBroadcastTo, RealQuantize
from rlx.passes.transforms.bind import bind, symbols
from support.messages import raises

BATCH, LENGTH = Dim("batch"), Dim("length")


def attention() -> Graph:
    def model(x, w):
        h = (x @ w).reshape(BATCH, LENGTH, 2, 3).transpose(0, 2, 1, 3)
        mixed = h.attention(h, h, scale=0.5).transpose(0, 2, 1, 3).reshape(BATCH, LENGTH, 6)
        return [mixed, mixed.mean(1).expand_dims(1).broadcast_to(BATCH, LENGTH, 6)]

    return rlx.trace("model", model, f32(BATCH, LENGTH, 4), f32(4, 6)).graph


def test_symbols_are_known_by_name():
    assert symbols(attention()) == ("batch", "length")


def test_everything_is_inferred_anew():
    bound = bind(attention(), {"batch": 2, "length": 5})
    assert symbols(bound) == ()
    assert [o.type for o in bound.outputs] == [f32(2, 5, 6), f32(2, 5, 6)]
    assert all(t.is_static for n in bound.nodes for t in n.types)
    generator = np.random.default_rng(0)
    x = generator.standard_normal((2, 5, 4)).astype(np.float32)
    w = generator.standard_normal((4, 6)).astype(np.float32)
    mixed, mean = evaluate(bound, {"x": x, "w": w})
    np.testing.assert_array_equal(mean, np.broadcast_to(mixed.mean(1, keepdims=True), (2, 5, 6)))


def test_a_part_may_stay_open():
    bound = bind(attention(), {"length": 5})
    assert symbols(bound) == ("batch",)
    assert bound.outputs[0].type == f32(BATCH, 5, 6)
    whole = bind(bound, {"batch": 2})
    assert whole.outputs[0].type == f32(2, 5, 6)


def test_names_origins_and_quantization_stay():
    graph = rlx.Graph("g")
    quant = QuantParams.per_tensor(0.5, 1)
    codes = graph.apply(RealQuantize(quant=quant), graph.input("x", ("batch", 3)))
    inner = graph.graph
    spread = inner.apply(RealBroadcastTo(shape=(4, BATCH, 3)), codes.value, name="spread")
    inner.output(spread, names=["y"])
    bound = bind(inner, {"batch": 2})
    assert bound.output_names == ("y",)
    assert bound.outputs[0].type == i8(4, 2, 3, quant=quant)
    assert bound.outputs[0].name == "spread"
    for old, new in zip(inner.nodes, bound.nodes, strict=True):
        assert (old.name, old.origin) == (new.name, new.origin)


def test_nothing_to_bind_is_the_graph_itself():
    graph = attention()
    assert bind(graph, {}) is graph


def test_modules_stay_modules():
    sizes = {"batch": 2, "length": 5}
    bound = bind(rlx.GraphModule.hir(attention()), sizes)
    assert (bound.stage, bound.graph) == (rlx.ir.Stage.HIR, bind(attention(), sizes))


def test_symbols_may_become_what_they_are_broadcast_with():
    graph = rlx.trace("g", lambda x, y: x + y, f32(Dim("a")), f32(Dim("b"), 1)).graph
    assert bind(graph, {"a": 2, "b": 3}).outputs[0].type == f32(3, 2)
    assert bind(graph, {"a": 1, "b": 1}).outputs[0].type == f32(1, 1)


def test_expressions_are_bound():
    past = Dim("past")
    graph = rlx.trace("g", lambda x: x[:, 1:], f32(BATCH, past + 1)).graph
    assert symbols(graph) == ("batch", "past")
    assert bind(graph, {"past": 4}).outputs[0].type == f32(BATCH, 4)
    assert bind(graph, {"batch": 2}).outputs[0].type == f32(2, past)
    graph = rlx.trace("g", lambda x: x + 1.0, f32(past - 2)).graph
    assert bind(graph, {"past": 2}).outputs[0].type == f32(0)
    with raises(ValueError):
        bind(graph, {"past": 1})


@pytest.mark.parametrize(
    "sizes",
    [{"width": 1}, {"batch": 0}, {"batch": True}, {"batch": 1.5}],
)
def test_refusals(sizes):
    with raises(ValueError):
        bind(attention(), sizes)


def test_shapes_tell_the_sizes():
    types = [("x", f32(BATCH, 3)), ("y", f32(LENGTH, BATCH))]
    assert match_shapes(types, [np.zeros((2, 3)), np.zeros((5, 2))]) == {"batch": 2, "length": 5}
    for arrays in (
        [np.zeros((2, 4)), np.zeros((5, 2))],
        [np.zeros((2, 3)), np.zeros((5, 4))],
        [np.zeros(3), np.zeros((5, 4))],
    ):
        with raises(ValueError):
            match_shapes(types, arrays)


def test_expressions_give_the_sizes_too():
    past = Dim("past")
    types = [("mask", f32(past + BATCH)), ("x", f32(2 * past + 1)), ("y", f32(BATCH, past))]
    assert match_shapes(types[:2], [np.zeros(7), np.zeros(9)]) == {"past": 4, "batch": 3}
    for arrays in (
        [np.zeros(7), np.zeros(8), np.zeros((3, 4))],
        [np.zeros(7), np.zeros(9), np.zeros((4, 4))],
        [np.zeros(7), np.zeros(0), np.zeros((3, 4))],
        [np.zeros(2), np.zeros(9), np.zeros((3, 4))],
    ):
        with raises(ValueError):
            match_shapes(types, arrays)
    for dim in (past * BATCH, past * past):
        with raises(ValueError):
            match_shapes([("x", f32(dim))], [np.zeros(9)])
