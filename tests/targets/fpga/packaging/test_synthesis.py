"""Synthesis: the script for each device, the counting of cells."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from rlx.support.errors import SimulationError, ToolMissingError
from rlx_fpga.devices import device, devices
from rlx_fpga.packaging import synthesis
from rlx_fpga.packaging.synthesis import (
    RESOURCES,
    read_cells,
    read_layers,
    resources,
    synthesis_script,
    synthesize,
)
from support.messages import raises


@pytest.mark.parametrize("name", devices())
def test_script_names_the_pins_only_where_they_are_placed(name):
    chosen = device(name)
    text = synthesis_script(["rtl/t_core.sv", "rtl/t_top.sv"], "t_top", chosen)
    assert chosen.synth in text
    assert ("synth/t_top_pins.sv" in text) == bool(chosen.pnr)
    assert (f"write_json {name}.json" in text) == bool(chosen.pnr)
    assert (f"-edif {name}.edif" in text) == (not chosen.pnr)


@pytest.mark.parametrize("name", devices())
def test_script_counts_the_cells_of_layers_before_the_hierarchy_is_gone(name):
    text = synthesis_script(["rtl/t_top.sv"], "t_top", device(name), layers=["n0_a", "n1_b"])
    lines = text.splitlines()
    first = lines.index(f"tee -q -o {name}_layers.json stat -json t_top/c:u_core.u_n0_a.*")
    assert lines[first + 1] == f"tee -q -a {name}_layers.json stat -json t_top/c:u_core.u_n1_b.*"
    assert lines.index(f"tee -q -o {name}_stat.json stat -json") < first
    assert "flatten" not in lines[:first]


def counts(layer, cells, top="t"):
    """Return the counts of a layer that Yosys prints; nothing is left of one without cells."""
    modules = {f"\\{top}": {"num_cells_by_type": cells}} if cells else {}
    return json.dumps({"invocation": f"stat -json {top}/c:u_core.u_{layer}.*", "modules": modules})


def test_read_layers_takes_one_object_after_the_other(tmp_path):
    path = tmp_path / "x_layers.json"
    path.write_text(counts("a", {"LUT4": 3, "$scopeinfo": 9}) + "\n\n" + counts("b", {}) + "\n")
    assert read_layers(path, "t", ["a", "b"]) == {"a": {"LUT4": 3}, "b": {}}
    assert read_layers(tmp_path / "none", "t", []) == {}


@pytest.mark.parametrize("layers", [["b"], ["a", "b"]])
def test_read_layers_refuses_the_counts_of_others(tmp_path, layers):
    path = tmp_path / "x_layers.json"
    path.write_text(counts("a", {"LUT4": 3}))
    with raises(SimulationError):
        read_layers(path, "t", layers)


@pytest.mark.synth
def test_synthesize_reports_what_yosys_printed():
    files = {"rtl/a.v": "module a(; endmodule"}
    with pytest.raises(SimulationError, match=r"(?s)failed with status 1.*rtl/a.v:1: ERROR"):
        synthesize(files, ["rtl/a.v"], "a", device("artix7-35t"))


def test_read_cells_refuses_what_is_no_count(tmp_path):
    path = tmp_path / "x_stat.json"
    for content in (None, "[]", '{"modules": {}}', '{"modules": {"\\\\b": {}}}'):
        if content is not None:
            path.write_text(content)
        with raises(SimulationError):
            read_cells(path, "a")


def test_read_cells_takes_the_top_and_sorts(tmp_path):
    path = tmp_path / "x_stat.json"
    counts = {"LUT4": 3, "$scopeinfo": 9, "DP16KD": 1}
    modules = {"\\a": {"num_cells_by_type": counts}, "\\a_pins": {"num_cells_by_type": {"b": 1}}}
    path.write_text(json.dumps({"modules": modules}))
    assert list(read_cells(path, "a").items()) == [("DP16KD", 1), ("LUT4", 3)]


@pytest.mark.parametrize(
    ("family", "cells", "sums"),
    [
        ("ecp5", {"LUT4": 5, "CCU2C": 9, "TRELLIS_FF": 3, "MULT18X18D": 2, "DP16KD": 1,
                  "TRELLIS_DPR16X4": 4}, (5 + 2 * 9 + 6 * 4, 3, 2, 1, 4)),
        ("ice40", {"SB_LUT4": 7, "SB_DFFESR": 2, "SB_DFF": 1, "SB_MAC16": 1,
                   "SB_RAM40_4KNR": 6, "SB_CARRY": 8}, (7, 3, 1, 6, 0)),
        ("xc7", {"LUT1": 1, "LUT6": 5, "FDRE": 3, "FDSE": 4, "RAM32M": 2, "RAMB18E1": 7,
                 "RAMB36E1": 1, "MUXF7": 9, "SRL16E": 3}, (6 + 4 * 2 + 3, 7, 0, 4.5, 2)),
        ("xcup", {"LUT2": 1, "FDRE": 3, "DSP48E2": 2, "RAMB18E2": 2, "CARRY8": 9}, (1, 3, 2, 1, 0)),
    ],
)  # fmt: skip
def test_resources_sum_by_kind(family, cells, sums):
    assert resources(cells, family) == dict(zip(RESOURCES, sums, strict=True))


def test_every_family_is_counted():
    for chosen in devices().values():
        assert resources({chosen.dsp_cell: 2, chosen.bram_cell: 3}, chosen.family) == {
            "lut": 0, "ff": 0, "dsp": 2, "bram": 3, "lut_ram": 0,
        }  # fmt: skip


def test_missing_yosys_is_reported_with_what_installs_it(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(synthesis.importlib.util, "find_spec", lambda _: None)
    with raises(ToolMissingError):
        synthesis.find_yosys.__wrapped__()


def test_program_that_is_not_yosys_is_refused():
    with raises(SimulationError):
        synthesis._version((sys.executable, "-c", "print('hello')"))


@pytest.mark.parametrize(
    ("family", "cell", "resource", "each"),
    [
        ("ecp5", "PDPW16KD", "bram", 1), ("ice40", "SB_RAM40_4KNW", "bram", 1),
        ("xc7", "RAM64M", "lut", 4), ("xcup", "RAM32M16", "lut", 8), ("xcup", "RAM64M8", "lut", 8),
        ("xc7", "RAM32X1D_1", "lut", 2), ("xc7", "RAM128X1S", "lut", 2),
        ("xc7", "SRLC32E", "lut", 1),
        ("xc7", "FDCE", "ff", 1), ("xc7", "FDPE_1", "ff", 1), ("xc7", "RAMB18E1", "bram", 0.5),
        ("xcup", "RAM32M16", "lut_ram", 1), ("xc7", "RAM64X1D", "lut_ram", 1),
    ],
)  # fmt: skip
def test_cells_take_what_the_library_says(family, cell, resource, each):
    for count in (1, 3):
        found = resources({cell: count, "$print": 9, f"MY_{cell}": 9}, family)[resource]
        assert found == count * each
        assert isinstance(found, int) == (each == int(each))


def test_only_headings_of_passes_are_shown():
    shown = []
    read = synthesis.pass_reader(shown.append)
    for line in (
        "2.14. Executing OPT pass (performing simple optimizations).",
        "Removed 3 wires.",
        "7.2.1. Executing ABC9_OPS pass.",
        "  Executing nothing pass",
        "12. Printing",
    ):
        read(line)  # fmt: skip
    assert shown == ["pass OPT", "pass ABC9_OPS"]
    assert synthesis.pass_reader(None) is None


def test_synthesis_gets_the_files_that_it_reads_and_no_others(tmp_path):
    files = {"rtl/cells/a.sv": "module a; endmodule\n", "mem/a.mem": b"\x00\xff", "run.ys": "stat",
             "synth/near.v": "", "golden/input_0.npy": b"x", "tb/net_tb.sv": "x"}  # fmt: skip
    synthesis._lay_out(tmp_path, files)
    found = {p.relative_to(tmp_path).as_posix(): p.read_bytes() for p in tmp_path.rglob("*.*")}
    assert found == {
        path: text if isinstance(text, bytes) else text.encode()
        for path, text in files.items()
        if path.startswith(("rtl/", "mem/", "synth/", "run"))
    }


@pytest.mark.parametrize(
    ("version", "taken"), [("0.40", True), ("0.41", True), ("1.2", True), ("0.39", False)]
)
def test_a_yosys_of_the_system_is_taken_if_it_is_recent_enough(monkeypatch, version, taken):
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/yosys")
    monkeypatch.setattr(synthesis.importlib.util, "find_spec", lambda _: object())
    monkeypatch.setattr(
        synthesis, "_version", lambda command: version if command[0] == "/usr/bin/yosys" else "0.70"
    )
    found = synthesis.find_yosys.__wrapped__()
    assert (found.command[0], found.version) == (
        ("/usr/bin/yosys", version) if taken else (sys.executable, "0.70")
    )
