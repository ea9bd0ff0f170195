"""Tensors without dimensions, such as the constant of ``x * 0.5``, go through every pass."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import Graph, i8
from rlx.ir.evaluate import evaluate
from rlx.ir.module import GraphModule
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QAdd, QClamp, QMul, QPad, QSlice, QSub, QTable, QTranspose
from rlx.passes import pipeline
from rlx.passes.ranges import channel_ranges

HALF = Rescale.of(0.5)
ZERO_POINTS = {"x_zero_point": 1, "y_zero_point": -2, "zero_point": 0}
BINARY = {
    "add": QAdd(**ZERO_POINTS, rescale=Rescale.of(2**-19), x_rescale=HALF, y_rescale=HALF,
                left_shift=20),
    "sub": QSub(**ZERO_POINTS, rescale=Rescale.of(2**-19), x_rescale=HALF, y_rescale=HALF,
                left_shift=20),
    "mul": QMul(**ZERO_POINTS, rescale=HALF),
}  # fmt: skip
UNARY = {
    "clamp": QClamp(low=-3, high=5),
    "table": QTable(table=tuple(range(127, -129, -1)), function="negate"),
    "pad": QPad(before=(), after=(), value=0),
    "slice": QSlice(start=(), stop=(), step=()),
    "transpose": QTranspose(axes=()),
}


def same_after_passes(graph: Graph) -> None:
    """Check that the pipeline keeps the results, and that no range is too narrow."""
    random = np.random.default_rng(5)
    ranges = channel_ranges(graph)
    after = pipeline("default").run(GraphModule.mir(graph)).graph
    for _ in range(8):
        inputs = {
            v.name: random.integers(-128, 128, v.type.static_shape, np.int8) for v in graph.inputs
        }
        (expected,) = evaluate(graph, inputs)
        (found,) = evaluate(after, inputs)
        assert np.array_equal(found, expected)
        range_ = ranges[graph.outputs[0]]
        assert (range_.low <= expected).all()
        assert (expected <= range_.high).all()


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("shape", [(), (3,), (1, 2, 2, 3)], ids=str)
@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_constant_of_rank_zero(op: str, shape: tuple[int, ...], first: bool) -> None:
    graph = Graph("g")
    x, c = graph.input("x", i8(*shape)), graph.constant(np.array(7, np.int8))
    y = graph.apply(BINARY[op], *((c, x) if first else (x, c)), name="y")
    graph.output(graph.apply(QClamp(low=-100, high=100), y, name="z"))
    same_after_passes(graph)


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("shape", [(), (1, 2, 3)], ids=str)
def test_operand_of_rank_zero(op: str, shape: tuple[int, ...]) -> None:
    graph = Graph("g")
    x, y = graph.input("x", i8(*shape)), graph.input("y", i8())
    graph.output(graph.apply(BINARY[op], x, y, name="z"))
    same_after_passes(graph)


@pytest.mark.parametrize("op", UNARY)
def test_op_on_rank_zero(op: str) -> None:
    graph = Graph("g")
    y = graph.apply(UNARY[op], graph.input("x", i8()), name="y")
    graph.output(graph.apply(QClamp(low=-9, high=9), y, name="z"))
    same_after_passes(graph)
