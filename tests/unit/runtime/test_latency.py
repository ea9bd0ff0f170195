"""Latency of a user's own network: what is counted, and what cannot be measured."""

import itertools
import sys

import numpy as np
import onnx
import onnxruntime
import pytest

import rlx
from benchmarks.host.networks import decoder
from benchmarks.host.networks.mlp import mlp
from rlx.ir import QuantParams
from rlx.passes.transforms.freeze import freeze
from rlx.runtime import backend, engines, latency
from rlx.runtime.latency import MIN_CALLS, WARM_UP_CALLS, Latency, measure, random_inputs
from rlx.runtime.numpy_backend import BACKEND, NumpyBackend
from rlx.support.errors import ToolMissingError, UsageError
from support.messages import raises


@pytest.fixture
def case():
    return mlp(2, (6, 4, 3))


class Other(NumpyBackend):
    """A second backend."""

    name = "other"
    rank = -1

    def compiler(self):
        return "cc 1"


@pytest.fixture
def other(monkeypatch):
    both = (BACKEND, Other())
    monkeypatch.setattr(backend, "backends", lambda: both)
    monkeypatch.setattr(engines, "backends", lambda: both)


@pytest.fixture
def file(case, tmp_path):
    path = tmp_path / "mlp.onnx"
    onnx.save(case.model, path)
    return path


def ticks(step):
    """Return a clock that advances by ``step`` nanoseconds with each look."""
    times = itertools.count(0, step)
    return lambda: next(times)


def test_results_are_printed_as_a_table(case):
    result = rlx.bench(case.graph, seconds=0, options=rlx.CompileOptions(backend="numpy"))
    lines = str(result).splitlines()
    assert lines[0] == f"{case.graph.name}, milliseconds"
    assert lines[1].split() == ["engine", "minimum", "median", "p90", "calls"]
    assert lines[2].startswith("rlx (numpy)  ")
    assert lines[-1] == f"on cpu: {result.machine}"


def test_times_are_printed_in_milliseconds():
    times = Latency(calls=1200, minimum=1e-3, median=0.00125, p90=2.0)
    text = "median 1.25 ms, minimum 1 ms, 90 % within 2,000 ms, 1,200 calls"
    assert str(times) == text


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
    assert (found.ratio, found.median_ratio, found.other, found.difference) == (None,) * 4
    assert set(found.as_json()) == {
        "name", "batch", "ops", "macs", "constant_bytes", "latency", "backend", "device", "machine",
        "versions", "check_seconds", "threads",
    }  # fmt: skip
    assert (found.backend, found.device) == (rlx.runtime.find_backend(rlx.Device.CPU).name, "cpu")
    assert found.versions[0].startswith(f"rlx {rlx.__version__}, ")


def test_batches():
    graph = mlp(1, (6, 4, 3)).graph.graph
    found = rlx.bench(graph, batch=8, clock=ticks(1_000_000), seconds=0)
    assert (found.batch, found.macs) == (8, 8 * (6 * 4 + 4 * 3))


def test_beside_onnxruntime(file):
    found = rlx.bench(file, against="onnxruntime", clock=ticks(1_000_000), seconds=0.0)
    assert found.engine == "onnxruntime"
    assert found.other == found.latency
    assert found.ratio == 1
    assert found.median_ratio == 1
    assert 0 <= found.difference < 1e-6
    assert found.settings.startswith("ORT_ENABLE_ALL, ")
    assert found.versions[1] == f"onnxruntime {onnxruntime.__version__}"
    assert [(one.name, one.elements) for one in found.outputs] == [("y", 2 * 3)]
    assert (found.as_json()["ratio"], found.notes) == (1, ())


