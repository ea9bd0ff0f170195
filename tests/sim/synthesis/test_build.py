"""``rlx build`` on a small cell in its AXI4-Stream wrapper: cells, clock, what does not fit."""

from __future__ import annotations

import dataclasses
import json
import sys

import msgspec
import pytest

from rlx.cli import main
from rlx.cli.schemas import SCHEMAS
from rlx.support.errors import (
    DoesNotFitError,
    OutputError,
    SimulationError,
    TargetNotFoundError,
    TimeLimitError,
    ToolMissingError,
    UsageError,
)
from rlx.support.files.outputs import Producer, read_manifest, write_folder
from rlx.support.parallel import workers
from rlx.support.steps import Steps, length_text, reporting
from rlx.targets import builder
from rlx_fpga.cells.divide import Divide
from rlx_fpga.devices import device
from rlx_fpga.packaging.axi import Interface, StreamPort
from rlx_fpga.packaging.netlist import design_files
from rlx_fpga.packaging.synthesis import find_yosys, pass_reader
from rlx_sim.firmware.harness import frame_counter
from rlx_sim.synthesis import nextpnr
from rlx_sim.synthesis.build import FPGA, _expected
from rlx_sim.synthesis.nextpnr import find_nextpnr, place_and_route, placed, read_routed
from rlx_sim.synthesis.seeds import route_seeds
from rlx_sim.view import build_view
from support.design_report import TOTALS
from support.messages import raises

CELL_MULTIPLIERS = 2
REPORT = {**TOTALS, "interval": 8, "dsp": CELL_MULTIPLIERS, "layers": []}


class Recorder(Steps):
    """Keeps what a build reports."""

    def __init__(self):
        self.texts, self.details, self.lengths = [], [], []

    def __call__(self, text):
        self.texts.append(text)

    def detail(self, text):
        self.details.append(text)

    def expect(self, seconds, advice=""):
        self.lengths.append((seconds, advice))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return emitted(tmp_path_factory.mktemp("build") / "t", "ecp5-25k")


@pytest.fixture(scope="module")
def ice40_folder(tmp_path_factory):
    return emitted(tmp_path_factory.mktemp("ice40") / "t", "ice40-up5k")


def emitted(root, name):
    """Return the folder of a cell for a device, as ``rlx emit`` writes one."""
    one = StreamPort(name="s_axis", member="i", direction="in", shape=(4, 2), bits=16, lanes=2)
    two = StreamPort(name="m_axis", member="o", direction="out", shape=(4, 2), bits=8, lanes=2)
    chosen = device(name)
    files = design_files(Divide(2, 16, (125,)), Interface("t", (one,), (two,)), REPORT, chosen)
    producer = Producer(rlx_version="0", target="fpga", options={"device": chosen.name})
    write_folder(root, files, producer=producer)
    return root


