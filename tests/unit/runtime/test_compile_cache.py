"""Compiled graphs that are kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import rlx
from rlx.runtime import CompileCache, CompileOptions, Session
from rlx.support.errors import UsageError
from support.messages import raises

X = np.ones((1, 2), np.float32)


def scaled(factor: float = 2.0, *, value: float | None = None, name: str = "x") -> rlx.Graph:
    graph = rlx.Graph("scaled")
    x = graph.input(name, (1, 2))
    if value is None:
        graph.output(x * factor, names=["y"])
    else:
        graph.output(x * graph.param("w", value=np.full((1, 2), value, np.float32)), names=["y"])
    return graph


def test_a_graph_is_compiled_once():
    cache = CompileCache(Session())
    first = cache.compile(scaled())
    assert cache.compile(scaled()) is first
    assert cache.compile(scaled().graph) is first
    assert cache.compile(scaled().module) is first
    assert (cache.hits, cache.misses, len(cache)) == (3, 1, 1)
    assert repr(cache) == "<CompileCache: 1 of 8, 3 hits, 1 misses>"
    cache.clear()
    assert cache.compile(scaled()) is not first
    assert first.run({"x": X})[0].tolist() == [[2, 2]]


def test_whatever_is_different_is_compiled():
    cache = CompileCache(Session())
    made = [
        cache.compile(scaled()),
        cache.compile(scaled(3.0)),
        cache.compile(scaled(name="z")),
        cache.compile(scaled(), CompileOptions(check_finite=True)),
        cache.compile(scaled(), CompileOptions(precision="bf16")),
        cache.compile(rlx.bind(scaled().graph, {})),
    ]
    assert len({id(one) for one in made}) == 5
    assert made[-1] is made[0]
    assert [one(X)[0][0, 0] for one in made] == [
        2, 3, 2, 2, 2, 2,
    ]  # fmt: skip
    with rlx.config.override(programs=2):
        assert cache.compile(scaled()) is not made[0]


def test_values_of_parameters_are_those_of_the_graph():
    cache = CompileCache(Session())
    compiled = cache.compile(scaled(value=2.0))
    assert compiled.run({"x": X})[0].tolist() == [[2, 2]]
    assert cache.compile(scaled(value=5.0)) is compiled
    assert compiled.run({"x": X})[0].tolist() == [[5, 5]]
    assert cache.compile(scaled(value=5.0).graph).run({"x": X})[0].tolist() == [[5, 5]]


def test_the_oldest_is_dropped():
    cache = CompileCache(Session(), most=2)
    one, two = cache.compile(scaled(1.0)), cache.compile(scaled(2.0))
    assert cache.compile(scaled(1.0)) is one
    cache.compile(scaled(3.0))
    assert cache.compile(scaled(1.0)) is one
    assert cache.compile(scaled(2.0)) is not two
    assert len(cache) == 2
    with raises(UsageError):
        CompileCache(Session(), most=0)


def test_what_cannot_be_compiled_is_not_kept():
    cache = CompileCache(Session())
    for _ in range(2):
        with raises(ValueError):
            cache.compile(rlx.Graph("empty"))
    assert (len(cache), cache.misses) == (0, 0)


def test_threads_get_one_object():
    cache = CompileCache(Session())
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda i: cache.compile(scaled(float(i % 2))), range(32)))
    assert len({id(one) for one in made}) == 2
    assert (cache.misses, cache.hits) == (2, 30)
