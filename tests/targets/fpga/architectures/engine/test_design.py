"""Engine designs: frames in order, whatever pauses, and cycles as predicted."""

import math

import numpy as np
import pytest
from targets.fpga.harness import drive

from rlx import frontends
from rlx.driver import driver
from rlx.driver.reference import random_inputs, reference_outputs
from rlx.ir import Graph, i8
from rlx.ir.evaluate import evaluate
from rlx.ir.module import GraphModule, Stage
from rlx.ops.numerics.exponential import softmax_scaling
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import QAdd, QArgmax, QConv2d, QDense, QMaxPool2d, QReshape, QSoftmax, Window
from rlx.targets import target
from rlx_fpga import FpgaOptions
from rlx_fpga.architectures.engine.design import Engine
from rlx_fpga.architectures.engine.loader import stream_bytes
from rlx_fpga.architectures.engine.lower import assemble
from rlx_fpga.architectures.engine.program import Feed
from rlx_fpga.architectures.engine.report import report_of
from rlx_sim.hardware.fpga import VerilatorHarness
from rlx_sim.hardware.stream import Stalls
from rlx_sim.protocol import compare
from rlx_sim.verify import FPGA
from support import ROOT

TWICE = (Rounding.DOUBLE,) * 3
MIXED = (Rounding.EVEN, Rounding.DOUBLE, Rounding.ODD)
"""Roundings of the convolution, the sum and the dense layer of a network."""


def network(roundings=TWICE):
    """Return a padded convolution with a shortcut, a pool, a dense layer, softmax and an index.

    Where products are rounded once, factors are powers of two: they reach halves.
    """
    rng = np.random.default_rng(0)
    graph = Graph("tiny")
    x = graph.input("x", i8(1, 4, 4, 3))
    w = graph.constant(rng.integers(-127, 128, (3, 3, 3, 3)).astype(np.int8))
    b = graph.constant(rng.integers(-500, 500, 3).astype(np.int32))
    factors = (0.004, 0.003, 0.005), (0.9 * 2.0**-19,), (0.004,)
    first, second, third = (
        Rescale.of(*parts, rounding=rounding) if rounding is Rounding.DOUBLE
        else Rescale.of(*(2.0 ** round(math.log2(part)) for part in parts), rounding=rounding)
        for parts, rounding in zip(factors, roundings, strict=True)
    )  # fmt: skip
    convolution = QConv2d(window=Window.same((4, 4), (3, 3)), x_zero_point=-3, zero_point=7,
                          rescale=first)  # fmt: skip
    y = graph.apply(convolution, x, w, b)
    half = Rescale.of(0.5)
    add = QAdd(x_zero_point=-3, y_zero_point=7, x_rescale=half, y_rescale=half,
               rescale=second, zero_point=0)  # fmt: skip
    y = graph.apply(QMaxPool2d(window=Window((2, 2), (2, 2))), graph.apply(add, x, y))
    y = graph.apply(QReshape(shape=(1, 12)), y)
    w = graph.constant(rng.integers(-127, 128, (5, 12)).astype(np.int8))
    b = graph.constant(rng.integers(-500, 500, 5).astype(np.int32))
    dense = QDense(x_zero_point=0, rescale=third, zero_point=2)
    y = graph.apply(dense, y, w, b)
    multiplier, shift, minimum = softmax_scaling(0.1)
    softmax = QSoftmax(multiplier=multiplier, left_shift=shift, diff_min=minimum)
    graph.output(graph.apply(softmax, y), graph.apply(QArgmax(), y), names=["soft", "class"])
    return graph


@pytest.mark.sim
@pytest.mark.parametrize(
    ("stalls", "roundings"),
    [((0.0, 0.0), TWICE), ((0.3, 0.6), TWICE), ((0.0, 0.0), MIXED),
     ((0.0, 0.0), (Rounding.SINGLE, Rounding.EVEN, Rounding.EVEN))],
)  # fmt: skip
def test_frames_come_in_order_whatever_pauses(stalls, roundings):
    graph = network(roundings)
    frames = np.random.default_rng(1).integers(-128, 128, (3, 48)).astype(np.int8)
    expected = [evaluate(graph, {"x": x.reshape(1, 4, 4, 3)}) for x in frames]
    machine = Engine(assemble(graph, 9))
    run = drive(machine, {"i": frames.reshape(-1, 1)}, {"o0": 15, "o1": 3}, limit=40_000,
                stall_in=stalls[0], stall_out=stalls[1], idle=50)  # fmt: skip
    assert np.array_equal(run.outputs["o0"].reshape(3, 5), [e[0][0] for e in expected])
    assert np.array_equal(run.outputs["o1"].reshape(-1), [e[1][0] for e in expected])
    if stalls == (0.0, 0.0):
        assert run.interval(1, "o1") == machine.code.interval


