"""The emitted folder of a small core: its cocotb bench, its harness, lint."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rlx.ops.numerics.exponential import softmax_int8, softmax_scaling, softmax_table
from rlx.support.errors import OutputError, UsageError
from rlx.support.files.golden import Golden, read_golden
from rlx.support.process import kept_environment
from rlx.support.steps import Steps
from rlx_fpga.cells.softmax import Softmax
from rlx_fpga.devices import device
from rlx_fpga.packaging.axi import Interface, StreamPort
from rlx_fpga.packaging.netlist import design_files
from rlx_sim.hardware.cocotb_bench import run_bench
from rlx_sim.hardware.emitted_report import read_report
from rlx_sim.hardware.fpga import VerilatorHarness, trace_format, verify_fpga
from rlx_sim.hardware.stream import Stalls
from rlx_sim.hardware.verilator import find_verilator
from rlx_sim.protocol import Mismatch, compare
from support import missing
from support.design_report import TOTALS
from support.messages import raises

COUNT = 5
INTERVAL = 17 * COUNT + 93
LATENCY = COUNT - 1 + COUNT + 109 + (COUNT - 1) * 15
SCALING = softmax_scaling(0.1)
LAYER = {"name": "n1", "op": "q.softmax", "cycles": INTERVAL}
REPORT = {**TOTALS, "interval": INTERVAL, "layers": [LAYER]}


class Recorder(Steps):
    """Keeps what a verification reports."""

    def __init__(self):
        self.details, self.lengths = [], []

    def detail(self, text):
        self.details.append(text)

    def expect(self, seconds, advice=""):
        self.lengths.append((seconds, advice))


def interface():
    ports = [
        StreamPort(name=name, member=member, direction=way, shape=(1, COUNT), bits=8, lanes=1)
        for name, member, way in (("s_axis", "i", "in"), ("m_axis", "o", "out"))
    ]
    return Interface("tiny", (ports[0],), (ports[1],))


def write(folder, *, spoil=False):
    x = np.random.default_rng(0).integers(-128, 128, (6, 1, COUNT)).astype(np.int8)
    y = softmax_int8(x, *SCALING)
    if spoil:
        y[1, 0, 2] ^= 1
    cell = Softmax(COUNT, softmax_table(*SCALING).tolist())
    files = {
        **design_files(cell, interface(), REPORT, device("ecp5-85k")),
        **Golden((x,), (y,)).files(),
    }
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return x, y


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("tiny")
    write(root)
    return root


@pytest.mark.sim
def test_bench_passes_alone_and_leaves_the_folder_as_it_was(folder):
    before = sorted(folder.rglob("*"))
    found = run_bench(folder, frames=4)
    assert (found.tests, found.passed) == (3, 3), found.log
    assert found.figures == {
        "inputs": 4, "equal": 4, "latency": LATENCY,
        "interval": INTERVAL, "stalled_inputs": 2, "stalled_equal": 2,
        "reset_inputs": 1, "reset_equal": 1,
    }  # fmt: skip
    assert sorted(folder.rglob("*")) == before


@pytest.mark.sim
def test_verify_runs_everything_but_cocotb(folder, tmp_path):
    waves = tmp_path / "tiny.vcd"
    result = verify_fpga(folder, read_golden(folder), timeout_s=300, cocotb=False, waves=waves)
    assert result.pop("waves") == str(waves)
    layouts = [str(folder / "tb" / f"tiny_top.{kind}") for kind in ("gtkw", "sucl")]
    assert result.pop("layouts") == layouts
    text = waves.read_text()
    assert text.startswith("$")
    assert {"m_axis_tdata", "u_core"} <= set(text.split())
    assert result["tools"].pop("verilator") == find_verilator().version
    assert [(row["simulation"], row["equal"]) for row in result.pop("runs")] == [
        ("verilator", 6), ("verilator, pauses and a reset", 2),
    ]  # fmt: skip
    seconds = result.pop("seconds")
    assert [row["simulation"] for row in seconds] == ["lint", "verilator"]
    assert set(seconds[1]) == {"simulation", "compile", "simulate", "compare"}
    assert result == {
        "target": "fpga", "inputs": 6, "equal": 6, "mismatches": [],
        "latency": LATENCY, "interval": INTERVAL,
        "predicted_interval": INTERVAL, "stalled": {"inputs": 2, "equal": 2},
        "lint": "clean", "tools": {},
    }  # fmt: skip


@pytest.mark.sim
def test_waveform_in_the_small_format(folder, tmp_path):
    for header, package in (("zlib.h", "zlib1g-dev"), ("lz4.h", "liblz4-dev")):
        found = subprocess.run(
            ["c++", "-E", "-include", header, "-x", "c++", "/dev/null"],
            capture_output=True,
            check=False,
        )
        if found.returncode:
            missing(f"{header} is not installed ({package})")
    waves = tmp_path / "tiny.fst"
    verify_fpga(folder, read_golden(folder), timeout_s=300, cocotb=False, waves=waves)
    content = waves.read_bytes()
    # A file of the format begins with its header: type 0, and 329 bytes long with the length.
    assert content[:9] == bytes([0]) + (329).to_bytes(8, "big")
    assert len(content) > 1000


@pytest.mark.sim
def test_simulator_gives_outputs_and_cycles(tmp_path):
    x, y = write(tmp_path, spoil=True)
    vectors = Golden((x,), (y,))
    found = VerilatorHarness(Stalls(seed=3, inputs=90, outputs=90, reset_after=7)).simulate(
        tmp_path, vectors, timeout_s=300
    )
    assert compare("verilator", found, vectors) == [
        Mismatch("verilator", 1, 0, 2, int(y[1, 0, 2]), int(y[1, 0, 2]) ^ 1)
    ]
    assert found.cycles > 6 * (INTERVAL)


@pytest.mark.sim
def test_verify_finds_the_bit_that_differs(tmp_path):
    write(tmp_path, spoil=True)
    steps = []
    found = verify_fpga(
        tmp_path, read_golden(tmp_path), timeout_s=300, bench_limit=3, progress=steps.append
    )
    assert found["equal"] == 5
    assert found["cocotb"]["inputs"] == 3
    assert found["stalled"] == {"inputs": 2, "equal": 1}
    assert [(one["simulator"], one.get("frame")) for one in found["mismatches"]] == [
        ("verilator", 1), ("verilator, stalled", 1), ("cocotb", None),
    ]  # fmt: skip
    assert (found["cocotb"]["tests"], found["cocotb"]["passed"]) == (3, 1)
    assert [row["simulation"] for row in found["runs"]] == [
        "verilator", "verilator, pauses and a reset", "cocotb", "cocotb, pauses", "cocotb, a reset",
    ]  # fmt: skip
    assert steps == [
        "lint", "verilator: build", "verilator: 6 frames",
        "verilator: 2 frames, pauses and a reset", "cocotb: the emitted bench",
    ]  # fmt: skip


@pytest.mark.sim
def test_a_verification_says_what_it_does(tmp_path):
    write(tmp_path)
    found = {**read_report(tmp_path), "latency": LATENCY}
    (tmp_path / "report.json").write_text(json.dumps(found), encoding="utf-8")
    steps = Recorder()
    verify_fpga(tmp_path, read_golden(tmp_path), timeout_s=300, progress=steps)
    assert 25 < steps.lengths[0][0] < 60
    assert "--with verilator takes" in steps.lengths[0][1]
    assert "compiling harness.cpp, file 1" in steps.details
    tests = [text for text in steps.details if text.startswith("test ")]
    assert tests == [
        "test 1 of 3: back_to_back", "test 2 of 3: back_pressure",
        "test 3 of 3: reset_in_the_middle",
    ]  # fmt: skip
    assert steps.details.index("compiling verilator.cpp, file 1") < steps.details.index(tests[0])


def test_waveform_needs_an_ending_that_is_known(folder):
    assert [trace_format(path) for path in (None, Path("a.vcd"), Path("b.FST"))] == [
        None, "vcd", "fst",
    ]  # fmt: skip
    with raises(UsageError):
        trace_format(Path("a.txt"))


def test_read_report_refuses_another_folder(tmp_path):
    with raises(OutputError):
        read_report(tmp_path)


@pytest.mark.slow
def test_netlist_does_not_depend_on_the_hash_seed(folder):
    program = (
        "import sys; sys.path[:0] = [sys.argv[1], sys.argv[1] + '/../..'];"
        "import test_cocotb_bench as t;"
        "from pathlib import Path; t.write(Path(sys.argv[2]))"
    )
    here = str(Path(__file__).parent)
    for seed in ("1", "2"):
        root = folder.parent / f"seed{seed}"
        root.mkdir()
        subprocess.run(
            [sys.executable, "-c", program, here, str(root)],
            check=True, env=kept_environment() | {"PYTHONHASHSEED": seed},
        )  # fmt: skip
        for path in filter(Path.is_file, folder.rglob("*")):
            assert (root / path.relative_to(folder)).read_bytes() == path.read_bytes(), path.name


def test_bench_refuses_another_folder(tmp_path):
    with raises(OutputError):
        run_bench(tmp_path)
