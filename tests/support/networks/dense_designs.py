"""Two dense layers as hardware, by every architecture and with weights from each place."""

import numpy as np

from rlx.ir import DType, Graph, TensorType
from rlx.ir.module import GraphModule, Stage
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QDense

DESIGNS = {
    "files": {"dsp": 4, "device": "ecp5-25k", "weights": "mem"},
    "netlist": {"dsp": 4, "device": "artix7-35t", "weights": "inline", "control": "axi-lite"},
    "parallel": {"architecture": "parallel", "device": "ecp5-85k"},
    "engine": {"architecture": "engine", "device": "ice40-up5k"},
    "load": {"architecture": "engine", "device": "ice40-up5k", "weights": "load"},
    "stream": {"architecture": "engine", "device": "ice40-up5k", "weights": "stream",
               "control": "axi-lite"},
}  # fmt: skip
"""Options of the designs of :func:`dense`: each architecture, and weights from each place."""


def dense(sizes=((12, 6), (6, 5))):
    rng = np.random.default_rng(0)
    graph = Graph("net")
    x = graph.input("x", TensorType((1, sizes[0][0]), DType.I8))
    for inputs, outputs in sizes:
        weights = graph.constant(rng.integers(-127, 128, (outputs, inputs)).astype(np.int8))
        bias = graph.constant(rng.integers(-1000, 1000, outputs).astype(np.int32))
        layer = QDense(x_zero_point=3, rescale=Rescale.of(0.003), zero_point=3)
        x = graph.apply(layer, x, weights, bias)
    graph.output(x)
    return GraphModule(graph, Stage.MIR)
