"""Sizes rounded up: few programs, the same results, and only where padding changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

import rlx
from benchmarks.host.networks.mlp import mlp
from rlx.passes.decompose import decompose
from rlx.passes.transforms.batch import with_batch
from rlx.passes.transforms.freeze import freeze
from rlx.runtime import Buckets, CompileOptions, Session
from rlx.support.errors import UsageError
from support.messages import raises

BATCH = rlx.Dim("batch")
ROWS = rlx.f32(BATCH, 4)


def compiled(graph, sizes=None, **options):
    buckets = Buckets({"batch": None} if sizes is None else sizes, **options)
    return Session(options=CompileOptions(buckets=buckets)).compile(graph)


def rows(count: int) -> np.ndarray:
    return np.random.default_rng(count).normal(size=(count, 4)).astype(np.float32)


def test_sizes_are_rounded_to_powers_of_two():
    buckets = Buckets({"n": None, "m": (3, 8)})
    assert [buckets.rounded("n", size) for size in (1, 2, 3, 4, 5, 1000)] == [1, 2, 4, 4, 8, 1024]
    assert [buckets.rounded("m", size) for size in (1, 3, 4, 8, 9)] == [3, 3, 8, 8, 9]
    assert buckets.rounded("other", 5) == 5


def test_few_programs_serve_many_sizes():
    graph = rlx.trace("net", lambda x: {"y": (x * 2.0).relu(), "half": x * 0.5}, ROWS)
    net, exact = compiled(graph), Session().compile(graph)
    for count in range(1, 17):
        x = rows(count)
        found, expected = net.run_named({"x": x}), exact.run_named({"x": x})
        for name, value in expected.items():
            assert np.array_equal(found[name], value)
    assert sorted(dict(sizes)["batch"] for sizes in net._programs) == [1, 2, 4, 8, 16]


def test_given_sizes_and_larger_ones():
    graph = rlx.trace("net", lambda x: x + 1.0, ROWS)
    net = compiled(graph, {"batch": (4, 8)})
    for count in (1, 3, 4, 7, 9):
        assert np.array_equal(net.run({"x": rows(count)})[0], rows(count) + 1)
    assert sorted(dict(sizes)["batch"] for sizes in net._programs) == [4, 8, 9]
    (view,) = net.run_raw({"x": rows(3)})
    assert view.shape == (3, 4)


def test_an_integer_network_gives_the_same_bits():
    floating = freeze(mlp(1, (6, 4, 3)).graph.graph, {})
    samples = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    graph = with_batch(rlx.quantize(floating, samples).module.graph, BATCH)
    net, exact = compiled(graph), Session().compile(graph)
    for count in (1, 3, 6, 11):
        (found,), (expected,) = net(samples[:count]), exact(samples[:count])
        assert np.array_equal(found, expected)


def test_a_float_network_of_products():
    graph = with_batch(decompose(freeze(mlp(1, (6, 4, 3)).graph.graph, {})), BATCH)
    net, exact = compiled(graph), Session().compile(graph)
    x = np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32)
    np.testing.assert_allclose(net(x)[0], exact(x)[0], rtol=1e-6)


def test_parameters_and_profiles():
    graph = rlx.Graph("net")
    x, w = graph.input("x", ROWS), graph.param("w", (4, 2))
    graph.output(x @ w)
    net = compiled(graph)
    net.set_param("w", np.arange(8.0).reshape(4, 2))
    found = net.run({"x": rows(3)})[0]
    np.testing.assert_allclose(found, rows(3) @ np.arange(8.0).reshape(4, 2), rtol=1e-5)
    assert net.profile({"x": rows(3)}, runs=1).nodes


def test_padding_is_a_value_of_each_input():
    graph = rlx.trace("total", lambda x, m: (x * m).sum(0), ROWS, rlx.f32(BATCH, 1))
    names = list(Session().compile(graph).input_types)
    net = compiled(graph, padding={names[0]: 7, names[1]: 0}, trusted=True)
    ones = np.ones((3, 4), np.float32)
    assert net.run({names[0]: ones, names[1]: ones[:, :1]})[0].tolist() == [3] * 4
    wrong = compiled(graph, padding={names[0]: 7, names[1]: 1}, trusted=True)
    assert wrong.run({names[0]: ones, names[1]: ones[:, :1]})[0].tolist() == [10] * 4
    with pytest.raises(TypeError, match=r"^padding of input 'x0?' must be f32"):
        compiled(graph, padding={names[0]: "one"}, trusted=True)


def test_held_inputs_keep_their_size():
    graph = rlx.trace("total", lambda x, past: {"sum": x + past}, ROWS, ROWS)
    net = compiled(graph)
    net.bind_state("past", np.zeros((3, 4)))
    net.feed("sum", "past")
    ones = np.ones((3, 4))
    for number in (1, 2):
        assert net.run({"x": ones})[0].tolist() == (number * ones).tolist()
    assert net.read_state("past").shape == (3, 4)


def counter() -> rlx.Graph:
    graph = rlx.Graph("counter")
    x, total = graph.input("x", ROWS), graph.state("total", (4,))
    graph.set_state(total, total + x.sum(0))
    return graph


def with_param() -> rlx.Graph:
    graph = rlx.Graph("net")
    graph.output(graph.input("x", ROWS) + graph.param("w", ROWS))
    return graph


REFUSED = {
    "total": lambda: rlx.trace("total", lambda x: x - x.sum(0), ROWS),
    "output": lambda: rlx.trace("total", lambda x: x.sum(0), ROWS),
    "mixed": lambda: rlx.trace("mixed", lambda x: x.T @ x, ROWS),
    "second": lambda: rlx.trace("second", lambda x: x * 2.0, rlx.f32(4, BATCH)),
    "both": lambda: rlx.trace("both", lambda x: x * 2.0, rlx.f32(BATCH, BATCH)),
    "doubled": lambda: rlx.trace("doubled", lambda x: x * 2.0, rlx.f32(BATCH * 2, 4)),
    "one without": lambda: rlx.trace("two", lambda x, y: x + y, ROWS, rlx.f32(1, 4)),
    "flipped": lambda: rlx.trace("flat", lambda x: x.reshape(BATCH * 4), ROWS),
    "state": counter,
    "parameter": with_param,
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_graphs_whose_rows_depend_on_one_another_are_refused(make):
    with raises(UsageError):
        compiled(make())


@pytest.mark.parametrize("sizes", [(4, 2), (0, 1), (2, 2), (), (1.5,)])
def test_sizes_that_are_no_ladder_are_refused(sizes):
    with raises(UsageError):
        Buckets({"batch": sizes})


def test_unknown_names_are_refused():
    graph = rlx.trace("net", lambda x: x + 1.0, ROWS)
    with raises(UsageError):
        compiled(graph, {"bach": None})
    with raises(UsageError):
        compiled(graph, padding={"y": 0})
    with raises(UsageError):
        CompileOptions(buckets=(1, 2))
