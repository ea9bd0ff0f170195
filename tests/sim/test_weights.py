"""Weights in files and weights in the netlist: the same bits, the same cells."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from rlx.driver import driver
from rlx.ir import DType, Graph, TensorType
from rlx.ir.module import GraphModule, Stage
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QDense
from rlx.support.files.golden import read_golden
from rlx.targets import target
from rlx_fpga import FpgaOptions
from rlx_sim.hardware.fpga import VerilatorHarness
from rlx_sim.protocol import compare
from rlx_sim.synthesis.build import FPGA

INPUTS, OUTPUTS = 12, 6


def network():
    rng = np.random.default_rng(0)
    graph = Graph("net")
    x = graph.input("x", TensorType((1, INPUTS), DType.I8))
    weights = graph.constant(rng.integers(-127, 128, (OUTPUTS, INPUTS)).astype(np.int8))
    bias = graph.constant(rng.integers(-1000, 1000, OUTPUTS).astype(np.int32))
    graph.output(
        graph.apply(
            QDense(x_zero_point=3, rescale=Rescale.of(0.003), zero_point=-5), x, weights, bias
        )
    )
    return GraphModule(graph, Stage.MIR)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("weights")
    for weights in ("mem", "inline"):
        for architecture, name in (("dataflow", weights), ("engine", f"{weights}_engine")):
            options = FpgaOptions(
                dsp=8, weights=weights, architecture=architecture, device="ecp5-25k"
            )
            driver.emit(network(), target.load("fpga"), root / name, options=options)
    return root


def text_of(folder):
    """Return the SystemVerilog of the core and its cells."""
    return "".join(path.read_text() for path in sorted((folder / "rtl").rglob("*.sv")))


@pytest.mark.slow
def test_files_hold_what_the_netlist_would(folders):
    interface = json.loads((folders / "mem" / "report.json").read_text())["interface"]
    assert interface["memories"]
    inline = text_of(folders / "inline")
    found = [
        [int(word, 16) for word in re.findall(r"words\[\d+\] = \d+'h([0-9a-f]+);", block)]
        for block in re.findall(r"initial begin\n(.*?)  end\n", inline, re.DOTALL)
        if "words[0]" in block
    ]
    stored = [
        [int(word, 16) for word in (folders / "mem" / path).read_text().split()]
        for path in interface["memories"]
    ]
    assert sorted(found) == sorted(stored)
    assert "words[0]" not in text_of(folders / "mem")
    assert not (folders / "inline" / "mem").exists()


@pytest.mark.sim
@pytest.mark.parametrize("weights", ["mem", "inline", "mem_engine"])
def test_simulation_gives_the_reference(folders, weights):
    vectors = read_golden(folders / weights)
    found = VerilatorHarness().simulate(folders / weights, vectors, timeout_s=600)
    assert compare("verilator", found, vectors) == []


@pytest.mark.synth
def test_cells_are_the_same(folders):
    found = []
    for weights in ("mem", "inline"):
        build = FPGA.build(folders / weights, seeds=0)
        found.append({row["resource"]: row["synthesis"] for row in build.resources})
    mem, inline = found
    # ABC may map the same logic to a few lookup tables more or less.
    assert abs(mem.pop("lut") - inline.pop("lut")) <= 8
    assert mem == inline
