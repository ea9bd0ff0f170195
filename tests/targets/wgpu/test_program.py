"""Programs: parameters, states, outputs, buffers that are too large, and lost devices."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rlx
from rlx.ir import DType, Graph, TensorType
from rlx.ir.evaluate import evaluate
from rlx.ops import q
from rlx.ops.numerics.fixed_point import Rescale
from rlx.runtime import CompileOptions, Device, Session
from rlx.support.errors import DeviceError, DoesNotFitError
from rlx_wgpu import adapters, program
from rlx_wgpu.adapters import open_gpu
from rlx_wgpu.kernel import GROUP
from support.messages import raises

pytestmark = pytest.mark.usefixtures("adapter")
I8 = DType.I8


def compiled(graph):
    return Session("vulkan", CompileOptions(backend="wgpu")).compile(graph)


def doubling():
    """Return a graph that doubles int8 values."""
    graph = Graph("double")
    op = q.QRequantize(x_zero_point=0, rescale=Rescale.of(2.0), zero_point=0)
    graph.output(graph.apply(op, graph.input("x", TensorType((5,), I8))))
    return graph


def dense(*, of_params):
    """A dense layer whose weights are parameters or inputs."""
    graph = Graph("dense")
    new = graph.param if of_params else graph.input
    x = graph.input("x", TensorType((2, 6), I8))
    w = new("w", TensorType((4, 6), DType.I4))
    bias = new("bias", TensorType((4,), DType.I32))
    op = q.QDense(x_zero_point=-7, rescale=Rescale.of(0.02), zero_point=3)
    graph.output(graph.apply(op, x, w, bias))
    return graph


def values(seed):
    random = np.random.default_rng(seed)
    return {
        "x": random.integers(-128, 128, (2, 6)).astype(np.int8),
        "w": random.integers(-8, 8, (4, 6)).astype(DType.I4.numpy),
        "bias": random.integers(-999, 999, 4).astype(np.int32),
    }


def test_weights_may_be_inputs():
    given = values(3)
    (found,) = compiled(dense(of_params=False)).run_raw(given)
    np.testing.assert_array_equal(found, evaluate(dense(of_params=False), given)[0])
    assert not found.flags.writeable


def test_parameters_may_be_set_again():
    net = compiled(dense(of_params=True))
    results = []
    for seed in (1, 2):
        given = values(seed)
        net.set_params({name: given[name] for name in ("w", "bias")})
        (found,) = net.run_typed({"x": given["x"]})
        np.testing.assert_array_equal(found, evaluate(dense(of_params=False), given)[0])
        results.append(found.tolist())
    assert results[0] != results[1]


def test_its_programs_are_compared_with_numpy():
    net = compiled(doubling())
    net.run_typed({"x": np.ones(5, np.int8)})
    assert net._program(()).comparison.outputs == 1


def exchange():
    """Two states that change places, and the first one before that."""
    graph = Graph("exchange")
    a, b = (graph.state(name, TensorType((5,), I8)) for name in "ab")
    graph.output(a, b, a, names=["first", "a", "b"])
    return graph


def test_states_may_change_places():
    net = compiled(exchange())
    for name, value in (("a", 1), ("b", 2)):
        net.bind_state(name, np.full(5, value, np.int8))
    copy = net.clone()
    assert [net.run({})[0][0] for _ in range(3)] == [1, 2, 1]
    assert net.read_state("a").tolist() == [2] * 5
    assert copy.read_state("a").tolist() == [1] * 5


def test_batches_are_compiled_as_they_come():
    graph = Graph("clamp")
    graph.output(graph.apply(q.QClamp(low=0), graph.input("x", TensorType((1, 3), I8))))
    net = compiled(graph)
    for size in (1, 5):
        assert net.run({"x": np.full((size, 3), -1)})[0].tolist() == [[0] * 3] * size


def test_a_value_without_elements():
    graph = Graph("none")
    graph.output(graph.apply(q.QClamp(low=0), graph.input("x", TensorType((0, 3), I8))))
    assert compiled(graph).run_typed({"x": np.zeros((0, 3), np.int8)})[0].shape == (0, 3)


def test_workgroups_fill_rows(monkeypatch):
    monkeypatch.setattr(program, "_ROW", 2)
    graph = Graph("rows")
    count = 4 * GROUP * 5 + 3  # a word of each of six groups in three rows
    graph.output(graph.apply(q.QClamp(low=0), graph.input("x", TensorType((count,), I8))))
    x = np.random.default_rng(1).integers(-128, 128, count).astype(np.int8)
    (found,) = compiled(graph).run_typed({"x": x})
    np.testing.assert_array_equal(found, np.maximum(x, 0))


def test_threads_take_turns():
    programs = [compiled(doubling()) for _ in range(4)]

    def run(index):
        x = np.full(5, index % 50, np.int8)
        return programs[index % 4].clone().run_typed({"x": x})[0].tolist() == (2 * x).tolist()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(64)))


def test_a_run_has_one_time_for_all_nodes():
    report = compiled(doubling()).profile({"x": np.ones(5, np.int8)}, runs=2)
    assert len(report.nodes) == 1


def test_values_that_exceed_a_buffer_are_refused(monkeypatch):
    small = adapters.Gpu(None, "D, Vulkan", wide=True, max_bytes=8)
    monkeypatch.setattr(adapters, "_OPEN", {Device.VULKAN: small})
    with rlx.config.override(compilations=0), raises(DoesNotFitError):
        compiled(doubling())


def test_a_lost_device_is_an_error_and_the_next_compilation_opens_it_anew(monkeypatch):
    monkeypatch.setattr(adapters, "_OPEN", {})
    with rlx.config.override(compilations=0):
        net = compiled(doubling())
        lost = open_gpu(Device.VULKAN)
        lost.device.destroy()
        with pytest.raises(DeviceError, match=r"^backend wgpu: .* failed: Parent device is lost"):
            net.run_typed({"x": np.ones(5, np.int8)})
        assert compiled(doubling()).run({"x": np.ones(5, np.int8)})[0].tolist() == [2] * 5
    assert open_gpu(Device.VULKAN) is not lost
