"""Latency of a user's own network: what is counted, and what cannot be measured."""

import itertools
import sys

import numpy as np
import onnx
import pytest

import rlx
from benchmarks.host.networks import decoder
from benchmarks.host.networks.mlp import mlp
from rlx.passes.transforms.freeze import freeze
from rlx.runtime.latency import MIN_CALLS, WARM_UP_CALLS, Latency, measure, random_inputs
from rlx.support.errors import ToolMissingError, UsageError
from support.messages import raises


@pytest.fixture
def case():
    return mlp(2, (6, 4, 3))


@pytest.fixture
def file(case, tmp_path):
    path = tmp_path / "mlp.onnx"
    onnx.save(case.model, path)
    return path


def ticks(step):
    """Return a clock that advances by ``step`` nanoseconds with each look."""
    times = itertools.count(0, step)
    return lambda: next(times)


def test_percentiles_are_those_of_the_calls():
    latency = Latency.of([5_000, 1_000, 3_000, 2_000, 4_000])
    assert (latency.calls, latency.minimum, latency.median) == (5, 1e-6, 3e-6)
    assert Latency.of(range(0, 101_000, 1_000)).p90 == pytest.approx(90e-6)
    assert Latency.of([7_000]) == Latency(calls=1, minimum=7e-6, median=7e-6, p90=7e-6)


def test_engines_take_turns_and_are_warmed_up():
    seen = []
    times = measure([lambda: seen.append("a"), lambda: seen.append("b")], 0.02, ticks(1_000_000))
    assert [len(t) for t in times] == [20, 20]
    assert seen[: 2 * WARM_UP_CALLS] == ["a"] * WARM_UP_CALLS + ["b"] * WARM_UP_CALLS
    # One call for the caches, two of 1 ms each.
    assert seen[2 * WARM_UP_CALLS :] == [*"aaabbb"] * 10


def test_slow_calls_are_counted_too():
    (times,) = measure([lambda: None], 0.0, ticks(5_000_000_000))
    assert len(times) == MIN_CALLS


def test_figures_of_a_graph(case):
    graph = freeze(case.graph.graph, {})
    found = rlx.bench(graph, clock=ticks(1_000_000), seconds=0.01)
    assert (found.name, found.batch, found.ops, found.macs) == ("mlp", 1, 6, 2 * (6 * 4 + 4 * 3))
    assert found.constant_bytes == 4 * (6 * 4 + 4 + 4 * 3 + 3)
    assert found.latency == Latency(calls=10, minimum=1e-3, median=1e-3, p90=1e-3)
    assert (found.ratio, found.other, found.difference) == (None, None, None)
    assert set(found.as_json()) == {"name", "batch", "ops", "macs", "constant_bytes", "latency"}


def test_batches():
    graph = mlp(1, (6, 4, 3)).graph.graph
    found = rlx.bench(graph, batch=8, clock=ticks(1_000_000), seconds=0)
    assert (found.batch, found.macs) == (8, 8 * (6 * 4 + 4 * 3))


def test_beside_onnxruntime(file):
    found = rlx.bench(file, against="onnxruntime", clock=ticks(1_000_000), seconds=0.0)
    assert found.engine == "onnxruntime"
    assert found.other == found.latency
    assert found.ratio == 1
    assert 0 <= found.difference < 1e-6
    assert found.as_json()["ratio"] == 1


def test_states_are_no_inputs():
    case = decoder.decoder(
        decoder.DecoderSizes(width=12, layers=1, heads=3, hidden=8, tokens=20, cache=4, position=2)
    )
    inputs = random_inputs(case.graph.graph)
    assert {n: a.tolist() for n, a in inputs.items()} == {"token": [0], "position": [0]}
    assert rlx.bench(case.graph.module, clock=ticks(1_000_000), seconds=0).ops > 30


def test_inputs_of_each_type():
    graph = rlx.Graph("all")
    for dtype in ("f32", "f16", "i8", "u8", "i32", "bool"):
        graph.input(dtype, (64,), dtype)
    inputs = random_inputs(graph.graph)
    assert {n: a.dtype for n, a in inputs.items()} == {
        v.name: v.type.dtype.numpy for v in graph.graph.inputs
    }
    assert not inputs["i32"].any()
    assert not inputs["bool"].any()
    assert len(np.unique(inputs["i8"])) > 10
    again = random_inputs(graph.graph)
    assert all(np.array_equal(inputs[n], again[n]) for n in inputs)


def test_what_cannot_be_measured(file, case, monkeypatch):
    with raises(UsageError):
        rlx.bench(file, against="tvm")
    with raises(UsageError):
        rlx.bench(case.graph.graph, against="onnxruntime")
    with raises(UsageError):
        rlx.bench(file, against="onnxruntime", batch=4)
    for seconds in (float("nan"), float("inf"), -1.0):
        with raises(UsageError):
            rlx.bench(case.graph.graph, seconds=seconds)
    symbolic = rlx.trace("net", lambda x: x.relu(), rlx.f32(rlx.Dim("n")))
    with raises(UsageError):
        rlx.bench(symbolic.graph)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with raises(ToolMissingError):
        rlx.bench(file, against="onnxruntime")
