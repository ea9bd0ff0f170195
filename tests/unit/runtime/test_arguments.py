"""Arguments of sessions and compiled graphs: messages for what does not fit, and odd arrays."""

from __future__ import annotations

import numpy as np
import pytest

import rlx
from rlx.ir import f32
from rlx.runtime import CompileOptions, Session
from rlx.support.errors import UsageError
from support.messages import raises

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def double():
    return Session().compile(rlx.trace("double", lambda x: {"y": x * 2.0}, f32(2, 3)))


@pytest.mark.parametrize("given", [[X], X, "x"], ids=lambda g: type(g).__name__)
def test_inputs_have_names(given):
    compiled, _kind = double(), type(given).__name__
    for call in (compiled.run, compiled.run_named, compiled.run_typed, compiled.submit):
        with raises(TypeError):
            call(given)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8])
def test_integers_for_a_float_input_are_converted_without_a_scale(dtype):
    np.testing.assert_array_equal(double().run({"x": X.astype(dtype)})[0], X * 2)


def test_lists_of_several_lengths_are_no_array():
    graph = rlx.Graph("g")
    state, w = graph.state("s", 2), graph.param("w", 2)
    graph.set_state(state, state + graph.input("x", 2) * w)
    compiled = Session().compile(graph)
    compiled.set_param("w", [1, 1])
    ragged = [[1], [1, 2]]
    for call in (
        lambda: compiled.run({"x": ragged}),
        lambda: compiled.set_param("w", ragged),
        lambda: compiled.bind_state("s", ragged),
    ):
        with raises(ValueError):
            call()


def test_outputs_are_chosen_by_a_list():
    compiled = double()
    assert compiled.run({"x": X}, outputs=[]) == []
    assert len(compiled.run({"x": X}, outputs=[np.int64(0)])) == 1
    for wanted in ("y", 0):
        with raises(TypeError):
            compiled.run({"x": X}, outputs=wanted)
    for key in (0.0, -1, [0]):
        with raises(ValueError):
            compiled.run({"x": X}, outputs=[key])


@pytest.mark.parametrize(
    "given",
    [
        np.asfortranarray(X),
        np.repeat(X, 2, axis=1)[:, ::2],
        X[::-1].copy()[::-1],
        X.astype(">f4"),
        X.astype(np.longdouble),
        np.broadcast_to(np.float32(3), (2, 3)),
        X.view(np.matrix),
        memoryview(X),
    ],
    ids=["fortran", "strided", "reversed", "big-endian", "long", "broadcast", "matrix", "memory"],
)
def test_arrays_of_every_layout_are_read_as_they_are(given):
    (y,) = double().run({"x": given})
    assert type(y) is np.ndarray
    np.testing.assert_array_equal(y, 2 * np.asarray(given, np.float32))


def test_options_are_options():
    with raises(UsageError):
        Session("cpu", {"fusion": None})
    with raises(TypeError):
        Session().compile(rlx.Graph("g"), {"fusion": None})


def test_sizes_of_a_state_come_with_each_run():
    graph = rlx.Graph("g")
    state = graph.state("s", ("n", 2))
    graph.set_state(state, state + 1.0)
    with raises(ValueError):
        Session().compile(graph)
    bound = Session().compile(rlx.bind(graph.graph, {"n": 3}))
    assert bound.run()[0].tolist() == [[1.0, 1.0]] * 3


def test_views_of_outputs_may_be_the_next_inputs_in_any_order():
    def exchange(x, y):
        return {"product": x @ y, "turned": y.T}

    compiled = Session().compile(rlx.trace("g", exchange, f32(3, 3), f32(3, 3)))
    random = np.random.default_rng(0)
    views = wanted = [random.standard_normal((3, 3)).astype(np.float32) for _ in range(2)]
    for _ in range(5):
        views = compiled.run_slots(*views[::-1])
        wanted = [wanted[1] @ wanted[0], wanted[0].T]
        for view, array in zip(views, wanted, strict=True):
            np.testing.assert_allclose(view, array, rtol=1e-5)


EMPTY = {
    "no row": ((0, 4), lambda x: (x @ _ones(4, 3) + _ones(3)).relu()),
    "nothing to add up": ((5, 0), lambda x: (x @ _ones(0, 3) + _ones(3)).relu()),
    "no column": ((5, 4), lambda x: (x @ _ones(4, 0)).softmax(-1)),
    "empty stack": ((2, 0, 4), lambda x: x.layer_norm(_ones(4), _ones(4)) + x),
    "no channel": ((2, 5, 5, 0), lambda x: x.conv(_ones(3, 3, 3, 0), _ones(3)).relu()),
    "no filter": ((2, 5, 5, 4), lambda x: x.conv(_ones(0, 3, 3, 4)).relu()),
    "no image": ((0, 5, 5, 4), lambda x: x.conv(_ones(4, 3, 3, 1), groups=4).max_pool(2)),
    "gated": ((3, 0), lambda x: (x @ _ones(0, 2)).silu() * (x @ _ones(0, 2))),
    "attention": ((2, 0, 4), lambda x: x.attention(x, x, causal=True)),
    "reduced": ((3, 0), lambda x: (x + 1.0).sum(-1)),
}


def _ones(*shape):
    return np.ones(shape, np.float32)


@pytest.mark.parametrize("fusion", [True, False], ids=["fused", "as written"])
@pytest.mark.parametrize("name", EMPTY)
def test_dimensions_of_zero(name, fusion):
    shape, function = EMPTY[name]
    graph = rlx.trace("empty", function, f32(*shape))
    options = CompileOptions() if fusion else CompileOptions(fusion=None)
    x = _ones(*shape)
    (wanted,) = rlx.ir.evaluate.evaluate(graph.graph, {"x": x})
    (found,) = Session().compile(graph, options).run({"x": x})
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