@pytest.mark.synth
def test_build_reports_clock_and_cells(folder, tmp_path, capsys):
    before = sorted(folder.rglob("*"))
    kept = tmp_path / "kept"
    assert main(["build", str(folder), "--seeds", "2", "--json", "-o", str(kept)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(folder.rglob("*")) == before
    assert (found["device"], found["top"], found["problems"]) == ("ecp5-25k", "t_top", [])
    clocks = [row["fmax_mhz"] for row in found["seeds"]]
    assert found["fmax_mhz"] == pytest.approx(sum(clocks) / 2, abs=0.01)
    assert 20 < min(clocks) <= max(clocks) < 500
    assert found["frames_per_second"] == pytest.approx(1e6 * found["fmax_mhz"] / 8, rel=1e-3)
    rows = {row["resource"]: row for row in found["resources"]}
    assert rows["dsp"] == {
        "resource": "dsp", "estimate": CELL_MULTIPLIERS, "synthesis": CELL_MULTIPLIERS,
        "placed": CELL_MULTIPLIERS, "available": 28,
    }  # fmt: skip
    cells = found["cells"]
    assert rows["lut"]["synthesis"] == cells["LUT4"] + 2 * cells["CCU2C"]
    # The wrapper's registers: one for each bit of the core's ports, and two for the reset.
    wrapper = (32 + 1 + 1 + 1) + (16 + 1 + 1 + 1) + 2
    assert rows["ff"]["placed"] == rows["ff"]["synthesis"] + wrapper
    path = found["seeds"][0]["longest"]
    assert path["from"].startswith("u_top.")
    assert path["logic_ns"] + path["routing_ns"] == pytest.approx(1000 / clocks[0], abs=0.01)
    assert found["tools"] == {
        "nextpnr-ecp5": find_nextpnr("nextpnr-ecp5").version, "yosys": find_yosys().version,
    }  # fmt: skip
    assert sorted(read_manifest(kept).files) == [
        "build.json", "ecp5-25k.json", "ecp5-25k_netlist.json", "ecp5-25k_seed1.json",
        "ecp5-25k_seed1.log", "ecp5-25k_seed2.json", "ecp5-25k_seed2.log",
        "ecp5-25k_stat.json", "placement.svg",
    ]  # fmt: skip
    assert (found["placement"], found["layers"]) == ("placement.svg", [])
    picture = (kept / "placement.svg").read_text()
    assert f"t_top on ecp5-25k, seed 1: {clocks[0]:.1f} MHz" in picture
    assert picture.count("<circle") == CELL_MULTIPLIERS + 1  # and that of the legend
    assert json.loads((kept / "build.json").read_text()) == found
    assert msgspec.to_builtins(msgspec.convert(found, SCHEMAS["build"])) == found


@pytest.mark.synth
def test_build_for_a_device_without_open_place_and_route(folder, capsys):
    assert main(["build", str(folder), "--device", "artix7-35t"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "fmax" not in out
    assert "note: place and route for artix7-35t needs the vendor's tool" in out
    assert "vivado -mode batch -source synth/vivado.tcl" in out


@pytest.mark.synth
def test_a_clock_that_is_missed_is_a_problem(ice40_folder):
    steps = Recorder()
    found = FPGA.build(ice40_folder, seeds=1, clock_mhz=400, progress=steps)
    assert steps.texts == ["yosys: ice40-up5k", "nextpnr-ice40: seed 1 of 1"]
    assert {"pass TECHMAP", "packing constants", "timing analysis"} <= set(steps.details)
    assert any(text.startswith("placing, ") for text in steps.details)
    assert any(text.startswith("routing ") for text in steps.details)
    (problem,) = found.problems
    assert problem.startswith("expected 400 MHz, reached ")
    assert found.fmax_mhz < 400
    assert {row["resource"]: row["placed"] for row in found.resources}["dsp"] == CELL_MULTIPLIERS


@pytest.mark.synth
@pytest.mark.slow
def test_the_number_of_workers_changes_no_result(ice40_folder, tmp_path, capsys):
    printed = []
    for number, options in enumerate(([], ["--executor", "2"])):
        out = tmp_path / str(number)
        command = ["build", str(ice40_folder), "--seeds", "3", "--no-simulate", "--json"]
        assert main([*command, "-o", str(out), *options]) == 0
        printed.append(json.loads(capsys.readouterr().out))
    assert printed[0] == printed[1]
    assert [row["seed"] for row in printed[1]["seeds"]] == [1, 2, 3]
    names = [{path.name for path in (tmp_path / name).iterdir()} for name in "01"]
    assert names[0] == names[1]
    for name in ("placement.svg", "ice40-up5k_seed3.json"):
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()


@pytest.mark.synth
@pytest.mark.slow
def test_workers_report_what_does_not_fit(ice40_folder, tmp_path):
    kept, steps = tmp_path / "kept", Recorder()
    FPGA.build(ice40_folder, seeds=0, keep=kept)
    small = dataclasses.replace(
        device("ice40-up5k"), pnr=("nextpnr-ice40", "--hx1k", "--package", "tq144")
    )
    with workers(2) as pool, pytest.raises(DoesNotFitError, match=r"^the design does not fit"):
        route_seeds(kept, small, 2, pool, steps, target_mhz=50, locations=None, timeout_s=600)
    assert steps.texts == ["nextpnr-ice40: 2 seeds"]


@pytest.mark.synth
def test_status_is_3_where_the_device_is_too_small(ice40_folder, capsys, monkeypatch):
    small = dataclasses.replace(device("ice40-up5k"), lut=20, dsp=1)
    monkeypatch.setattr("rlx_sim.synthesis.build.find_device", lambda name: small)
    assert main(["build", str(ice40_folder)]) == 3
    out = capsys.readouterr().out
    assert "problem: 2 DSP needed, ice40-up5k has 1" in out


@pytest.mark.synth
def test_nextpnr_reports_what_does_not_fit(ice40_folder, tmp_path):
    FPGA.build(ice40_folder, seeds=0, keep=tmp_path / "kept")
    # The same netlist in the smallest device of the family, which has no multiplier.
    small = dataclasses.replace(
        device("ice40-up5k"), pnr=("nextpnr-ice40", "--hx1k", "--package", "tq144")
    )
    with pytest.raises(
        DoesNotFitError, match=r"^the design does not fit ice40-up5k: Unable to place cell .*_DSP"
    ):
        place_and_route(tmp_path / "kept", small, seed=1, target_mhz=50)


@pytest.mark.synth
def test_time_limit(folder):
    # Any of the tools may be the one that runs then.
    with pytest.raises(TimeLimitError, match=r"still running after 0\.2 s, ended"):
        FPGA.build(folder, timeout_s=0.2)


def test_unknown_device_is_refused(folder):
    with raises(UsageError):
        FPGA.build(folder, device="ecp6")


def test_folder_of_another_target_is_refused(tmp_path, capsys):
    write_folder(tmp_path / "c", {}, producer=Producer(rlx_version="0", target="cortexm"))
    with raises(OutputError):
        FPGA.build(tmp_path / "c")
    assert main(["build", str(tmp_path / "c")]) == 6
    assert capsys.readouterr().err == (
        "error[RLX-E060]: nothing installed builds what target 'cortexm' emits\n"
        "  try: 'rlx verify' builds and runs it, its README.md says how to build it; builders:"
        " fpga\n"
    )


def test_builder_comes_in_by_its_entry_point():
    assert builder.load("fpga") is FPGA
    with raises(TargetNotFoundError):
        builder.load("x")


def test_missing_nextpnr_is_reported(folder, monkeypatch):
    find_nextpnr.cache_clear()
    monkeypatch.setattr(nextpnr.shutil, "which", lambda name: None)
    monkeypatch.setattr(nextpnr.importlib.util, "find_spec", lambda name: None)
    with raises(ToolMissingError):
        FPGA.build(folder)


def fake_tool(folder, monkeypatch, program):
    """Put a Python ``program`` on PATH as ``nextpnr-ecp5``."""
    path = folder / "nextpnr-ecp5"
    path.write_text(f"#!{sys.executable}\n{program}\n")
    path.chmod(0o755)
    monkeypatch.setattr(nextpnr.shutil, "which", lambda name: str(path))
    find_nextpnr.cache_clear()


@pytest.mark.parametrize(
    ("version", "is_system"),
    [("nextpnr-0.7-57-g1", True), ("0.11.1+dfsg-5+b1", True), ("nextpnr-0.4", False)],
    ids=["git", "debian", "old"],
)
def test_system_tool_is_used_if_it_is_new_enough(tmp_path, monkeypatch, version, is_system):
    fake_tool(tmp_path, monkeypatch, f"print('nextpnr-ecp5 (Version {version})')")
    if not is_system:
        monkeypatch.setattr(nextpnr.importlib.util, "find_spec", lambda name: None)
        with pytest.raises(ToolMissingError):
            find_nextpnr("nextpnr-ecp5")
    else:
        assert find_nextpnr("nextpnr-ecp5").command == (str(tmp_path / "nextpnr-ecp5"),)
    find_nextpnr.cache_clear()


def test_tool_without_version_is_refused(tmp_path, monkeypatch):
    fake_tool(tmp_path, monkeypatch, "print('hello')")
    with raises(SimulationError):
        find_nextpnr("nextpnr-ecp5")
    find_nextpnr.cache_clear()


def test_other_failures_are_reported_unchanged(tmp_path, monkeypatch):
    program = (
        "import sys\n"
        "if '--version' in sys.argv: print('Version nextpnr-0.11.1'); sys.exit()\n"
        "print('ERROR: cell type FOO is unsupported', file=sys.stderr); sys.exit(255)"
    )
    fake_tool(tmp_path, monkeypatch, program)
    with pytest.raises(SimulationError, match=r"(?s)failed with status 255.*FOO is unsupported"):
        place_and_route(tmp_path, device("ecp5-25k"), seed=1, target_mhz=100)
    find_nextpnr.cache_clear()


def test_report_is_read(tmp_path):
    path = tmp_path / "r.json"
    step = {"delay": 1.0, "from": {"cell": "a", "port": "Q"}, "to": {"cell": "b", "port": "D"}}
    report = {
        "fmax": {"clk": {"achieved": 90.5}, "slow": {"achieved": 40.25}},
        "utilization": {"TRELLIS_COMB": {"used": 5, "available": 9}},
        "critical_paths": [
            {"from": "posedge clk", "to": "posedge clk", "path": []},
            {"from": "posedge slow", "to": "posedge slow", "path": [
                {**step, "type": "clk-to-q"}, {**step, "type": "routing", "delay": 2.5},
                {**step, "type": "setup", "delay": 0.0}]},
        ],
    }  # fmt: skip
    path.write_text(json.dumps(report))
    found = read_routed(path, 3)
    assert (found.seed, found.fmax_mhz) == (3, 40.25)
    assert placed(found.used, "ecp5") == {"lut": 5}
    assert found.longest.to_json() == {
        "from": "a.Q", "to": "b.D", "logic_ns": 1.0, "routing_ns": 2.5,
    }  # fmt: skip
    path.write_text(json.dumps({**report, "critical_paths": []}))
    assert read_routed(path, 1).longest is None
    path.write_text('{"fmax": {}, "utilization": {}}')
    with raises(SimulationError):
        read_routed(path, 1)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("Info: Packing LUT-FFs..", "packing LUT"),
        ("Info:     at initial placer iter 3, wirelen = 221", "placing, start 3"),
        ("Info:     at iteration #4, type ALL: wirelen solved = 3", "placing, iteration 4"),
        ("Info:   at iteration #5: temp = 0.0", "refining the placement, iteration 5"),
        ("Info: Routing 42859 arcs.", "routing 42859 arcs"),
        ("Info:       1000 |      108        891 |  108   891 |     41968|       1.05       1.05|",
         "routing, 41968 arcs left"),
        ("Info: Checksum: 0x1", None),
    ],
)  # fmt: skip
def test_phases_of_place_and_route(line, text):
    found = []
    nextpnr.phase_reader(found.append)(line)
    assert found == ([] if text is None else [text])
    assert nextpnr.phase_reader(None) is None


class Counts(Steps):
    """Steps that keep the counts that are reported."""

    def __init__(self):
        self.counts = []

    def count(self, completed, total):
        self.counts.append((completed, total))


def test_routed_arcs_are_counted():
    steps = Counts()
    read = nextpnr.phase_reader(steps.detail)
    with reporting(steps):
        for line in (
            "Info: Routing 33378 arcs.",
            "Info:    1000 |   29   970 |   29  970 |  32408|",
        ):
            read(line)
    assert steps.counts == [(33378 - 32408, 33378)]


def test_frames_of_a_test_program_are_counted():
    steps = Counts()
    read = frame_counter(2)
    with reporting(steps):
        for frame in range(2):
            read(f"rlx frame {frame} status 0 different 0 overrun 0 instructions 9 stack 8")
            read("another line")
    assert steps.counts == [(1, 2), (2, 2)]


def test_passes_of_synthesis():
    found = []
    read = pass_reader(found.append)
    for line in ("2.3.1. Executing ABC9_OPS pass (helper).", "3. Executing Verilog-2005 frontend"):
        read(line)
    assert found == ["pass ABC9_OPS"]


def test_the_length_of_a_build_comes_from_its_cells():
    one, _ = _expected(device("ecp5-85k"), 4000, 1)
    three, advice = _expected(device("ecp5-85k"), 4000, 3)
    assert 60 < one < 180 < three < 3 * one
    assert advice == (f"longer if the machine has other work; --seeds 1 takes {length_text(one)}")
    assert _expected(device("artix7-35t"), 4000, 3) == (0.0, "")


@pytest.mark.parametrize(("placed", "share"), [(2968, "56"), (None, "42")])
def test_share_of_the_device_is_that_of_placed_cells(placed, share):
    row = {"resource": "lut", "estimate": 2222, "synthesis": 2218, "placed": placed,
           "available": 5280}  # fmt: skip
    report = {
        "top": "t_top", "device": "ice40-up5k", "part": "up5k", "resources": [row], "layers": [],
        "seeds": [], "fmax_mhz": None, "frames_per_second": None, "netlist": None,
    }  # fmt: skip
    cells, *_ = build_view(report)
    assert cells.rows[0][-1] == share
