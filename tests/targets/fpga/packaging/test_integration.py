"""Files for other tools name what is there, with the clock and the pins of the device.

``tests/sim`` runs the tools themselves.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from textwrap import dedent
from types import SimpleNamespace

import pytest
import yaml

from rlx.support.errors import EmitError
from rlx_fpga.devices import device
from rlx_fpga.packaging.axi import Interface, StreamPort, WeightPort, port_names
from rlx_fpga.packaging.integration import (
    PINS,
    board_pll,
    fusesoc_core,
    integration_files,
    litex_module,
)
from support.messages import raises

PORTS = ("audio", "x", "a b")


def port(name, direction):
    return StreamPort(
        name=name, member=name[0], direction=direction, shape=(1, 12), bits=8, lanes=3
    )


def interface(inputs=2, outputs=1, **changes):
    weights = WeightPort(port("s_axis_weights", "in"), "mem/my_net_weights.bin", True)
    fields = {"modules": ("rtl/cells/a.sv",), "memories": ("mem/a.mem",), "weights": weights}
    return Interface(
        "my_net",
        tuple(port(name, "in") for name in port_names("s", PORTS[:inputs])),
        tuple(port(name, "out") for name in port_names("m", PORTS[:outputs])),
        **{**fields, **changes},
    )


def test_a_board_has_a_pll_for_every_clock_but_its_own():
    board = device("icebreaker")
    assert board_pll(board, 12.0) is None
    assert board_pll(device("ice40-up5k"), 20.0) is None
    slower, faster = board_pll(board, 16.5), board_pll(board, 24.0)
    assert (slower.output_mhz, faster.output_mhz) == (16.5, 24)
    assert slower.input_mhz == 12
    with raises(EmitError):
        board_pll(board, 11.0)


@pytest.mark.parametrize(
    ("name", "cell"),
    [("icebreaker", "SB_PLL40_PAD"), ("ice40-hx8k-evn", "SB_PLL40_CORE"), ("ulx3s-85f", "EHXPLLL")],
)
def test_the_pad_of_a_pll_is_used_where_the_clock_is_at_it(name, cell):
    assert device(name).pll_pad == (cell == "SB_PLL40_PAD")
    assert board_pll(device(name), 48.0).cell == cell


def constraints(name, mhz, extension):
    return integration_files(interface(), device(name), mhz)[f"synth/my_net.{extension}"]


@pytest.mark.parametrize(
    ("name", "mhz", "at_pin"),
    [("ulx3s-85f", 50.0, 25), ("ulx3s-85f", 25.0, 25), ("ecp5-85k", 50.0, 50),
     ("icebreaker", 24.0, 12), ("ice40-up5k", 24.0, 24)],
)  # fmt: skip
def test_the_clock_at_the_pin_is_that_of_the_board(name, mhz, at_pin):
    """The PLL multiplies it; a device alone gets the clock of the core."""
    extension = "lpf" if device(name).family == "ecp5" else "pcf"
    found = re.findall(r"clk_i\"? (\d+)\b(?! *#)", constraints(name, mhz, extension))
    assert int(found[0]) == at_pin
    (period,) = re.findall(r"-period ([\d.]+)", constraints(name, mhz, "sdc"))
    assert float(period) == pytest.approx(1000 / mhz, abs=0.001)
    makefile = integration_files(interface(), device(name), mhz)["synth/Makefile"]
    assert re.search(rf"^MHZ \?= {mhz:g}$", makefile, re.M)


@pytest.mark.parametrize("name", ["ulx3s-85f", "icebreaker", "ecp5-25k", "ice40-hx8k"])
def test_pins_that_the_board_has_none_for_are_left_to_the_user(name):
    board = device(name)
    text = constraints(name, board.clock_mhz, "lpf" if board.family == "ecp5" else "pcf")
    pattern = r"^(#?)(?:LOCATE COMP|set_io) \"?(\w+)\"?(?: SITE)? \"?(\w+)"
    placed = {port: (mark, site) for mark, port, site in re.findall(pattern, text, re.M)}
    assert placed.keys() == set(PINS)
    located = {} if board.pins is None else {one.name: one.site for one in board.pins.located}
    for port_, (mark, site) in placed.items():
        assert (mark == "") == (port_ in located)
        assert site == located.get(port_, "PIN") or (port_ == "clk_i" and site == board.clock_pin)


def test_fusesoc_gets_every_file_once_with_its_type():
    core = interface()
    for name in ("ulx3s-85f", "artix7-35t"):
        sets = yaml.safe_load(fusesoc_core(core, device(name)).partition("\n")[2])["filesets"]
        files = [(path, row) for one in sets.values() for entry in one["files"]
                 for path, row in entry.items()]  # fmt: skip
        names = [path for path, _ in files]
        assert len(set(names)) == len(names)
        assert all(row["copyto"] == path for path, row in files)
        written = integration_files(core, device(name), 25.0)
        needed = {*core.sources, *core.memories, *core.golden, "lint.vlt", "tb/my_net_tb.sv"}
        read = {path for path in written if f"{path}" in written[f"synth/{name}.ys"]}
        scripts = {f"synth/{name}.ys", f"synth/{name}.tcl"}
        assert set(names) == needed | read | scripts
        assert any("near" in path for path in read) == (name == "ulx3s-85f")
        for path, row in files:
            source = PurePosixPath(path).suffix == ".sv"
            assert row["file_type"] == (
                "systemVerilogSource" if source else "vlt" if path == "lint.vlt" else "user"
            )
    plain = yaml.safe_load(fusesoc_core(interface(memories=()), device("ecp5-25k")))
    assert "memories" not in plain["filesets"]


@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (2, 1), (1, 3)])
def test_litex_connects_every_port_to_its_endpoint(inputs, outputs):
    text = litex_module(interface(inputs, outputs))
    assert "class MyNet(" in text
    sinks = ["sink"] if inputs == 1 else ["sink_audio", "sink1"]
    sources = ["source"] if outputs == 1 else ["source_audio", "source1", "source_a_b"]
    endpoints = re.findall(r"self\.(\w+) = stream\.Endpoint\(\[\(\"data\", 24\)\]\)", text)
    assert endpoints == [*sinks, "weights", *sources]
    ports = [*port_names("s", PORTS[:inputs]), "s_axis_weights"]
    for name, endpoint in zip(ports, [*sinks, "weights"], strict=True):
        for way, signal in (("i", "data"), ("i", "valid"), ("o", "ready"), ("i", "last")):
            assert f"{way}_{name}_t{signal}=self.{endpoint}.{signal}," in text
    for name, endpoint in zip(port_names("m", PORTS[:outputs]), sources, strict=True):
        assert f"o_{name}_tdata=self.{endpoint}.data," in text
        assert f"i_{name}_tready=self.{endpoint}.ready," in text


@pytest.mark.parametrize("name", ["ice40-up5k", "ice40-hx8k", "ecp5-25k"])
def test_litex_takes_dsp_slices_of_ice40_as_they_are(name):
    files = integration_files(interface(), device(name), 24.0)
    added = files.get("litex/my_net_slices.v", "")
    assert ("`define RLX_ICE40" in added) == (name == "ice40-up5k")
    lines = files["litex/my_net_litex.py"]
    assert ("_synth_opts" in lines) == (name == "ice40-up5k")
    if name == "ice40-up5k":
        start, end = (
            lines.index("        toolchain = "),
            lines.index("        for source in SOURCES"),
        )
        toolchain = type("LatticeIceStormToolchain", (), {"_synth_opts": "-dsp -abc9"})()
        sources = []
        platform = SimpleNamespace(toolchain=toolchain, add_source=sources.append)
        exec(dedent(lines[start:end]), {"platform": platform, "ROOT": PurePosixPath("hw")})
        assert toolchain._synth_opts.split() == ["-abc9"]
        assert sources == ["hw/litex/my_net_slices.v"]


def test_only_cores_without_memory_files_are_packaged_for_vivado():
    for memories, packaged in (((), True), (("mem/a.mem",), False)):
        files = integration_files(interface(memories=memories), device("zynq-7020"), 100.0)
        assert ("synth/package_ip.tcl" in files) == packaged


def test_the_script_adds_the_pll_of_a_board():
    for mhz, defined in ((25.0, False), (50.0, True)):
        script = integration_files(interface(), device("ulx3s-85f"), mhz)["synth/ulx3s-85f.ys"]
        assert ("RLX_PLL" in script) == defined
