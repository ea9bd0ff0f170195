"""Ranges that follow from the traits of ops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ir import Graph, i8
from rlx.ir.evaluate import evaluate_all
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import Q_OPS, QClamp, QMaximum, QPrelu
from rlx.ops.real import RealReverse
from rlx.passes.ranges import channel_ranges
from strategies import STRATEGIES


@pytest.mark.parametrize("op", Q_OPS, ids=lambda op: op.name)
@settings(max_examples=15)
@given(data=st.data())
def test_no_range_is_too_narrow(op, data):
    case = data.draw(STRATEGIES[op](size=3))
    values = evaluate_all(case.graph, case.inputs)
    for value, range_ in channel_ranges(case.graph).items():
        found = values[value].reshape(-1, len(range_.low))
        assert (range_.low <= found).all()
        assert (found <= range_.high).all()


def range_of(op, *, low, high, constant=None):
    graph = Graph("g")
    x = graph.apply(QClamp(low=low, high=high), graph.input("x", i8(1, 2, 3)))
    operands = [x] if constant is None else [x, graph.constant(np.array(constant, np.int8))]
    value = graph.append(op, *operands).result
    graph.output(value)
    found = channel_ranges(graph)[value]
    return found.low.tolist(), found.high.tolist()


def test_monotone_ops_map_the_ends():
    found = range_of(QMaximum(), low=-5, high=9, constant=[-7, 0, 20])
    assert found == ([-5, 0, 20], [9, 9, 20])


def test_other_elementwise_ops_take_the_extremes_of_what_can_be_reached():
    op = QPrelu(
        x_zero_point=0, y_zero_point=0, zero_point=0,
        rescale=Rescale.of(1.0), slope_rescale=Rescale.of(1.0),
    )  # fmt: skip
    assert range_of(op, low=-4, high=3, constant=[1, -2, 0]) == ([-4, 0, 0], [3, 8, 3])


def test_ops_that_only_move_values_keep_their_union():
    assert range_of(RealReverse(axes=(2,)), low=-4, high=3) == ([-4] * 3, [3] * 3)