@pytest.mark.usefixtures("other")
def test_beside_another_backend(case):
    graph = freeze(case.graph.graph, {})
    found = rlx.bench(graph, backend="other", against="numpy", clock=ticks(1_000_000), seconds=0.0)
    assert (found.backend, found.engine, found.settings) == ("other", "numpy", "on cpu")
    assert (found.difference, found.outputs_text) == (0.0, "outputs are equal")
    assert found.versions[0] == f"rlx {rlx.__version__}, cc 1"
    assert found.versions[1].startswith(f"rlx {rlx.__version__}, NumPy {np.__version__}")
    assert found.check_seconds > 0
    options = rlx.CompileOptions(backend="numpy")
    other = rlx.bench(graph, options=options, against="other", clock=ticks(1_000_000), seconds=0.0)
    assert (other.backend, other.engine) == ("numpy", "other")
    assert other.check_seconds > 0


def test_an_open_batch_is_the_one_of_the_call(tmp_path):
    path = tmp_path / "open.onnx"
    onnx.save(open_batch(), path)
    for batch in (1, 4):
        found = rlx.bench(
            path, batch=batch, against="onnxruntime", clock=ticks(1_000_000), seconds=0.0
        )
        assert (found.batch, found.outputs[0].elements, found.difference) == (batch, 3 * batch, 0.0)


def open_batch() -> onnx.ModelProto:
    """Return max(x, 0) for x of [batch, 3]."""
    x, y = (
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", 3])
        for name in "xy"
    )
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "open", [x], [y])
    opset = onnx.helper.make_opsetid("", 17)
    return onnx.helper.make_model(graph, opset_imports=[opset], ir_version=9)


@pytest.mark.usefixtures("other")
def test_states_follow_in_both_engines():
    graph = rlx.Graph("counter")
    total = graph.state("total", (1,))
    x = graph.input("x", (1,))
    graph.set_state(total, total + x)
    graph.output(total * 1.0, names=["before"])
    found = rlx.bench(graph, backend="other", against="numpy", clock=ticks(1_000_000), seconds=0.0)
    assert [one.name for one in found.outputs] == ["before"]
    assert found.outputs_text == "outputs are equal"


def quantized(dtype: rlx.DType) -> rlx.ir.Graph:
    graph = rlx.ir.Graph("q")
    type_ = rlx.TensorType((1, 4), dtype, QuantParams.per_tensor(0.5, 0))
    graph.output(graph.input("x", type_))
    graph.constant(np.ones((2, 2), np.int8))
    return graph


@pytest.mark.parametrize(
    ("dtype", "exact", "expected"),
    [
        (rlx.DType.U8, False, True), (rlx.DType.U8, None, True), (rlx.DType.U8, True, False),
        (rlx.DType.I8, False, False),
    ],
)  # fmt: skip
def test_saturation_of_onnxruntime_is_known(monkeypatch, dtype, exact, expected):
    monkeypatch.setattr(engines, "multiplies_bytes_exactly", lambda: exact)
    assert engines.saturates(quantized(dtype)) is expected


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


@pytest.mark.usefixtures("other")
def test_what_cannot_be_measured(file, case, monkeypatch, tmp_path):
    with raises(UsageError):
        rlx.bench(file, against="tvm")
    with raises(UsageError):
        rlx.bench(case.graph.graph, against="onnxruntime")
    onnx.save(mlp(1, (6, 4, 3)).model, tmp_path / "single.onnx")
    with raises(UsageError):
        rlx.bench(tmp_path / "single.onnx", against="onnxruntime", batch=4)
    with raises(UsageError):
        rlx.bench(case.graph.graph, backend="numpy", against="numpy")
    (tmp_path / "other.onnx").write_bytes(b"not a model")
    with pytest.raises(UsageError, match="onnxruntime: it cannot run the model"):
        latency.bench(freeze(case.graph.graph, {}), against="onnxruntime",
                      file=tmp_path / "other.onnx")  # fmt: skip
    for seconds in (float("nan"), float("inf"), -1.0):
        with raises(UsageError):
            rlx.bench(case.graph.graph, seconds=seconds)
    symbolic = rlx.trace("net", lambda x: x.relu(), rlx.f32(rlx.Dim("n")))
    with raises(UsageError):
        rlx.bench(symbolic.graph)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with raises(ToolMissingError):
        rlx.bench(file, against="onnxruntime")
