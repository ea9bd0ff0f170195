"""Programs in an arena: where values are, what runs allocate, what is kept from run to run."""

from __future__ import annotations

import numpy as np

import rlx
from rlx.ir import f32
from rlx.runtime import CompileOptions, Session
from support.messages import raises


def counter(width: int = 3) -> rlx.Graph:
    graph = rlx.Graph("counter")
    x = graph.input("x", (width,))
    total = graph.state("total", (width,))
    graph.set_state(total, total + x)
    graph.output(total * 2.0, names=["before"])
    return graph


def test_values_share_the_arena() -> None:
    graph = rlx.trace("chain", lambda x: (((x + 1.0) * 2.0) - 3.0) / 4.0, f32(1000))
    compiled = Session().compile(graph, CompileOptions(fusion=None))
    x = np.arange(1000, dtype=np.float32)
    np.testing.assert_array_equal(compiled.run({"x": x})[0], ((x + 1) * 2 - 3) / 4)
    # Each step works in place.
    assert len(compiled._programs[()].program.arena) == 4032


def test_a_run_keeps_what_earlier_runs_returned() -> None:
    compiled = Session().compile(rlx.trace("g", lambda x: x + 1.0, f32(3)))
    first = compiled.run({"x": np.zeros(3)})[0]
    compiled.run({"x": np.ones(3)})
    assert first.tolist() == [1.0, 1.0, 1.0]


class TestStates:
    def test_are_kept_from_run_to_run(self) -> None:
        compiled = Session().compile(counter())
        ones = np.ones(3, np.float32)
        befores = [compiled.run_named({"x": ones})["before"].tolist() for _ in range(3)]
        assert befores == [[0.0] * 3, [2.0] * 3, [4.0] * 3]
        assert compiled.read_state("total").tolist() == [3.0] * 3
        assert list(compiled.input_types) == ["x"]
        assert list(compiled.state_types) == ["total"]

    def test_are_bound_and_reset(self) -> None:
        compiled = Session().compile(counter())
        ones = np.ones(3, np.float32)
        compiled.bind_state("total", [5, 6, 7])
        compiled.run({"x": ones})
        assert compiled.read_state("total").tolist() == [6.0, 7.0, 8.0]
        compiled.reset_state()
        assert compiled.read_state("total").tolist() == [5.0, 6.0, 7.0]
        compiled.run({"x": ones})
        assert compiled.read_state("total").tolist() == [6.0, 7.0, 8.0]

    def test_of_a_clone_are_its_own(self) -> None:
        compiled = Session().compile(counter())
        ones = np.ones(3, np.float32)
        compiled.run({"x": ones})
        clone = compiled.clone()
        clone.run({"x": ones})
        assert compiled.read_state("total").tolist() == [1.0] * 3
        assert clone.read_state("total").tolist() == [2.0] * 3

    def test_move_with_the_sizes_of_inputs(self) -> None:
        graph = rlx.Graph("sum")
        x = graph.input("x", ("n", 3))
        total = graph.state("total", (3,))
        graph.set_state(total, total + x.sum(0))
        compiled = Session().compile(graph)
        for n in (2, 5, 2):
            compiled.run({"x": np.ones((n, 3))})
        assert compiled.read_state("total").tolist() == [9.0] * 3

    def test_may_swap(self) -> None:
        graph = rlx.Graph("swap")
        a, b = graph.state("a", (2,)), graph.state("b", (2,))
        graph.set_state(a, b)
        graph.set_state(b, a)
        compiled = Session().compile(graph)
        compiled.bind_state("a", [1, 2])
        compiled.run()
        assert compiled.read_state("a").tolist() == [0.0, 0.0]
        assert compiled.read_state("b").tolist() == [1.0, 2.0]

    def test_must_exist_and_fit(self) -> None:
        compiled = Session().compile(counter())
        with raises(ValueError):
            compiled.read_state("sum")
        with raises(ValueError):
            compiled.bind_state("total", np.zeros(4))
        with raises(ValueError):
            compiled.run({"x": np.zeros(3), "total": np.zeros(3)})


def test_what_is_given_may_be_written_afterwards() -> None:
    compiled = Session().compile(counter())
    given = np.ones(3, np.float32)
    compiled.bind_state("total", given)
    given[:] = 9
    assert compiled.read_state("total").tolist() == [1.0] * 3
