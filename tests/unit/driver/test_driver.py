"""Graphs that cannot be run as they are: refused with what to do, wherever they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rlx.driver import driver
from rlx.driver.reference import given_inputs, random_inputs
from rlx.ir import Dim, DType, Graph, TensorType, f32, i8
from rlx.ir.module import GraphModule
from rlx.ops.q import QClamp
from rlx.support.errors import QuantizationError, UsageError
from rlx.targets import target
from support.messages import raises

if TYPE_CHECKING:
    from collections.abc import Callable

USES: dict[str, Callable[[Graph], object]] = {
    "random": random_inputs,
    "given": lambda graph: given_inputs(graph, {}, None),
    "lowered": lambda graph: driver.lower(GraphModule.mir(graph), target.load("cortexm")),
}


def symbolic() -> Graph:
    graph = Graph("g")
    x = graph.input("x", TensorType((Dim("N"), 4), DType.I8))
    graph.output(graph.apply(QClamp(low=0, high=127), x))
    return graph


def with_parameter() -> Graph:
    graph = Graph("g")
    graph.input("x", i8(1, 4))
    graph.output(graph.apply(QClamp(low=0, high=127), graph.param("w", i8(1, 4))))
    return graph


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("make", [symbolic, with_parameter])
def test_graphs_that_are_not_bound_are_refused(use: str, make: Callable[[], Graph]) -> None:
    with raises(UsageError):
        USES[use](make())


def test_input_that_is_no_integer_is_named() -> None:
    graph = Graph("g")
    graph.output(graph.input("x", f32(1, 4)))
    with raises(QuantizationError):
        random_inputs(graph)


def test_random_booleans_are_of_both_kinds() -> None:
    graph = Graph("g")
    graph.output(graph.input("flags", TensorType((4, 25), DType.BOOL)))
    (flags,) = random_inputs(graph, 3)
    assert DType.of(flags) is DType.BOOL
    assert flags.shape == (3, 4, 25)
    assert 100 < flags.sum() < 200
