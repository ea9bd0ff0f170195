"""States whose sizes are symbols: they follow the inputs of each run."""

from __future__ import annotations

import numpy as np

import rlx
from rlx.runtime import CompiledGraph, Session
from support.messages import raises


def totals() -> CompiledGraph:
    graph = rlx.Graph("totals")
    x = graph.input("x", ("n", 2))
    total, calls = graph.state("total", ("n", 2)), graph.state("calls", (), "i32")
    graph.set_state(total, total + x)
    graph.set_state(calls, calls + 1)
    return Session().compile(graph)


def run(compiled: CompiledGraph, rows: int) -> list[float]:
    (total,) = compiled.run({"x": np.ones((rows, 2))}, outputs=["total"])
    return total[:, 0].tolist()


def test_zeros_have_the_size_of_the_run():
    compiled = totals()
    assert run(compiled, 3) == [1, 1, 1]
    assert run(compiled, 3) == [2, 2, 2]
    compiled.reset_state("total")
    assert run(compiled, 1) == [1]
    assert compiled.read_state("calls") == 3


def test_a_size_that_is_not_known_yet():
    compiled = totals()
    with raises(ValueError):
        compiled.read_state("total")
    assert run(compiled.clone(), 2) == [1, 1]
    run(compiled, 2)
    assert compiled.read_state("total").shape == (2, 2)
    compiled.reset_state()
    with raises(ValueError):
        compiled.read_state("total")


def test_a_value_of_another_size_is_not_cut():
    compiled = totals()
    run(compiled, 3)
    for _ in range(2):
        with raises(ValueError):
            run(compiled, 1)
    assert run(compiled, 3) == [2, 2, 2]
    compiled.bind_state("total", [[4, 4]])
    assert run(compiled, 1) == [5]
    assert compiled.read_state("calls") == 3
    compiled.reset_state("total")
    with raises(ValueError):
        run(compiled, 2)