@pytest.mark.sim
@pytest.mark.parametrize("two_ports", [None, 0])
@pytest.mark.parametrize("feed", Feed)
def test_weights_by_a_stream_and_one_port_change_no_bit(feed, two_ports):
    graph = network()
    frames = np.random.default_rng(2).integers(-128, 128, (2, 48)).astype(np.int8)
    expected = [evaluate(graph, {"x": x.reshape(1, 4, 4, 3)}) for x in frames]
    program = assemble(graph, 9, feed=feed, two_ports=two_ports)
    weights = np.frombuffer(stream_bytes(program), np.int8).reshape(-1, program.lanes)
    times = {Feed.BUILT_IN: 0, Feed.LOAD: 1, Feed.STREAM: 2}[feed]
    beats = {"w": np.concatenate([weights] * times)} if times else {}
    for stall in (0.0, 0.5):
        run = drive(Engine(program), {"i": frames.reshape(-1, 1), **beats}, {"o0": 10, "o1": 2},
                    limit=20_000, stall_in=stall, stall_out=stall, idle=50)  # fmt: skip
        assert np.array_equal(run.outputs["o0"].reshape(2, 5), [e[0][0] for e in expected])
        assert np.array_equal(run.outputs["o1"].reshape(-1), [e[1][0] for e in expected])
        assert stall or run.interval(1, "o1") == program.interval


@pytest.mark.sim
@pytest.mark.parametrize(
    ("weights", "roundings"), [("mem", TWICE), ("load", TWICE), ("stream", TWICE), ("mem", MIXED)]
)
def test_emitted_folder_is_verified(tmp_path, weights, roundings):
    options = FpgaOptions(architecture="engine", dsp=8, weights=weights, device="ice40-up5k")
    driver.emit(GraphModule(network(roundings), Stage.MIR), target.load("fpga"), tmp_path / "out",
              options=options)  # fmt: skip
    found = FPGA.verify(tmp_path / "out", tools=["verilator"]).as_json()
    assert (found["inputs"], found["equal"], found["mismatches"]) == (16, 16, [])
    assert found["interval"] == found["predicted_interval"]


def test_report_adds_up():
    machine = Engine(assemble(network(), 9))
    report = report_of(machine, FpgaOptions(architecture="engine", dsp=9))
    assert (report["architecture"], report["lanes"]) == ("engine", 4)
    # Four lanes, four for scaling, one for softmax.
    assert report["multipliers"] == 9
    assert report["dsp"] == 9
    run = sum(row["cycles"] for row in report["layers"])
    # Both outputs have a layer of their own.
    assert report["interval"] == 48 + 1 + run


@pytest.mark.synth
@pytest.mark.parametrize("device", ["ice40-up5k", "ecp5-25k", "artix7-35t"])
def test_synthesis_counts_what_was_estimated(device):
    module = frontends.load(ROOT / "examples" / "mnist" / "tinyconv.rlx")
    options = FpgaOptions(architecture="engine", device=device, synth=True)
    fpga = target.load("fpga")
    report = fpga.emit(driver.lower(module, fpga, options=options).module, options).report
    found = report["synthesis"]
    assert (report["dsp"], report["bram"]) == (found["dsp"], found["bram"])
    assert report["lut"] == pytest.approx(found["lut"], rel=0.1)
    assert report["ff"] == pytest.approx(found["ff"], rel=0.15)


def test_results_may_overwrite_operands():
    program = assemble(network(), 9)
    # The sum takes the place of one of its operands: input and convolution alone are alive.
    assert (program.memory, program.span) == (96, 128)


def simulated(path, tmp_path, frames=2, stalls=None, **options):
    """Emit a network, simulate it, and return its report if every bit is right."""
    module = frontends.load(path)
    golden = reference_outputs(module.graph, random_inputs(module.graph, frames))
    chosen = FpgaOptions(architecture="engine", prefix="net", **options)
    emission = driver.emit(module, target.load("fpga"), tmp_path / "out", options=chosen,
                         golden=golden)  # fmt: skip
    found = VerilatorHarness(stalls).simulate(tmp_path / "out", golden, timeout_s=600)
    assert compare("verilator", found, golden) == []
    if stalls is None and frames > 1:
        assert found.interval == emission.report["interval"]
    return emission.report


@pytest.mark.sim
def test_tinyconv_on_the_multipliers_of_an_up5k(tmp_path):
    path = ROOT / "examples" / "mnist" / "tinyconv.rlx"
    assert simulated(path, tmp_path, dsp=8)["interval"] <= 56_200


@pytest.mark.models
@pytest.mark.sim
def test_keyword_spotting_on_the_multipliers_of_an_ecp5_25k(shared_models, tmp_path):
    path = shared_models / "kws_ref_model.tflite"
    assert simulated(path, tmp_path, dsp=28)["interval"] <= 445_000


UP5K = {
    "kws_ref_model.tflite": (2, 1_570_000),
    "ad01_int8.tflite": (2, 137_000),
    "vww_96_int8.tflite": (1, 2_430_000),
    "pretrainedResnet_quant.tflite": (1, 6_480_000),
}
"""Frames, and the most cycles, of networks whose weights do not fit an iCE40 UP5K."""


@pytest.mark.models
@pytest.mark.sim
@pytest.mark.parametrize("model", UP5K)
def test_networks_of_mlperf_tiny_on_an_up5k_that_is_sent_their_weights(
    model, shared_models, tmp_path
):
    frames, cycles = UP5K[model]
    # Keyword spotting has to wait for weights, too.
    stalls = Stalls(seed=3, inputs=60, outputs=60) if model.startswith("kws") else None
    report = simulated(shared_models / model, tmp_path, frames, stalls, device="ice40-up5k",
                       weights="stream")  # fmt: skip
    assert report["interval"] <= cycles
    assert report["bram"] <= 30
    assert report["spram"] <= 4
    assert report["dsp"] <= 8
