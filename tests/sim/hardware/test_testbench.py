"""The emitted testbench in SystemVerilog: it passes, and what is wrong makes it fail."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rlx.cli import main
from rlx.driver import driver
from rlx.ir import DType, Graph, TensorType
from rlx.ir.module import GraphModule, Stage
from rlx.ops.q import QClamp
from rlx.support.errors import OutputError, SimulationError, ToolMissingError
from rlx.targets import target
from rlx_fpga import FpgaOptions
from rlx_sim.hardware import icarus
from rlx_sim.hardware.icarus import find_icarus
from rlx_sim.hardware.testbench import SIMULATORS, run_testbench, verdict_of
from rlx_sim.toolchain import InstalledTool
from support.messages import raises
from support.networks.dense_designs import DESIGNS, dense

WEIGHTS_BY_STREAM = ("load", "stream")


def clamp():
    graph = Graph("net")
    x = graph.input("x", TensorType((1, 4, 2), DType.I8))
    graph.output(graph.apply(QClamp(low=-50, high=90), x))
    return GraphModule(graph, Stage.MIR)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("testbench") / "net"
    options = FpgaOptions(control="axi-lite", device="ecp5-25k")
    driver.emit(clamp(), target.load("fpga"), root, options=options)
    return root


@pytest.fixture(scope="module")
def designs(tmp_path_factory):
    root = tmp_path_factory.mktemp("designs")
    for name, options in DESIGNS.items():
        driver.emit(dense(), target.load("fpga"), root / name, options=FpgaOptions(**options))
    return root


@pytest.mark.sim
def test_testbench_reports_in_both_simulators_what_the_other_bench_reports(folder, capsys):
    wanted = "verilator,testbench,testbench:icarus"
    assert main(["verify", str(folder), "--with", wanted, "--frames", "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["testbench"] == found["testbench_icarus"] == {
        "inputs": 5, "equal": 5, "latency": found["latency"], "interval": found["interval"],
    }  # fmt: skip
    assert found["tools"]["icarus"] == find_icarus()[1]


@pytest.mark.sim
def test_only_the_named_simulator_runs(folder, capsys):
    argv = ["verify", str(folder), "--with", "testbench:icarus", "--no-cache", "--json"]
    assert main(argv) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["tools"]) == ["icarus"]
    assert found["lint"] == "not run"
    assert [(row["simulation"], row["equal"]) for row in found["runs"]] == [
        ("testbench, Icarus", 16)
    ]
    assert main([*argv, "--frames", "2"]) == 0
    few = json.loads(capsys.readouterr().out)
    assert (few["inputs"], few["equal"], few["runs"][0]["inputs"]) == (2, 2, 2)
    assert (few["latency"], few["interval"]) == (found["latency"], found["interval"])


@pytest.mark.sim
@pytest.mark.parametrize("name", DESIGNS)
def test_every_architecture_passes_in_icarus(designs, name):
    found = run_testbench(designs / name, simulator="icarus")
    assert found.passed, found.log
    report = json.loads((designs / name / "report.json").read_text())
    assert found.frames == 16
    assert found.interval == report["interval"]


@pytest.mark.sim
@pytest.mark.parametrize("name", WEIGHTS_BY_STREAM)
def test_weights_that_come_by_a_stream_pass_in_verilator(designs, name):
    found = run_testbench(designs / name)
    assert found.passed, found.log
    assert found.to_json() == run_testbench(designs / name, simulator="icarus").to_json()


@pytest.mark.sim
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_one_wrong_code_is_found(folder, simulator):
    path = folder / "golden" / "output_0.npy"
    good = path.read_bytes()
    values = np.load(path)
    values.flat[-1] ^= 1
    try:
        np.save(path, values)
        found = run_testbench(folder, simulator=simulator)
    finally:
        path.write_bytes(good)
    assert not found.passed
    assert found.verdict == "FAIL: 1 beats are wrong"
    assert "of frame 15 is" in found.log


@pytest.mark.sim
@pytest.mark.parametrize("name", WEIGHTS_BY_STREAM)
def test_one_wrong_weight_is_found(designs, name):
    path = designs / name / "mem" / "net_weights.bin"
    report = json.loads((designs / name / "report.json").read_text())
    good = path.read_bytes()
    values = bytearray(good)
    values[-report["interface"]["weights"]["lanes"]] ^= 0x40  # of the first output
    try:
        path.write_bytes(values)
        found = run_testbench(designs / name, simulator="icarus")
    finally:
        path.write_bytes(good)
    assert found.verdict.startswith("FAIL: ")


def test_missing_verdict_and_testbench_are_reported(folder, tmp_path):
    with pytest.raises(SimulationError, match=r"^testbench: printed no verdict"):
        verdict_of("Segmentation fault")
    (tmp_path / "report.json").write_bytes((folder / "report.json").read_bytes())
    with pytest.raises(OutputError, match=r"holds no testbench tb/net_tb.sv"):
        run_testbench(tmp_path)


def test_an_old_icarus_is_refused(monkeypatch):
    monkeypatch.setattr(
        icarus, "find", lambda name: InstalledTool(name, ("/bin/iverilog",), "10.3")
    )
    with raises(ToolMissingError):
        find_icarus()
