"""Native programs: equal results, runs of native nodes as one call, the rest by NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from targets.host.networks import dense_stack, mixed

import rlx
from rlx.ir import DType, Graph, TensorType
from rlx.ir.evaluate import IndexRangeError
from rlx.ops.real import RealAdd, RealGather
from rlx.runtime import CompileOptions, Device
from rlx.support.errors import ToolMissingError
from rlx_host import BACKEND, library
from rlx_host.instruction_set import available
from support.messages import raises


def compiled(graph, backend="native", **options):
    return rlx.Session().compile(graph, CompileOptions(backend=backend, fusion=None, **options))


def program_of(graph):
    return graph._program(()).program


def samples(graph, seed=0):
    generator = np.random.default_rng(seed)
    return [
        generator.integers(-128, 128, t.static_shape).astype(t.dtype.numpy)
        for t in graph.input_types.values()
    ]


@pytest.mark.parametrize("instructions", available(), ids=lambda one: one.name)
def test_results_are_those_of_numpy(instructions):
    native = compiled(dense_stack(), instruction_set=instructions.name)
    reference = compiled(dense_stack(), "numpy")
    for seed in range(3):
        inputs = samples(reference, seed)
        for a, b in zip(native.run_slots(*inputs), reference.run_slots(*inputs), strict=True):
            np.testing.assert_array_equal(a, b)


def test_native_nodes_are_one_call():
    graph = compiled(dense_stack(layers=5))
    graph.run_slots(*samples(graph))
    assert len(program_of(graph)._runs) == 1
    assert len(program_of(graph).steps) == 5


def test_other_nodes_run_by_numpy_in_their_place():
    graph, reference = compiled(mixed()), compiled(mixed(), "numpy")
    inputs = [np.linspace(-2, 1, 120, dtype=np.float32).reshape(3, 40)]
    for a, b in zip(graph.run_slots(*inputs), reference.run_slots(*inputs), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(program_of(graph)._runs) < len(program_of(graph).steps)


def test_nodes_are_timed_one_by_one():
    graph = compiled(dense_stack(layers=3))
    times = graph.profile({"x": samples(graph)[0]})
    assert len(times.nodes) == 3


def test_a_check_for_infinity_holds_between_native_nodes():
    graph = compiled(mixed(), check_finite=True)
    with pytest.raises(FloatingPointError):
        graph.run_slots(np.full((3, 40), 3e38, np.float32))


def test_clones_run_at_the_same_time():
    first = compiled(dense_stack())
    inputs = samples(first)
    expected = first.run({"x": inputs[0]})
    found = []

    def work():
        own = first.clone()
        found.append(all((own.run_slots(*inputs)[0] == expected[0]).all() for _ in range(200)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


def test_without_a_compiler_it_is_unavailable(monkeypatch):
    monkeypatch.setattr("rlx_host.backend.find_compiler", lambda: None)
    monkeypatch.setattr("rlx_host.library.find_compiler", lambda: None)
    assert "rlx[zig]" in BACKEND.unavailable(Device.CPU)
    with pytest.raises(ToolMissingError):
        BACKEND.compile(rlx.runtime.lowering.lower(dense_stack(), BACKEND, CompileOptions()).module,
                        CompileOptions())  # fmt: skip


def test_a_second_process_finds_the_library_on_disk(tmp_path, monkeypatch):
    with rlx.config.override(compile_cache=tmp_path / "cache", compilations=0):
        library._library.cache_clear()
        expected = run_once(seed=5)
        monkeypatch.setattr(library, "build", None)
        library._library.cache_clear()
        np.testing.assert_array_equal(run_once(seed=5), expected)


def run_once(seed):
    graph = compiled(dense_stack(seed=seed))
    return graph.run_slots(*samples(graph))[0].copy()


@pytest.mark.parametrize("index", [-4, 3])
def test_an_index_outside_its_axis_is_an_error(index):
    graph = Graph("rows")
    x, places = (
        graph.input("x", TensorType((3, 2), DType.F32)),
        graph.input("i", TensorType((2,), DType.I32)),
    )
    doubled = graph.apply(RealAdd(), x, x)
    graph.output(graph.apply(RealGather(), doubled, places), names=["y"])
    net = compiled(graph)
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    with raises(IndexRangeError):
        net.run({"x": rows, "i": np.array([0, index], np.int32)})
    (found,) = net.run({"x": rows, "i": np.array([-1, 0], np.int32)})
    np.testing.assert_array_equal(found, 2 * rows[[-1, 0]])


def test_cached_code_is_used_without_the_template_engine(tmp_path):
    script = (
        "import sys, rlx\n"
        "from targets.host.networks import dense_stack\n"
        "from targets.host.test_program import compiled, samples\n"
        "net = compiled(dense_stack())\n"
        "print(net.run_slots(*samples(net))[0].sum(), 'jinja2' in sys.modules)\n"
    )
    environment = {**os.environ, "RLX_COMPILE_CACHE": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    first, second = (
        subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    )
    assert first[0] == second[0]
    assert (first[1], second[1]) == ("True", "False")
