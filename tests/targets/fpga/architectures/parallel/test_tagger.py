"""A network of the kind that sorts jets of particles: 16 features, dense layers, 5 classes."""

from itertools import pairwise

import numpy as np
import pytest

from rlx.driver import driver
from rlx.ir import Graph, i8
from rlx.ir.module import GraphModule, Stage
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QArgmax, QDense
from rlx.targets import target
from rlx_fpga import FpgaOptions
from rlx_sim.synthesis.build import FPGA as BUILDER
from rlx_sim.verify import FPGA

SIZES = 16, 32, 16, 5
DEVICE = "artix7-100t"


def tagger():
    """Return a network with random weights of 6 bits, its logits, and their argmax."""
    rng = np.random.default_rng(0)
    graph = Graph("tagger")
    x = graph.input("x", i8(1, SIZES[0]))
    point = 0
    for inputs, outputs in pairwise(SIZES):
        w = graph.constant(rng.integers(-32, 32, (outputs, inputs)).astype(np.int8))
        b = graph.constant(rng.integers(-500, 500, outputs).astype(np.int32))
        scales = rng.uniform(0.9, 1.1, outputs) / (18 * inputs**0.5)
        last = outputs == SIZES[-1]
        op = QDense(x_zero_point=point, rescale=Rescale.of(*scales.tolist()),
                    zero_point=0 if last else -128)  # fmt: skip
        x, point = graph.apply(op, x, w, b), -128
    graph.output(x, graph.apply(QArgmax(), x), names=["logits", "class"])
    return graph


@pytest.fixture(scope="module")
def emitted(tmp_path_factory):
    out = tmp_path_factory.mktemp("tagger") / "out"
    module = GraphModule(tagger(), Stage.MIR)
    options = FpgaOptions(architecture="parallel", device=DEVICE)
    driver.emit(module, target.load("fpga"), out, options=options)
    return out


@pytest.mark.sim
def test_tagger_takes_a_frame_in_every_cycle(emitted):
    found = FPGA.verify(emitted, tools=["verilator"]).as_json()
    assert (found["inputs"], found["equal"], found["mismatches"]) == (16, 16, [])
    assert found["interval"] == found["predicted_interval"] == 1


@pytest.mark.synth
def test_cells_of_the_tagger_are_as_estimated(emitted):
    build = BUILDER.build(emitted, device=DEVICE, seeds=0)
    rows = {row["resource"]: (row["synthesis"], row["estimate"]) for row in build.resources}
    for resource in ("lut", "ff"):
        found, estimate = rows[resource]
        assert abs(estimate - found) <= 0.1 * found
    assert rows["dsp"] == rows["bram"] == (0, 0)
    # 20 lookup tables for each weight, requantizers, argmax and queues included.
    assert rows["lut"][0] <= 20_000
