"""Tools that read the emitted SystemVerilog: slang, which keeps to the standard, and Yosys.

Verilator and Icarus run the same designs in ``tests/sim``.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from pyslang import driver as slang

from rlx.ir import DType, Graph, TensorType
from rlx.ir.module import GraphModule, Stage
from rlx.ops.numerics.exponential import softmax_scaling
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QAdd, QConv2d, QSoftmax, Window
from rlx.support.process import run
from rlx_fpga import TARGET, FpgaOptions
from rlx_fpga.packaging.synthesis import find_yosys
from support.networks.dense_designs import DESIGNS, dense

BITS = {"files": 32, "netlist": 64, "parallel": 128, "engine": 32, "load": 64, "stream": 64}
"""Width of a DMA's streams, for designs of :data:`DESIGNS` behind an adapter."""

BOARDS = {
    "pll-ice40": ("icebreaker", 20e6),
    "pll-ecp5": ("ulx3s-85f", 60e6),
    "pll-xc7": ("arty-a7-35t", 80e6),
}
"""Boards, with clocks that their oscillators do not have."""

NOT_LOOKED_FOR = (
    # Operands have equal widths, so that the bits of sums and products depend on no sign.
    "sign-conversion", "arith-op-mismatch",
    # What an AXI master sends and the core does not need; ports that all cells of a kind have.
    "unused-net", "unused-port",
    # What the testbench does not look at.
    "empty-output-connection",
)  # fmt: skip
"""Warnings of slang that say nothing about these designs; all others are on."""


def shortcut():
    """Return a convolution with a shortcut, and a softmax: forks, queues, tables, a divider."""
    rng = np.random.default_rng(0)
    graph = Graph("net")
    x = graph.input("x", TensorType((1, 5, 5, 4), DType.I8))
    weights = graph.constant(rng.integers(-127, 128, (4, 3, 3, 4)).astype(np.int8))
    bias = graph.constant(rng.integers(-1000, 1000, 4).astype(np.int32))
    convolution = QConv2d(
        window=Window.same((5, 5), (3, 3)), x_zero_point=3, zero_point=3,
        rescale=Rescale.of(0.001, 0.002, 0.001, 0.003),
    )  # fmt: skip
    half = Rescale.of(0.5)
    add = QAdd(
        x_zero_point=3, y_zero_point=3, x_rescale=half, y_rescale=half,
        rescale=Rescale.of(0.9 * 2.0**-19), zero_point=3,
    )  # fmt: skip
    y = graph.apply(add, x, graph.apply(convolution, x, weights, bias))
    multiplier, shift, minimum = softmax_scaling(0.1)
    softmax = QSoftmax(multiplier=multiplier, left_shift=shift, diff_min=minimum)
    graph.output(graph.apply(softmax, y))
    return GraphModule(graph, Stage.MIR)


def emissions():
    """Yield a name, a network and options for each design."""
    for name, options in DESIGNS.items():
        yield name, dense, options
        yield f"{name}-dma", dense, {**options, "stream_bits": BITS[name]}
    for name, (device, clock) in BOARDS.items():
        yield name, dense, {"device": device, "clock": clock}
    for architecture in ("dataflow", "engine"):
        yield f"shortcut-{architecture}", shortcut, {"architecture": architecture}


EMISSIONS = {name: (network, options) for name, network, options in emissions()}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("readers")
    for name, (network, options) in EMISSIONS.items():
        for path, content in TARGET.emit(network(), FpgaOptions(**options)).files.items():
            file = root / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def sources(folder):
    return json.loads((folder / "report.json").read_text())["interface"]["sources"]


@pytest.fixture
def complaints(capfd, monkeypatch):
    """``complaints(folder, top, *files)`` returns what slang says about a design."""

    def check(folder, top, *files):
        monkeypatch.chdir(folder)
        checker = slang.Driver()
        checker.addStandardArgs()
        quiet = " ".join(f"-Wno-{name}" for name in NOT_LOOKED_FOR)
        options = f"slang --top {top} -Weverything {quiet} --timescale 1ns/1ns"
        assert checker.parseCommandLine(f"{options} {' '.join(files)}")
        assert checker.processOptions()
        assert checker.parseAllSources()
        passed = checker.runFullCompilation(True)
        captured = capfd.readouterr()
        assert passed or captured.err, "slang says what it found"
        return captured.out + captured.err

    return check


@pytest.mark.parametrize("name", EMISSIONS)
def test_slang_has_nothing_to_say(folders, complaints, name):
    folder = folders / name
    files = sources(folder)
    assert complaints(folder, "net_top", *files) == ""
    assert complaints(folder, "net_tb", *files, "tb/net_tb.sv") == ""
    assert complaints(folder, "net_top_pins", *files, "synth/net_top_pins.sv") == ""


@pytest.mark.parametrize("name", BOARDS)
def test_slang_has_nothing_to_say_about_the_pll(folders, complaints, name):
    file = "synth/net_pll.sv" if name == "pll-xc7" else "synth/net_top_pins.sv"
    # The vendor's cells, which drive its signals, are not defined in any file.
    undriven = ("-Wno-undriven-port", "-Wno-undriven-net", "-Wno-unused-def")
    options = ("-DRLX_PLL", "--ignore-unknown-modules", *undriven)
    assert complaints(folders / name, "net_pll", *options, *sources(folders / name), file) == ""


def test_slang_finds_what_breaks_the_standard(folders, complaints):
    folder = folders / "shortcut-dataflow"
    files = sources(folder)
    (queue,) = [path for path in files if "net_queue_" in path]
    text = (folder / queue).read_text()
    (folder / "wrong.sv").write_text(text.replace("always @", "always_ff @"))
    files[files.index(queue)] = "wrong.sv"
    found = complaints(folder, "net_top", *files)
    assert "wrong.sv:" in found
    assert "driven by always_ff procedure cannot be written to by any other process" in found


@pytest.mark.synth
@pytest.mark.parametrize("name", EMISSIONS)
def test_yosys_reads_every_design(folders, name):
    files = " ".join(sources(folders / name))
    script = f"read_verilog -sv {files}; hierarchy -check -top net_top; proc; check -assert"
    done = run([*find_yosys().command, "-p", script], cwd=folders / name, timeout_s=120)
    assert "Warning" not in done.stdout + done.stderr
