"""Ops of one tap, one beat, one output, one channel: nothing of a netlist may have no bits."""

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from rlx.driver.driver import emit, lower
from rlx.driver.reference import random_inputs, reference_outputs
from rlx.ir import Graph, i8
from rlx.ir.module import GraphModule, Stage
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import Q_OPS, QAveragePool2d, QClamp, QConcat, QDense, QMean, Window
from rlx.support.errors import EmitError, UnsupportedOpError
from rlx_fpga import TARGET, FpgaOptions
from rlx_fpga.architectures import ARCHITECTURES
from rlx_fpga.architectures.choice import build
from rlx_fpga.packaging.netlist import sources_of
from rlx_fpga.target import interface_of
from rlx_sim.hardware.verilator import lint
from strategies import STRATEGIES

DRAWN = 12


def graph_of(op, *shapes, constants=()):
    graph = Graph("small")
    operands = [graph.input(f"x{n}", i8(*shape)) for n, shape in enumerate(shapes)]
    graph.output(graph.apply(op, *operands, *map(graph.constant, constants)))
    return graph


def joined():
    """Return two branches joined along channels, each with one beat a pixel."""
    graph = Graph("small")
    x = graph.input("x", i8(1, 2, 2, 1))
    branches = [graph.apply(QClamp(low=low), x) for low in (0, 5)]
    graph.output(graph.apply(QConcat(axis=3), *branches))
    return graph


SCALE = {"rescale": Rescale.of(0.01), "zero_point": 0, "x_zero_point": 0}
NETWORKS = {
    "pool of one tap": lambda: graph_of(QAveragePool2d(window=Window((1, 1))), (1, 2, 2, 1)),
    "padded pool of one pixel": lambda: graph_of(
        QAveragePool2d(window=Window.same((1, 1), (3, 3))), (1, 1, 1, 1)
    ),
    "mean of one": lambda: graph_of(QMean(axes=(1,), **SCALE), (1, 1, 1)),
    "dense, 1 to 1": lambda: graph_of(
        QDense(**SCALE), (1, 1), constants=[np.ones((1, 1), np.int8), np.ones(1, np.int32)]
    ),
    "concatenation of one beat each": joined,
}
OPS = {op.name: op for op in Q_OPS}


@cache
def smallest(name):
    """Return a network, or the graph with the fewest elements that was drawn for an op."""
    if name in NETWORKS:
        return NETWORKS[name]()
    found = []

    @settings(
        max_examples=DRAWN, phases=(Phase.generate,), suppress_health_check=list(HealthCheck),
        derandomize=True, database=None,
    )  # fmt: skip
    @given(STRATEGIES[OPS[name]](size=1))
    def collect(case):
        found.append(case.graph)

    collect()
    return min(found, key=lambda graph: sum(v.type.size for n in graph.nodes for v in n.results))


def options_of(architecture):
    return FpgaOptions(architecture=architecture, prefix="net")


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", [*NETWORKS, *OPS])
def test_every_signal_has_bits(name, architecture):
    options = options_of(architecture)
    try:
        module = lower(GraphModule(smallest(name), Stage.MIR), TARGET, options=options).module
        core = build(module, options)
    except (UnsupportedOpError, EmitError):
        return
    sources = sources_of(core.component, interface_of(core, "net"))
    assert "[-1:0]" not in "".join((sources.core, *sources.modules.values()))


@pytest.mark.sim
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", [*NETWORKS, *OPS])
def test_small_designs_are_lint_clean(name, architecture, tmp_path):
    module, out = GraphModule(smallest(name), Stage.MIR), tmp_path / "out"
    golden = reference_outputs(module.graph, random_inputs(module.graph, 1))
    try:
        emit(module, TARGET, out, options=options_of(architecture), golden=golden)
    except (UnsupportedOpError, EmitError):
        return
    ports = json.loads((out / "report.json").read_text())["interface"]
    lint(["lint.vlt", *ports["sources"]], ports["top"], cwd=out)
