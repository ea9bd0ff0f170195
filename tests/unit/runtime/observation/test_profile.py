"""Times of nodes, and traces."""

import json
import threading

import numpy as np
import pytest

import rlx
from rlx.ir import Graph, Origin, f32
from rlx.ops import real
from rlx.runtime.observation.machine import Machine
from rlx.runtime.observation.profile import Timed, TimedRun, profile_of
from rlx.runtime.observation.roofline import roofline
from rlx.runtime.observation.trace import trace_of, write_trace
from support import ROOT
from support.messages import raises

FLAT = Machine(name="flat", flops={"f32": 1e9}, bandwidth=((1 << 40, 1e9),))
X = np.ones((8, 16), np.float32)


def network():
    graph = Graph("net")
    x = graph.input("x", f32(8, 16))
    origin = Origin("net.onnx", "node 3 Gemm")
    w = graph.constant(np.ones((16, 4), np.float32))
    y = graph.apply(real.RealMatmul(), x, w, name="dense", origin=origin)
    y = graph.apply(real.RealReshape(shape=(32,)), y)
    graph.output(graph.apply(real.RealSin(), y, origin=origin), names=["y"])
    return graph


def made(times, bounds=None):
    """A profile of given times: for each run the nanoseconds of each node."""
    graph = network()
    nodes = [n for n in graph.op_nodes if n.op.name != "real.reshape"]
    runs, now = [], 1000
    for run in times:
        begin, steps = now, []
        for node, length in zip(nodes, run, strict=True):
            steps.append(Timed(node, now + 10, now + 10 + length))
            now += 10 + length
        now += 10
        runs.append(TimedRun(begin, now, tuple(steps)))
    bound = None if bounds is None else roofline(graph, bounds)
    return profile_of("net", "on cpu by hand", runs, process=7, thread=(9, "worker"), bounds=bound)


def test_figures_are_medians_of_each_node():
    found = made([(1000, 300), (5000, 100), (2000, 200)], FLAT)
    dense, sin = found.nodes
    assert (dense.calls, dense.seconds, dense.minimum) == (3, 2e-6, 1e-6)
    assert (sin.seconds, sin.minimum) == (2e-7, 1e-7)
    assert dense.share == pytest.approx(10 / 11)
    assert found.in_nodes == pytest.approx(2.2e-6)
    assert found.seconds == pytest.approx(2.23e-6)
    assert found.between == pytest.approx(3e-8)
    assert dense.gflops == pytest.approx(2 * 8 * 16 * 4 / 2000)
    # 1024 ns of arithmetic; 256 ns of memory for 32 elements.
    assert dense.of_bound == pytest.approx(0.512)
    assert sin.of_bound == pytest.approx(256 / 200)


def test_rates_of_integers_are_no_flops():
    network = rlx.load(ROOT / "examples" / "digits" / "digits.rlx")
    nodes = [node for node in network.graph.op_nodes if node.op.name == "q.conv2d"]
    run = TimedRun(0, 900, tuple(Timed(node, 0, 400) for node in nodes))
    profile = profile_of("net", "by hand", [run], process=7, thread=(9, "worker"))
    assert "GOP/s" in str(profile)
    assert "GFLOP/s" not in str(profile)
    assert "GFLOP/s" in str(made([(1000, 300)]))


def test_without_a_machine_there_is_no_bound():
    found = made([(1000, 300)])
    assert found.nodes[0].of_bound is None
    assert "roofline" not in str(found)
    assert "roofline" in str(made([(1000, 300)], FLAT))


def test_layers_are_nodes_of_one_name_or_place():
    found = made([(1000, 300)])
    assert [(v.layer, v.ops) for v in found.layers()] == [
        ("dense", ("real.matmul",)),
        ("sin", ("real.sin",)),
    ]
    assert sum(v.share for v in found.layers()) == pytest.approx(1)
    assert "sin" in "\n".join(map(str, found.table(by_layer=True).rows))


def test_what_people_and_programs_read():
    found = made([(1000, 300)], FLAT)
    assert repr(found) == (
        "<Profile of 'net' on cpu by hand: 1.33 us; most in real.matmul 'dense': 77 %>"
    )
    assert str(found).splitlines()[0] == "net on cpu by hand: 1 runs"
    assert "<table" in found._repr_html_()
    data = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert data["nodes"][0]["origin"] == "node 3 Gemm"
    assert data["us"] == pytest.approx(1.33)


