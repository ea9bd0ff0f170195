"""Operands without dimensions, such as the constant of ``x * 0.5``, take one lane of hardware."""

from __future__ import annotations

import pytest

from rlx.ir import Graph, i8
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QAdd, QMul, QSub
from rlx_fpga.architectures.dataflow.lower.rules import RULES

HALF = Rescale.of(0.5)
ZERO_POINTS = {"x_zero_point": 1, "y_zero_point": -2, "zero_point": 0}
SUM = {
    **ZERO_POINTS, "rescale": Rescale.of(2**-19), "x_rescale": HALF, "y_rescale": HALF,
    "left_shift": 20,
}  # fmt: skip
BINARY = {"add": QAdd(**SUM), "sub": QSub(**SUM), "mul": QMul(**ZERO_POINTS, rescale=HALF)}


@pytest.mark.parametrize("op", BINARY)
def test_hardware_has_one_lane_for_a_single_number(op: str) -> None:
    graph = Graph("g")
    node = graph.append(BINARY[op], graph.input("x", i8()), graph.input("y", i8()))
    folds = RULES[type(node.op)](node).folds()
    assert {fold.pe for fold in folds} == {1}
