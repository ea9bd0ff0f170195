"""Prices of foldings in a search, beside the costs of the cells that are built for them."""

import numpy as np
import pytest

from rlx.ir import Graph, i8
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QConv2d, QDense, Window
from rlx_fpga.architectures.dataflow.pipeline import Pipeline
from rlx_fpga.architectures.dataflow.price import amount_of
from rlx_fpga.architectures.dataflow.staged import staged_graph
from rlx_fpga.cells.multiply import PACKINGS
from rlx_fpga.cells.rom import STORES
from rlx_fpga.cost.costs import Resources
from rlx_fpga.devices import device
from rlx_fpga.explore.solver import Amount

SCALES = np.random.default_rng(1).uniform(0.001, 0.004, 24)


def staged(shape, op, weights, bias):
    graph = Graph("g")
    x = graph.input("x", i8(*shape))
    graph.output(graph.apply(op, x, graph.constant(weights), graph.constant(bias)), names=["y"])
    return staged_graph(graph)


def conv(channels, outputs, kernel=3, groups=1, size=9, scale=127):
    rng = np.random.default_rng(0)
    shape = (outputs, kernel, kernel, channels // groups)
    weights = rng.integers(-scale, scale + 1, shape).astype(np.int8)
    bias = rng.integers(-900, 900, outputs).astype(np.int32)
    op = QConv2d(
        window=Window.same((size, size), (kernel, kernel)),
        groups=groups,
        x_zero_point=2,
        rescale=Rescale.of(*SCALES[:outputs]),
        zero_point=0,
    )
    return staged((1, size, size, channels), op, weights, bias)


def dense(terms, outputs):
    rng = np.random.default_rng(0)
    weights = rng.integers(-128, 128, (outputs, terms)).astype(np.int8)
    op = QDense(x_zero_point=0, rescale=Rescale.of(0.01), zero_point=0)
    return staged((1, terms), op, weights, np.zeros(outputs, np.int32))


PROGRAMS = {
    "convolution": conv(6, 10),
    "whole window": conv(1, 6),
    "pointwise": conv(12, 9, kernel=1),
    "ternary": conv(4, 6, scale=1),
    "depthwise": conv(12, 12, groups=12),
    "depthwise with a multiplier": conv(6, 12, groups=6),
    "dense": dense(30, 24),
    "deep": dense(600, 12),
}


@pytest.mark.parametrize("family", sorted(PACKINGS))
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_folding_costs_what_its_layer_says(name, family):
    (stage,) = PROGRAMS[name].stages
    folds = stage.choices(logic=True, few=0, packing=PACKINGS[family], store=STORES[family])
    assert len({fold.store for fold in folds}) > 1
    for fold in folds[:: 1 + len(folds) // 60]:
        assert stage.plan.cost(fold, family) == stage.plan.build(fold).cell.cost(family)


def test_a_layer_is_built_once_for_each_folding():
    program = PROGRAMS["pointwise"]
    (stage,) = program.stages
    one, other = stage.folds[:2]
    assert stage.layer(one) is stage.layer(one)
    assert Pipeline(program, {stage.name: other}).layers == [stage.layer(other)]


def test_logic_cells_are_what_is_short_where_a_cell_has_one_of_each():
    cells = Resources(lut=1000, ff=800, dsp=3, bram=2)
    assert amount_of(cells, device("ecp5-25k")) == Amount(3, 2, 1000)
    assert amount_of(cells, device("artix7-35t")) == Amount(3, 4, 1000)
    assert amount_of(cells, device("ice40-up5k")) == Amount(3, 2, cells.logic_cells)
    assert cells.logic_cells > 1000