def test_a_trace_has_every_run_and_its_nodes():
    trace = trace_of([made([(1000, 300), (500, 200)])])
    names, events = trace["traceEvents"][:2], trace["traceEvents"][2:]
    assert [(e["ph"], e["name"], e["args"]["name"]) for e in names] == [
        ("M", "process_name", "rlx"),
        ("M", "thread_name", "worker"),
    ]
    assert [e["name"] for e in events] == ["net", "real.matmul dense", "real.sin sin"] * 2
    for event in events:
        assert (event["ph"], event["pid"], event["tid"]) == ("X", 7, 9)
        assert isinstance(event["ts"], float)
        assert event["dur"] > 0
    run, dense, sin = events[:3]
    assert (dense["ts"], dense["dur"]) == (1.01, 1.0)
    assert run["ts"] <= dense["ts"]
    assert dense["ts"] + dense["dur"] <= sin["ts"]
    assert sin["ts"] + sin["dur"] <= run["ts"] + run["dur"]
    assert dense["args"]["origin"] == "net.onnx node 3 Gemm"
    assert dense["args"]["macs"] == 512


def test_a_compiled_graph_is_measured_node_by_node(tmp_path):
    compiled = rlx.Session().compile(network())
    found = compiled.profile({"x": X}, runs=4, machine=FLAT)
    ops = [n.node.op.name for n in found.nodes]
    assert "real.reshape" not in ops  # it moves nothing
    assert {n.calls for n in found.nodes} == {4}
    assert all(n.seconds > 0 and n.bound_s is not None for n in found.nodes)
    assert found.seconds >= max(n.minimum for n in found.nodes)
    assert sum(n.share for n in found.nodes) == pytest.approx(1)
    path = tmp_path / "trace.json"
    found.to_perfetto(path)
    events = json.loads(path.read_text())["traceEvents"]
    assert len(events) == 2 + 4 * (1 + len(found.nodes))
    assert {e["tid"] for e in events} == {threading.get_native_id()}
    (y,) = compiled.run({"x": X})
    np.testing.assert_array_equal(y, np.sin(np.full(32, 16, np.float32)))


def test_threads_have_their_own_tracks(tmp_path):
    compiled = rlx.Session().compile(network())
    found = []
    started = threading.Barrier(3)

    def work():
        started.wait()
        found.append(compiled.profile({"x": X}, runs=2))

    threads = [threading.Thread(target=work, name=f"worker {i}") for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    write_trace(tmp_path / "trace.json", found)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    named = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert sorted(named.values()) == ["worker 0", "worker 1", "worker 2"]
    assert {e["tid"] for e in events} == set(named)


def test_states_are_as_before():
    graph = Graph("counter")
    state = graph.state("total", f32(2))
    graph.output(graph.apply(real.RealAdd(), state, graph.input("x", f32(2))), names=["total"])
    compiled = rlx.Session().compile(graph)
    compiled.bind_state("total", [5.0, 6.0])
    compiled.run({"x": [1.0, 1.0]})
    compiled.profile({"x": [1.0, 1.0]}, runs=3)
    np.testing.assert_array_equal(compiled.read_state("total"), [6.0, 7.0])


def test_parameters_and_symbols():
    graph = Graph("scaled")
    x = graph.input("x", f32(rlx.Dim("n"), 2))
    graph.output(graph.apply(real.RealMul(), x, graph.param("w", f32(2))))
    compiled = rlx.Session().compile(graph)
    with raises(ValueError):
        compiled.profile({"x": X[:, :2]})
    with raises(ValueError):
        compiled.memory()
    compiled.set_param("w", [1.0, 2.0])
    assert compiled.profile({"x": X[:, :2]}, runs=1).nodes[0].work.operations == 16
    assert compiled.memory().params == 8


def test_what_cannot_be_measured():
    compiled = rlx.Session().compile(network())
    with raises(ValueError):
        compiled.profile({"x": X}, runs=0)
    with raises(ValueError):
        compiled.profile()


def test_memory_of_a_compiled_graph_is_what_was_estimated():
    compiled = rlx.Session().compile(network())
    assert compiled.memory() == rlx.memory_estimate(network())
    program = compiled._program(()).program
    assert compiled.memory().arena == program.arena.nbytes
    assert compiled.memory().workspace == program.workspace.nbytes
