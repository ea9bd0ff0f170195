"""Synthesis scripts and the counting of cells, on a small cell in its AXI4-Stream wrapper."""

from __future__ import annotations

import pytest
from amaranth.back import verilog

from rlx.errors import OutputError, SimulationError
from rlx_fpga.axi import Interface, StreamPort, render, top_verilog
from rlx_fpga.cells.divide import Divide
from rlx_fpga.synthesis import find_yosys, read_cells, resources, synthesize
from rlx_sim.yosys import synthesize_folder


def interface():
    one = StreamPort(name="s_axis", member="i", direction="in", shape=(4, 2), bits=16, lanes=2)
    two = StreamPort(name="m_axis", member="o", direction="out", shape=(4, 2), bits=8, lanes=2)
    return Interface("t", (one,), (two,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("synth")
    ports = interface()
    core = verilog.convert(Divide(2, 16, (125,)), name=ports.core, emit_src=False)
    files = {
        "rtl/t_core.v": core,
        "rtl/t_top.sv": top_verilog(ports),
        "synth/ecp5.ys": render("ecp5.ys.j2", interface=ports),
        "synth/xc7.ys": render("xc7.ys.j2", interface=ports),
    }
    for path, content in files.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(content)
    return root


@pytest.mark.synth
def test_synthesize_folder_counts_cells(folder):
    found = synthesize_folder(folder)
    assert set(found) == {"ecp5", "xc7"}
    assert found["ecp5"]["multiplier"] == 2
    assert found["xc7"]["multiplier"] == 2
    assert 20 < found["ecp5"]["ff"] < 200
    assert found["ecp5"]["lut"] == found["ecp5"]["cells"]["LUT4"]
    assert found["ecp5"]["tool"] == f"yosys {find_yosys().version}"
    assert list(found["xc7"]["cells"]) == sorted(found["xc7"]["cells"])


@pytest.mark.synth
def test_synthesize_tells_what_yosys_said():
    files = {"rtl/a.v": "module a(; endmodule", "synth/ecp5.ys": "read_verilog rtl/a.v\n"}
    with pytest.raises(SimulationError, match=r"(?s)failed with status 1.*rtl/a.v:1: ERROR"):
        synthesize(files, "ecp5")


def test_synthesize_refuses_an_unknown_family():
    with pytest.raises(ValueError, match=r"^family must be one of .*, not 'ice40'$"):
        synthesize({}, "ice40")


def test_synthesize_folder_refuses_another_folder(tmp_path):
    with pytest.raises(OutputError, match=r"holds no scripts for Yosys under synth/"):
        synthesize_folder(tmp_path)


def test_read_cells_refuses_what_is_no_count(tmp_path):
    path = tmp_path / "x_stat.json"
    with pytest.raises(SimulationError, match=r"^yosys: left no cell counts in x_stat.json$"):
        read_cells(path)
    path.write_text("[]")
    with pytest.raises(SimulationError, match=r"^yosys: left no cell counts in x_stat.json$"):
        read_cells(path)


def test_resources_sum_by_kind():
    cells = {"LUT1": 1, "LUT6": 5, "FDRE": 3, "FDSE": 4, "RAM32M": 2, "RAMB18E1": 7, "MUXF7": 9}
    assert resources(cells, "xc7") == {
        "lut": 6, "ff": 7, "multiplier": 0, "block_ram_18": 7, "block_ram_36": 0, "lut_ram": 2,
    }  # fmt: skip
