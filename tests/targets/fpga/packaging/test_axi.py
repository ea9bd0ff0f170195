"""Ports, wrapper and the other rendered files of a folder."""

import re

import pytest

from rlx_fpga.cells.concat import Concat
from rlx_fpga.devices import device
from rlx_fpga.packaging.axi import Interface, StreamPort, harness_cpp, port_names, top_verilog
from rlx_fpga.packaging.netlist import design_files, sources_of
from rlx_fpga.packaging.render import render


def port(name, member, direction, **changes):
    fields = {"shape": (1, 4, 3, 6), "bits": 8, "lanes": 3} | changes
    return StreamPort(name=name, member=member, direction=direction, **fields)


def interface():
    return Interface(
        "net",
        (port("s0_axis", "i0", "in"), port("s1_axis", "i1", "in")),
        (port("m_axis", "o", "out", shape=(1, 4, 3, 12), quant=(0.25, -3)),),
    )


REPORT = {
    "interval": 48,
    "columns": ["name", "op", "cycles", "lut", "ff", "dsp", "bram"],
    **{"lut": 900, "ff": 700, "dsp": 3, "bram": 1.5, "device": "ecp5-85k", "lut_percent": 1.1},
    **{"ff_percent": 0.8, "dsp_percent": 1.9, "bram_percent": 0.7, "fps": 2.5, "clock_mhz": 75.0},
    "layers": [
        {"name": "n3", "op": "q.concat", "cycles": 48, "lut": 900, "ff": 700, "dsp": 3, "bram": 1.5}
    ],
}


def test_port_counts_beats_and_bytes():
    one = port("s_axis", "i", "in", bits=32, lanes=2)
    assert (one.elements, one.beats, one.width) == (72, 36, 64)
    assert (one.beat_bytes, one.frame_bytes) == (8, 288)
    assert port("s_axis", "i", "in", quant=(0.5, 3)).to_json()["zero_point"] == 3
    assert one.to_json() == {
        "name": "s_axis", "direction": "in", "shape": [1, 4, 3, 6], "dtype": "int32",
        "lanes": 2, "beats": 36, "tdata_bits": 64,
    }  # fmt: skip


def test_port_refuses_lanes_that_do_not_divide():
    with pytest.raises(ValueError, match=r"^s_axis: 5 lanes do not divide 72 elements$"):
        port("s_axis", "i", "in", lanes=5)


def test_port_names_have_numbers_only_where_there_are_several():
    assert port_names("s", 1) == ("s_axis",)
    assert port_names("m", 2) == ("m0_axis", "m1_axis")


def test_rendered_files_are_golden(golden):
    files = design_files(Concat(3, (2, 2)), interface(), REPORT, device("ecp5-85k"))
    golden("fpga/two_inputs", files)


def test_core_has_ports_and_no_foreign_text():
    text = sources_of(Concat(3, (2, 2)), interface()).core
    assert text.startswith("// net_core: the network")
    assert re.search(r"^module net_core \(", text, re.MULTILINE)
    assert "amaranth" not in text.lower()


def test_templates_render_with_a_beat_that_is_a_frame():
    one = Interface("net", (port("s_axis", "i", "in"),), (port("m_axis", "o", "out", lanes=72),))
    assert "assign m_axis_tlast = m_axis_tvalid;" in top_verilog(one)
    assert "beat_q" not in top_verilog(one)
    assert "{72, 1}" in harness_cpp(one)


def test_every_value_of_a_template_must_be_given():
    with pytest.raises(Exception, match=r"'interface' is undefined"):
        render("top.sv.j2")
