"""Inputs that are bound as states, and the outputs that refresh them."""

from __future__ import annotations

import numpy as np

import rlx
from rlx.ir import Dim, f32
from rlx.runtime import CompiledGraph, Session
from support.messages import raises


def adder() -> CompiledGraph:
    """``next = x + total``, ``twice = 2 x``, ``other``: of another type."""
    graph = rlx.Graph("adder")
    x, total = graph.input("x", (3,)), graph.input("total", (3,))
    graph.output(x + total, x * 2.0, x.sum(-1), names=["next", "twice", "other"])
    return Session().compile(graph)


ONES = np.ones(3, np.float32)


def test_a_bound_input_is_not_given_any_more():
    compiled = adder()
    compiled.bind_state("total", [5, 6, 7])
    assert list(compiled.input_types) == ["x"]
    assert compiled.state_names == ("total",)
    assert compiled.state_types == {"total": f32(3)}
    for _ in range(2):
        assert compiled.run({"x": ONES})[0].tolist() == [6.0, 7.0, 8.0]
        assert compiled.run_slots(ONES)[0].tolist() == [6.0, 7.0, 8.0]
        assert compiled(ONES)[0].tolist() == [6.0, 7.0, 8.0]
    with raises(ValueError):
        compiled.run({"x": ONES, "total": ONES})
    with raises(ValueError):
        compiled.run_slots(ONES, ONES)


def test_an_output_feeds_it():
    compiled = adder()
    compiled.bind_state("total", np.zeros(3))
    compiled.feed("next", "total")
    nexts = [compiled.run({"x": ONES})[0].tolist() for _ in range(3)]
    assert nexts == [[1.0] * 3, [2.0] * 3, [3.0] * 3]
    assert compiled.read_state("total").tolist() == [3.0] * 3
    compiled.feed(1, "total")
    compiled.run({"x": 4 * ONES})
    assert compiled.read_state("total").tolist() == [8.0] * 3
    compiled.reset_state("total")
    assert compiled.read_state("total").tolist() == [0.0] * 3
    compiled.bind_state("total", [1, 1, 1])
    compiled.run({"x": ONES})
    compiled.reset_state()
    assert compiled.read_state("total").tolist() == [1.0] * 3


def test_what_was_bound_is_copied():
    compiled, given = adder(), ONES.copy()
    compiled.bind_state("total", given)
    compiled.feed("next", "total")
    compiled.run({"x": ONES})
    assert given.tolist() == [1.0] * 3
    given[:] = 9
    compiled.reset_state("total")
    assert compiled.read_state("total").tolist() == [1.0] * 3


def test_it_can_be_given_again():
    compiled = adder()
    compiled.bind_state("total", ONES)
    compiled.feed("next", "total")
    compiled.unbind_state("total")
    assert list(compiled.input_types) == ["x", "total"]
    assert compiled.run({"x": ONES, "total": 2 * ONES})[0].tolist() == [3.0] * 3
    compiled.bind_state("total", ONES)
    compiled.run({"x": ONES})
    assert compiled.read_state("total").tolist() == [1.0] * 3


def test_two_may_feed_each_other():
    graph = rlx.Graph("swap")
    a, b = graph.input("a", (2,)), graph.input("b", (2,))
    graph.output(a + 0.0, b + 0.0, names=["was_a", "was_b"])
    compiled = Session().compile(graph)
    compiled.bind_state("a", [1, 2])
    compiled.bind_state("b", [3, 4])
    compiled.feed("was_a", "b")
    compiled.feed("was_b", "a")
    compiled.run()
    assert [compiled.read_state(n).tolist() for n in "ab"] == [[3.0, 4.0], [1.0, 2.0]]


def test_a_cache_may_grow():
    past = Dim("past")
    graph = rlx.trace(
        "append", lambda cache, row: {"grown": cache.concat(row, axis=0)}, f32(past, 2), f32(1, 2)
    )
    compiled = Session().compile(graph)
    cache, row = compiled.input_types
    compiled.bind_state(cache, np.zeros((1, 2)))
    compiled.feed("grown", cache)
    for i in range(4):
        compiled.run({row: [[i, i]]})
    assert compiled.read_state(cache)[:, 0].tolist() == [0.0, 0.0, 1.0, 2.0, 3.0]


def test_clones_go_on_by_themselves():
    compiled = adder()
    compiled.bind_state("total", ONES)
    compiled.feed("next", "total")
    clone = compiled.clone()
    clone.run({"x": ONES})
    assert clone.read_state("total").tolist() == [2.0] * 3
    assert compiled.read_state("total").tolist() == [1.0] * 3


def test_a_run_that_was_submitted_before_keeps_its_inputs():
    compiled = adder()
    with compiled._lock:  # the run cannot begin
        pending = compiled.submit({"x": ONES, "total": 4 * ONES})
        compiled.bind_state("total", ONES)
    assert pending.wait()[0].tolist() == [5.0] * 3
    with compiled._lock:
        pending = compiled.submit({"x": ONES})
        compiled.unbind_state("total")
    with raises(ValueError):
        pending.wait()


def test_misuse_is_refused():
    compiled = adder()
    with raises(ValueError):
        compiled.bind_state("sum", ONES)
    with raises(ValueError):
        compiled.read_state("total")
    with raises(ValueError):
        compiled.reset_state("total")
    with raises(ValueError):
        compiled.bind_state("total", [1, 2])
    with raises(TypeError):
        compiled.bind_state("total", ["a"])
    with raises(ValueError):
        compiled.feed("next", "total")
    with raises(ValueError):
        compiled.unbind_state("total")
    compiled.bind_state("total", ONES)
    with raises(ValueError):
        compiled.feed("other", "total")
    with raises(ValueError):
        compiled.feed("z", "total")
    with raises(ValueError):
        compiled.feed("next", "z")
    with raises(ValueError):
        compiled.read_state("z")


def test_a_declared_state_is_not_fed():
    graph = rlx.Graph("counter")
    total = graph.state("total", (1,))
    graph.set_state(total, total + graph.input("x", (1,)))
    compiled = Session().compile(graph)
    for call in (lambda: compiled.feed(0, "total"), lambda: compiled.unbind_state("total")):
        with raises(ValueError):
            call()
