import numpy as np
import pytest

from rlx.ir import Graph, Refusal, i8
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import (
    Q_OPS,
    QArgmax,
    QClamp,
    QConcat,
    QConv2d,
    QDense,
    QMean,
    QMul,
    QPrelu,
    QReshape,
    QTranspose,
    Window,
)
from rlx.support.errors import UnsupportedOpError
from rlx_fpga.architectures.choice import lowering
from rlx_fpga.architectures.dataflow.lower import RULES, Alias
from rlx_fpga.architectures.dataflow.lower.weighted import DepthwiseConvolution, Drain, Matrix
from support.messages import raises

SCALE = {"rescale": Rescale.of(0.01), "zero_point": 0}


def plan(op, *shapes, constants=()):
    graph = Graph("g")
    operands = [graph.input(f"x{n}", i8(*shape)) for n, shape in enumerate(shapes)]
    operands += [graph.constant(c) for c in constants]
    return RULES[type(op)](graph.append(op, *operands, name="node"))


def conv(channels, outputs, *, groups=1, kernel=(1, 1), stride=(1, 1), scale=0.01, weight=1):
    rescale = Rescale.of(scale)
    window = Window(kernel, stride)
    op = QConv2d(window=window, groups=groups, x_zero_point=0, rescale=rescale, zero_point=0)
    weights = np.full((outputs, *kernel, channels // groups), weight, np.int8)
    return plan(op, (1, 4, 4, channels), constants=(weights, np.zeros(outputs, np.int32)))


@pytest.mark.parametrize("op", Q_OPS, ids=lambda op: op.name)
def test_every_integer_op_has_a_rule_or_a_reason(op):
    assert RULES.knows(op)


@pytest.mark.parametrize("rounding", [Rounding.EVEN, Rounding.ODD, Rounding.FLOAT32])
def test_only_shifts_and_additions_do_not_round_once(rounding):
    graph = Graph("g")
    rescale = Rescale.of(0.5, rounding=rounding)
    op = QDense(x_zero_point=0, rescale=rescale, zero_point=0)
    weights = graph.constant(np.ones((2, 4), np.int8)), graph.constant(np.zeros(2, np.int32))
    node = graph.append(op, graph.input("x", i8(1, 4)), *weights, name="node")
    refusing = ["engine", "parallel"] if rounding is Rounding.FLOAT32 else ["parallel"]
    others = [name for name in ("dataflow", "engine", "parallel") if name not in refusing]
    for name in others:
        assert not isinstance(lowering(node, name), Refusal)
    for name in refusing:
        refusal = lowering(node, name)
        assert isinstance(refusal, Refusal)
        assert refusal.hint == f"use --architecture {' or '.join(others)}"


def test_conv_is_depthwise_or_a_matrix():
    assert isinstance(conv(6, 12, groups=6), DepthwiseConvolution)
    assert isinstance(conv(6, 12, groups=3), Matrix)
    assert isinstance(conv(1, 4), Matrix)


def test_grouped_convolution_becomes_a_full_one():
    weights = conv(4, 6, groups=2).weights
    assert weights.tolist() == [[1, 1, 0, 0]] * 3 + [[0, 0, 1, 1]] * 3


def test_a_window_stands_only_where_it_does_something():
    pointwise = conv(4, 6)
    parallel = next(fold for fold in pointwise.folds() if fold.pe == 6)
    assert "window" not in pointwise.build(parallel).cell.cells
    serial = next(fold for fold in pointwise.folds() if fold.pe == 1)
    assert pointwise.build(serial).cell.cells["window"].geometry.words * serial.simd == 4
    strided = conv(4, 6, stride=(2, 2))
    assert "window" in strided.build(strided.folds()[-1]).cell.cells


def test_a_small_window_may_come_whole():
    few = conv(2, 3, kernel=(3, 3))
    whole = next(fold for fold in few.folds() if fold.simd == 18)
    assert list(few.build(whole).cell.cells) == ["window", "replay", "matrix", "requantize"]
    many = conv(64, 3, kernel=(3, 3))
    assert max(fold.simd for fold in many.folds()) == 64


@pytest.mark.parametrize("make", [lambda: conv(4, 6), lambda: conv(3, 2, kernel=(3, 3))])
def test_folds_tell_the_multipliers_and_cycles_of_what_is_built(make):
    choices = make()
    for fold in choices.folds():
        layer = choices.build(fold)
        assert layer.cell.multipliers == fold.multipliers
        assert layer.cycles >= fold.cycles


def test_outputs_are_spread_over_any_number_of_groups():
    choices = conv(2, 10, kernel=(3, 3)).folds()
    # The minimum numbers with 10, 5, 4, 3, 2 groups and 1 group.
    assert sorted({fold.pe for fold in choices if fold.simd == 1}) == [1, 2, 3, 4, 5, 10]
    four = next(fold for fold in choices if (fold.pe, fold.simd) == (4, 1))
    assert four.cycles == 2 * 2 * 3 * 18


def test_groups_with_idle_outputs_are_offered_only_if_drained():
    # One term in a cycle: 4 results leave together, 4 of 10 cannot.
    assert sorted({fold.pe for fold in conv(1, 10).folds()}) == [1, 2, 5, 10]


@pytest.mark.parametrize(
    ("results", "group", "drain"),
    [
        (1, 31, Drain(1, 31, 0)),
        (1, 16, Drain(1, 16, 0)),
        (2, 17, Drain(1, 8, 0)),
        (1, 7, Drain(1, 4, 1)),
        (2, 8, Drain(1, 4, 1)),
        # Two that multiply in parts cost less than a fast one.
        (4, 8, Drain(2, 4, 2)),
        (4, 4, Drain(1, 1, 4)),
    ],
)
def test_requantizers_are_as_slow_as_the_results_are_rare(results, group, drain):
    layer = conv(256, 4, kernel=(3, 3), scale=1e-5)
    assert layer.parts == 4
    found = layer.drains(results, group)[0]
    assert (found.lanes, found.beat_cycles, found.multipliers) == (
        drain.lanes,
        drain.beat_cycles,
        drain.multipliers,
    )


def test_requantizers_without_multipliers_are_offered_beside_cheaper_ones():
    layer = conv(256, 4, kernel=(3, 3), scale=1e-5)
    assert layer.drains(4, 8) == [Drain(2, 4, 2), Drain(4, 8, 0)]
    # Nothing keeps up with a result in every cycle but multipliers.
    assert layer.drains(4, 4) == [Drain(1, 1, 4)]


def test_results_more_than_needed_are_computed_if_that_saves_multipliers():
    # In 32 cycles, 11 of 64 results at a time can leave singly only; 12 of 64 in fours.
    layer = conv(32, 64, scale=1e-5, weight=-128)
    assert layer.parts == 4
    folds = [fold for fold in layer.folds() if fold.simd == 1]
    found = {fold.pe: fold for fold in folds if fold.pe in (11, 12)}
    assert found[11].cycles == found[12].cycles
    assert (found[11].multipliers, found[12].multipliers) == (11 + 4, 12)


def test_renamings_are_no_layers():
    assert isinstance(plan(QReshape(shape=(4,)), (2, 2)), Alias)
    assert isinstance(plan(QTranspose(axes=(0, 2, 1, 3)), (2, 1, 3, 4)), Alias)
    alias = plan(QReshape(shape=(4,)), (2, 2))
    (only,) = alias.folds()
    with raises(AssertionError):
        alias.build(only)


@pytest.mark.parametrize(
    "make",
    [
        lambda: plan(QTranspose(axes=(1, 0)), (2, 3)),
        lambda: plan(QTranspose(axes=(0, 2, 3, 1)), (1, 3, 4, 5)),
        lambda: plan(QMean(axes=(0, 2), x_zero_point=0, **SCALE), (2, 3, 4)),
        lambda: plan(QArgmax(axis=0), (2, 3)),
        lambda: plan(
            QMul(x_zero_point=0, y_zero_point=0, **SCALE), constants=[np.ones(2, np.int8)] * 2
        ),
        lambda: plan(
            QPrelu(x_zero_point=0, y_zero_point=0, slope_rescale=Rescale.of(0.1), **SCALE),
            (2, 3),
            (3,),
        ),
        lambda: plan(QConcat(axis=0), constants=[np.ones(2, np.int8)] * 2),
        lambda: plan(
            QDense(x_zero_point=0, **SCALE),
            (1, 2),
            (3, 2),
            constants=[np.zeros(3, np.int32)],
        ),
        lambda: plan(
            QDense(x_zero_point=0, **SCALE),
            (1, 2),
            constants=[np.ones((1, 2), np.int8), np.array([2**31 - 1], np.int32)],
        ).folds(),
    ],
)
def test_rules_refuse_with_a_reason(make):
    with raises(UnsupportedOpError):
        make()


def test_clamp_offers_every_divisor_of_the_channels():
    assert [fold.pe for fold in plan(QClamp(), (2, 3, 6)).folds()] == [1, 2, 3, 6]
