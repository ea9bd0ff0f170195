"""Layouts of waveforms: every signal that they name is in the waveform, for both benches."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from rlx.driver import driver
from rlx.ir import DType, Graph, TensorType
from rlx.ir.module import GraphModule, Stage
from rlx.ops.q import QClamp
from rlx.support.errors import SimulationError
from rlx.support.files.golden import read_golden
from rlx.support.process import run
from rlx.targets import target
from rlx_fpga import FpgaOptions
from rlx_sim.hardware import icarus, verilator
from rlx_sim.hardware.fpga import verify_fpga
from rlx_sim.hardware.plain import plain_folder
from rlx_sim.hardware.testbench import _sources
from support.networks.dense_designs import DESIGNS, dense

HOSTILE = "conv; exit # \n-[*]@22 $end"
OPTIONS = {
    **DESIGNS,
    "wide": {"dsp": 4, "device": "ecp5-25k", "stream_bits": 32, "control": "axi-lite"},
}
"""Every architecture, weights from each place, and ports of another width."""


def clamp():
    """A layer that the model calls :data:`HOSTILE`."""
    graph = Graph("net")
    x = graph.input("x", TensorType((1, 4, 2), DType.I8))
    graph.output(graph.apply(QClamp(low=-50, high=90), x, name=HOSTILE))
    return GraphModule(graph, Stage.MIR)


@pytest.mark.parametrize(("options", "said"), [(("--trace-fst",), True), (("--trace",), False)])
def test_headers_that_a_compressed_waveform_needs_are_named(options, said, tmp_path, monkeypatch):
    """As where lz4.h is not installed."""

    def refused(argv, **settings):
        raise SimulationError("fatal error: lz4.h: No such file", hint=settings["hint"])

    monkeypatch.setattr(verilator, "run", refused)
    found = verilator.Verilator(tmp_path, None, "5.048")
    monkeypatch.setattr(verilator, "find_verilator", lambda: found)
    with pytest.raises(SimulationError) as caught:
        verilator.build((), "top", cwd=tmp_path, output=tmp_path, options=options)
    assert ("apt-get install zlib1g-dev liblz4-dev" in str(caught.value)) == said


@pytest.fixture(scope="module")
def designs(tmp_path_factory):
    root = tmp_path_factory.mktemp("waves")
    for name, options in OPTIONS.items():
        driver.emit(dense(), target.load("fpga"), root / name, options=FpgaOptions(**options))
    return root


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    root = tmp_path_factory.mktemp("named") / "net"
    options = FpgaOptions(device="ecp5-25k")
    driver.emit(clamp(), target.load("fpga"), root, options=options)
    return root


def waveform(path):
    """Return the variables of a VCD file, as GTKWave calls them."""
    # The reader of pyvcd refuses the scopes that simulators make, such as $rootio.
    found, scopes = set(), []
    with path.open() as lines:
        for words in map(str.split, lines):
            if words[:1] == ["$scope"]:
                scopes.append(words[2])
            elif words[:1] == ["$upscope"]:
                scopes.pop()
            elif words[:1] == ["$var"]:
                found.add(".".join([*scopes, "".join(words[4:-1])]))
            elif words[:1] == ["$enddefinitions"]:
                return found
    return found


def gtkwave(path):
    """Return the groups of a save file in order, and the signals of each."""
    found = {}
    lines = iter(path.read_text().splitlines())
    for line in lines:
        if line == "@800200":
            title = next(lines)
            assert title[0] == "-"
            assert title not in found
            found[title] = []
        elif line == "@1000200":
            assert next(lines) == title
        elif not line.startswith(("[*]", "@")):
            found[title].append(line)
    return found


def surfer(path):
    """Return the same of a command file; every line must be a command or a comment."""
    found = {}
    for line in path.read_text().splitlines():
        command = re.fullmatch(r"(?:#.*|(zoom_fit)|(divider_add|variable_add) ([\w.]+))?", line)
        assert command, line
        if command[2] == "divider_add":
            assert "." not in command[3]
            assert command[3] not in found
            group = found[command[3]] = []
        elif command[2]:
            group.append(command[3])
    return found


def in_waveform(folder, name, path):
    """Check both layouts called ``name`` against a waveform; return their groups."""
    there = waveform(path)
    save, commands = (
        read(folder / "tb" / f"{name}.{kind}")
        for read, kind in ((gtkwave, "gtkw"), (surfer, "sucl"))
    )
    signals = [one for group in save.values() for one in group]
    assert len(signals) == len(set(signals)) > 10
    assert set(signals) <= there
    plain = [[re.sub(r"\[\d+:0\]$", "", one) for one in group] for group in save.values()]
    assert plain == list(commands.values())
    return save


def run_testbench(folder, build, output):
    """Run the testbench with a waveform, and return the path of that."""
    top, files = _sources(folder)
    with plain_folder(folder) as plain:
        argv = [*build(files, top, cwd=plain, output=output, timeout_s=600), "+waves"]
        text = run(argv, cwd=plain, timeout_s=600).stdout
        waves = plain / f"{top}.vcd"
        assert "PASS" in text
        return waves.rename(output / waves.name)


@pytest.mark.sim
@pytest.mark.parametrize("name", OPTIONS)
def test_layouts_of_the_testbench_are_in_its_waveform(designs, tmp_path, name):
    folder = designs / name
    waves = run_testbench(folder, icarus.build_testbench, tmp_path)
    groups = in_waveform(folder, "net_tb", waves)
    report = json.loads((folder / "report.json").read_text())
    titles = [title.partition(":")[0].removeprefix("-") for title in groups]
    assert titles[:2] == ["clock_and_reset", "s_axis"]
    parts = titles[titles.index("s_axis") + 1 : titles.index("m_axis")]
    if report["architecture"] != "engine":
        layers = [row["name"] for row in report["layers"]]
        assert [name for name in parts if name in layers] == layers
    if report["architecture"] == "dataflow":
        assert parts[0] == "in_register"
        (first, *_) = report["layers"]
        dut = f"net_tb.dut.u_core.u_{first['instance']}"
        assert {f"{dut}.{way}_{one}" for way in ("in", "out") for one in ("valid", "ready")} <= set(
            groups[f"-{first['name']}: q.dense"]
        )
    assert ("control" in titles) == ("control" in OPTIONS[name])


@pytest.mark.sim
def test_the_testbench_writes_a_waveform_under_verilator(named, tmp_path):
    def build(files, top, *, cwd, output, timeout_s):
        kind = ("--binary", "--timing", "--trace")
        program = verilator._build(kind, files, top, cwd, output, (), timeout_s, None)
        return (str(program),)

    in_waveform(named, "net_tb", run_testbench(named, build, tmp_path))


@pytest.mark.sim
@pytest.mark.parametrize("name", ["wide", "engine"])
def test_layouts_of_the_harness_are_in_its_waveform(designs, tmp_path, name):
    folder, waves = designs / name, tmp_path / "out.vcd"
    vectors = read_golden(folder).first(2)
    found = verify_fpga(folder, vectors, timeout_s=600, cocotb=False, waves=waves)
    assert found["layouts"] == [str(folder / f"tb/net_top.{kind}") for kind in ("gtkw", "sucl")]
    in_waveform(folder, "net_top", waves)


def test_names_of_a_model_cannot_become_lines_or_commands(named):
    text = "conv"
    save = gtkwave(named / "tb" / "net_top.gtkw")
    assert list(save)[3] == f"-{text}: q.clamp"
    commands = surfer(named / "tb" / "net_top.sucl")
    assert list(commands)[3] == f"{text}_q_clamp".replace("-", "_")
    assert HOSTILE not in (named / "README.md").read_text()


def test_layouts_are_the_same_again(named, tmp_path):
    options = FpgaOptions(device="ecp5-25k")
    driver.emit(clamp(), target.load("fpga"), tmp_path / "net", options=options)
    for name in ("net_top.gtkw", "net_top.sucl", "net_tb.gtkw", "net_tb.sucl"):
        again = (tmp_path / "net" / "tb" / name).read_bytes()
        assert again == (named / "tb" / name).read_bytes()
        assert np.frombuffer(again, np.uint8).max() < 128
