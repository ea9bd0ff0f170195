"""ParallelDesign designs: a frame in every cycle, none lost, whatever pauses."""

import numpy as np
import pytest
from targets.fpga.harness import drive

from rlx.driver import driver
from rlx.ir import Graph, i8
from rlx.ir.evaluate import evaluate
from rlx.ir.module import GraphModule, Stage
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    QAdd,
    QArgmax,
    QAveragePool2d,
    QDense,
    QMaxPool2d,
    QMean,
    QMul,
    QReshape,
    Window,
)
from rlx.support.errors import UsageError
from rlx.targets import target
from rlx_fpga import FpgaOptions
from rlx_fpga.architectures import architecture
from rlx_sim.verify import FPGA
from support.messages import raises


def network():
    """Return a pool and two dense layers, one around the other, with two outputs."""
    rng = np.random.default_rng(0)
    graph = Graph("tiny")
    x = graph.input("x", i8(1, 4, 4, 1))
    y = graph.apply(QMaxPool2d(window=Window((2, 2), (2, 2))), x)
    y = graph.apply(QReshape(shape=(1, 4)), y)
    w = graph.constant(rng.integers(-127, 128, (4, 4)).astype(np.int8))
    b = graph.constant(rng.integers(-500, 500, 4).astype(np.int32))
    op = QDense(x_zero_point=-3, rescale=Rescale.of(0.004, 0.003, 0.005, 0.006), zero_point=7)
    z = graph.apply(op, y, w, b)
    half = Rescale.of(0.5)
    add = QAdd(x_zero_point=-3, y_zero_point=7, x_rescale=half, y_rescale=half,
               rescale=Rescale.of(0.9 * 2.0**-19), zero_point=0)  # fmt: skip
    graph.output(z, graph.apply(add, y, z), names=["dense", "sum"])
    return graph


def choice():
    """Return averages of an image, their mean, and the argmax of its weighted squares."""
    graph = Graph("choice")
    x = graph.input("x", i8(1, 4, 4, 3))
    y = graph.apply(QAveragePool2d(window=Window.same((4, 4), (3, 3), (2, 2))), x)
    op = QMean(axes=(1, 2), x_zero_point=-5, rescale=Rescale.of(0.9).divided(4), zero_point=9)
    z = graph.apply(op, y)
    square = QMul(x_zero_point=9, y_zero_point=9, rescale=Rescale.of(0.02), zero_point=-128)
    weigh = QMul(x_zero_point=-128, y_zero_point=0, rescale=Rescale.of(0.01), zero_point=-128)
    weights = graph.constant(np.array([[80, 127, 100]], np.int8))
    y = graph.apply(weigh, graph.apply(square, z, z), weights)
    graph.output(z, graph.apply(QArgmax(), y), names=["mean", "place"])
    return graph


def core_of(graph):
    return architecture("parallel").build(GraphModule(graph, Stage.MIR), FpgaOptions())


@pytest.mark.parametrize("make", [network, choice])
@pytest.mark.parametrize("stalls", [(0.0, 0.0), (0.4, 0.5)])
@pytest.mark.sim
def test_frames_keep_their_order_and_none_is_lost(stalls, make):
    graph = make()
    (x,) = graph.inputs
    frames = np.random.default_rng(1).integers(-128, 128, (60, x.type.size)).astype(np.int8)
    expected = [evaluate(graph, {"x": frame.reshape(x.type.static_shape)}) for frame in frames]
    design = core_of(graph).component
    run = drive(design, {"i": frames}, {"o0": 60, "o1": 60}, stall_in=stalls[0],
                stall_out=stalls[1])  # fmt: skip
    for place, port in enumerate(("o0", "o1")):
        assert np.array_equal(run.outputs[port], [e[place].reshape(-1) for e in expected])
    if stalls == (0.0, 0.0):
        assert run.interval(1, "o0") == run.interval(1, "o1") == 1
        assert run.given["o0"][-1] - run.given["o0"][0] == 59


def test_report_has_the_style_and_its_cost():
    report = core_of(network()).report
    assert (report["architecture"], report["interval"], report["multipliers"]) == ("parallel", 1, 0)
    assert report["adders"] == sum(row["adders"] for row in report["layers"])
    assert {row["op"] for row in report["layers"]} == {
        "q.max_pool2d", "q.reshape", "q.dense", "q.add",
    }  # fmt: skip


@pytest.mark.sim
def test_emitted_folder_is_verified(tmp_path):
    module = GraphModule(choice(), Stage.MIR)
    options = FpgaOptions(architecture="parallel")
    driver.emit(module, target.load("fpga"), tmp_path / "out", options=options)
    found = FPGA.verify(tmp_path / "out", tools=["verilator"]).as_json()
    assert (found["inputs"], found["equal"], found["mismatches"]) == (16, 16, [])
    assert found["interval"] == found["predicted_interval"] == 1


def test_unknown_style_is_refused():
    with raises(UsageError):
        FpgaOptions(architecture="rolled")
