"""Frames in parts: the same bytes in this process, in processes and on a cluster."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rlx
from rlx.cli import main
from rlx.ir import DType, Graph, TensorType
from rlx.ir.module import GraphModule, Stage
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QDense
from rlx.support.errors import SimulationError
from rlx.support.files.golden import Golden
from rlx.support.parallel import IN_PROCESS
from rlx.support.steps import Steps, reporting
from rlx_sim.firmware.host_c import HostC
from rlx_sim.parts import frame_ranges, joined, run_program
from rlx_sim.protocol import Simulation
from support.dask import cluster
from support.messages import raises
from support.networks.tiny_model import golden, write_tiny

FRAMES = 200


def test_ranges_cover_all_frames():
    assert frame_ranges(1, 64) == [(0, 1)]
    assert frame_ranges(127, 64) == [(0, 127)]
    assert frame_ranges(200, 64) == [(0, 66), (66, 133), (133, 200)]
    for frames in (1, 65, 10_000, 10_007):
        ranges = frame_ranges(frames, 64)
        assert [n for start, stop in ranges for n in range(start, stop)] == list(range(frames))
    assert len(ranges) == 32


def test_parts_are_joined_as_one_run():
    parts = [
        Simulation((np.arange(3), np.ones((3, 2))), (5, 6, 7), 40, latency=9, interval=4, log="a"),
        Simulation((np.arange(2), np.zeros((2, 2))), (8, 9), 80, latency=8, interval=3, log="b"),
    ]
    whole = joined(parts)
    assert whole.outputs[0].tolist() == [0, 1, 2, 0, 1]
    assert whole.outputs[1].tolist() == 3 * [[1, 1]] + 2 * [[0, 0]]
    assert (whole.instructions, whole.stack_bytes) == ((5, 6, 7, 8, 9), 80)
    assert (whole.latency, whole.interval, whole.log) == (9, 4, "a")
    assert joined([Simulation((np.arange(3),))] * 2).instructions is None


def wrong_folder(path):
    """Write a folder with two wrong frames, in the first and in the last part."""
    vectors = golden(FRAMES)
    wrong = vectors.outputs[0].copy()
    wrong[1] ^= 1
    wrong[FRAMES - 1, 2] ^= 1
    return write_tiny(path, vectors=Golden(vectors.inputs, (wrong,)))


def as_bytes(verification):
    """Return a verification as JSON, without its times."""
    report = dict(verification.as_json())
    assert report.pop("seconds")
    return json.dumps(report).encode()


@pytest.mark.slow
def test_the_number_of_workers_changes_no_byte_of_c(tmp_path):
    folder = wrong_folder(tmp_path / "tiny")
    one = rlx.verify(folder, tools="host", cache=False)
    assert [row["frame"] for row in one.mismatches] == [1, FRAMES - 1]
    for executor in (1, 2, 3):
        other = rlx.verify(folder, tools="host", cache=False, executor=executor)
        assert as_bytes(other) == as_bytes(one)
    with ThreadPoolExecutor(2) as executor:
        other = rlx.verify(folder, tools="host", cache=False, executor=executor)
    assert as_bytes(other) == as_bytes(one)


@pytest.mark.slow
@pytest.mark.complete
def test_a_cluster_changes_no_byte_of_c(tmp_path, monkeypatch):
    folder = wrong_folder(tmp_path / "tiny")
    with cluster(2) as address:
        other = rlx.verify(folder, tools="host", cache=False, executor=f"dask:{address}")
    assert as_bytes(other) == as_bytes(rlx.verify(folder, tools="host", cache=False))


@pytest.mark.qemu
@pytest.mark.slow
def test_the_number_of_workers_changes_no_byte_of_firmware(tmp_path):
    folder, tools = wrong_folder(tmp_path / "tiny"), ["qemu", "unicorn"]
    one = rlx.verify(folder, tools=tools, frames=50, cache=False)
    assert one.figures["instructions"] > 0
    two = rlx.verify(folder, tools=tools, frames=50, cache=False, executor=2)
    assert as_bytes(two) == as_bytes(one)


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["engine", "dataflow"])
def test_the_number_of_workers_changes_no_byte_of_hardware(architecture, tmp_path):
    rng = np.random.default_rng(0)
    graph = Graph("net")
    x = graph.input("x", TensorType((1, 12), DType.I8))
    weights = graph.constant(rng.integers(-127, 128, (6, 12)).astype(np.int8))
    bias = graph.constant(rng.integers(-1000, 1000, 6).astype(np.int32))
    dense = QDense(x_zero_point=3, rescale=Rescale.of(0.003), zero_point=-5)
    graph.output(graph.apply(dense, x, weights, bias))
    module = GraphModule(graph, Stage.MIR)
    rlx.emit(module, "fpga", tmp_path / "hw", frames=130, architecture=architecture, weights="mem")
    runs = [
        rlx.verify(tmp_path / "hw", tools="verilator", cache=False, executor=executor)
        for executor in (None, 2)
    ]
    assert as_bytes(runs[0]) == as_bytes(runs[1])
    assert runs[1].passed
    assert runs[1].inputs == 130
    assert runs[1].figures["interval"] == runs[1].figures["predicted_interval"]


@pytest.mark.slow
def test_the_command_line_prints_the_same(tmp_path, capsys):
    folder = wrong_folder(tmp_path / "tiny")
    printed = []
    for options in ([], ["--executor", "2"]):
        assert (
            main(["verify", str(folder), "--with", "host", "--json", "--no-cache", *options]) == 1
        )
        report = json.loads(capsys.readouterr().out)
        report.pop("seconds")
        printed.append(report)
    assert printed[0] == printed[1]
    assert main(["verify", str(folder), "--executor", "0"]) == 2
    assert "expected 1 to 512 processes, got 0" in capsys.readouterr().err


class Counts(Steps):
    def __init__(self):
        self.seen = []

    def count(self, completed, total):
        self.seen.append((completed, total))


def test_progress_counts_the_frames_of_all_parts(tmp_path):
    folder, vectors, steps = write_tiny(tmp_path / "tiny"), golden(FRAMES), Counts()
    simulator = HostC()
    program = simulator.build(folder, tmp_path / "host")
    with reporting(steps):
        run = run_program(simulator, program, vectors, IN_PROCESS, timeout_s=60)
    assert (run.outputs[0] == vectors.outputs[0]).all()
    assert steps.seen == [(66, FRAMES), (133, FRAMES), (FRAMES, FRAMES)]


def test_an_error_names_the_frame_of_the_folder(tmp_path):
    folder = write_tiny(tmp_path / "tiny", vectors=golden(FRAMES))
    source = next(p for p in (folder / "src").glob("*.c") if "return 0;" in p.read_text())
    # The entry point fails at its 20th call in each process: frame 19 of a part.
    text = source.read_text().replace("return 0;", "static int calls; return ++calls == 20;")
    source.write_text(text)
    simulator = HostC()
    program = simulator.build(folder, tmp_path / "host")
    with raises(SimulationError):
        run_program(simulator, program, golden(FRAMES).part(100, FRAMES), IN_PROCESS, timeout_s=60)
