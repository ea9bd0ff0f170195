"""The emitted testbench in SystemVerilog: it passes, and a wrong golden vector makes it fail."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rlx import emit, target
from rlx.cli import main
from rlx.errors import OutputError, SimulationError
from rlx.ir import DType, Graph, TensorType
from rlx.ir.module import GraphModule, Stage
from rlx.ops.q import QClamp
from rlx_fpga import FpgaOptions
from rlx_sim.testbench import run_testbench, verdict_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    graph = Graph("net")
    x = graph.input("x", TensorType((1, 4, 2), DType.I8))
    graph.output(graph.apply(QClamp(low=-50, high=90), x))
    root = tmp_path_factory.mktemp("testbench") / "net"
    emit.emit(
        GraphModule(graph, Stage.MIR), target.load("fpga"), root,
        options=FpgaOptions(control="axi-lite", device="ecp5-25k"),
    )  # fmt: skip
    return root


@pytest.mark.sim
def test_testbench_passes_and_tells_what_the_other_bench_tells(folder, capsys):
    assert main(["verify", str(folder), "--with", "verilator,testbench", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["testbench"] == {
        "inputs": 16, "equal": 16, "latency": found["latency"], "interval": found["interval"],
    }  # fmt: skip


@pytest.mark.sim
def test_one_wrong_code_is_found(folder):
    path = folder / "golden" / "output_0.npy"
    good = path.read_bytes()
    codes = np.load(path)
    codes.flat[-1] ^= 1
    try:
        np.save(path, codes)
        found = run_testbench(folder)
    finally:
        path.write_bytes(good)
    assert not found.passed
    assert found.verdict == "FAIL: 1 beats are wrong"
    assert "of frame 15 is" in found.log


def test_missing_verdict_and_testbench_are_told(folder, tmp_path):
    with pytest.raises(SimulationError, match=r"^testbench: came to no verdict"):
        verdict_of("Segmentation fault")
    (tmp_path / "report.json").write_bytes((folder / "report.json").read_bytes())
    with pytest.raises(OutputError, match=r"holds no testbench tb/net_tb.sv"):
        run_testbench(tmp_path)
