"""The choices of a stage: each folding in every place where its products and weights may be."""

import numpy as np
import pytest

from rlx.ir import Graph, i8
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QClamp, QDense, QReshape
from rlx.support.errors import EmitError
from rlx_fpga.architectures.dataflow.staged import MAX_INPUT_LANES, staged_graph
from rlx_fpga.cells.multiply import Packing
from rlx_fpga.cells.rom import Store
from support.messages import raises


def dense(outputs, terms=4):
    graph = Graph("g")
    weights = np.arange(outputs * terms, dtype=np.int8).reshape(outputs, terms) - 90
    op = QDense(x_zero_point=0, rescale=Rescale.of(0.01), zero_point=0)
    constants = [graph.constant(weights), graph.constant(np.zeros(outputs, np.int32))]
    graph.output(graph.apply(op, graph.input("x", i8(1, terms)), *constants))
    (stage,) = staged_graph(graph).stages
    return stage


def choices(stage, *, logic=False, few=0, packing=Packing.NONE, store=Store.FREE):
    return stage.choices(logic=logic, few=few, packing=packing, store=store)


def test_without_lookup_tables_there_are_the_foldings_of_the_plan():
    stage = dense(6)
    assert choices(stage) == stage.folds
    stored = choices(stage, store=Store.TABLES)
    assert {fold.store for fold in stored} == {Store.TABLES}
    assert [fold.multipliers for fold in stored] == [fold.multipliers for fold in stage.folds]


def test_with_lookup_tables_each_folding_has_four_forms():
    """Products in slices or in logic, weights as the device has them or in tables."""
    stage = dense(6)
    found = choices(stage, logic=True)
    assert len(found) == len(set(found)) == 4 * len(stage.folds)
    for fold in stage.folds:
        forms = {
            (one.products, one.logic, one.multipliers, one.store)
            for one in found
            if (one.pe, one.simd, one.beat_cycles, one.drain_lanes)
            == (fold.pe, fold.simd, fold.beat_cycles, fold.drain_lanes)
        }
        products, rest = fold.products, fold.multipliers - fold.products
        assert forms == {
            (products, 0, products + rest, Store.FREE),
            (products, 0, products + rest, Store.TABLES),
            (0, products, rest, Store.FREE),
            (0, products, rest, Store.TABLES),
        }


@pytest.mark.parametrize("few", [0, 1, 2, 24])
def test_few_products_may_be_made_of_logic_without_being_asked(few):
    stage = dense(6)
    found = choices(stage, few=few)
    spared = [fold for fold in found if fold.logic]
    assert {fold.logic for fold in spared} == {f.products for f in stage.folds if f.products <= few}
    assert found[: len(stage.folds)] == stage.folds
    assert {fold.store for fold in found} == {Store.FREE}


def test_pairs_share_a_slice_but_not_in_logic():
    stage = dense(6)
    found = choices(stage, logic=True, packing=Packing.INDEPENDENT)
    for fold in found:
        assert (fold.packing is Packing.INDEPENDENT) == (fold.products > 1)
    plain = {(f.pe, f.simd, f.beat_cycles, f.drain_lanes): f.multipliers for f in stage.folds}
    packed = [fold for fold in found if fold.products and fold.store is Store.FREE]
    assert [plain[f.pe, f.simd, f.beat_cycles, f.drain_lanes] - f.multipliers for f in packed] == [
        f.products // 2 for f in packed
    ]


def test_a_layer_without_products_has_one_form():
    graph = Graph("g")
    graph.output(graph.apply(QClamp(low=0), graph.input("x", i8(2, 6))))
    (stage,) = staged_graph(graph).stages
    found = choices(stage, logic=True, few=9, packing=Packing.INDEPENDENT, store=Store.TABLES)
    assert found == stage.folds


def test_renamings_lead_to_the_stream_that_they_rename():
    graph = Graph("g")
    x = graph.input("x", i8(2, 6))
    flat = graph.apply(QReshape(shape=(12,)), graph.apply(QReshape(shape=(3, 4)), x))
    y = graph.apply(QClamp(low=0), flat)
    graph.output(graph.apply(QReshape(shape=(4, 3)), y), flat)
    program = staged_graph(graph)
    (stage,) = program.stages
    assert (stage.name, stage.sources) == ("clamp", (x,))
    assert program.outputs == (y, x)


@pytest.mark.parametrize(
    ("shape", "allowed"),
    [
        ((1, 1, MAX_INPUT_LANES), True),
        ((1, 1, MAX_INPUT_LANES + 1), False),
        ((1, MAX_INPUT_LANES + 1), True),
    ],
)
def test_only_pixels_have_a_limit_of_channels(shape, allowed):
    graph = Graph("g")
    graph.output(graph.apply(QClamp(low=0), graph.input("x", i8(*shape))))
    if allowed:
        assert len(staged_graph(graph).stages) == 1
        return
    with raises(EmitError):
        staged_graph(graph)
