from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rlx
from rlx.support.errors import TargetNotFoundError
from support.messages import raises


def test_a_model_is_traced_and_compiled_once():
    calls = []

    @rlx.model(rlx.f32(2), rlx.f32(2))
    def total(x, y):
        """Add."""
        calls.append(1)
        return x + y

    assert not calls
    assert total([1, 2], [3, 4])[0].tolist() == [4.0, 6.0]
    assert total.compiled() is total.compiled("cpu")
    assert total.graph.name == "total"
    assert calls == [1]
    assert (repr(total), total.__doc__) == ("<model 'total'>", "Add.")


@pytest.mark.usefixtures("only_cpu")
def test_a_model_may_declare_its_parameters():
    @rlx.model()
    def scaled(t):
        return t.input("x", 2) * t.param("w", 2)

    scaled.compiled().set_param("w", [2, 3])
    assert scaled(np.ones(2))[0].tolist() == [2.0, 3.0]
    with raises(TargetNotFoundError):
        scaled.compiled("metal")


def test_a_model_without_parentheses():
    @rlx.model
    def halved(t):
        return t.input("x", 2) * 0.5

    assert repr(halved) == "<model 'halved'>"
    assert halved([1, 2])[0].tolist() == [0.5, 1.0]


def test_threads_share_one_compiled_graph():
    @rlx.model(rlx.f32(64, 64))
    def square(x):
        return x @ x

    with ThreadPoolExecutor(8) as pool:
        graphs = list(pool.map(lambda _: square.compiled(), range(16)))
        results = list(pool.map(lambda i: square(np.full((64, 64), i))[0], range(16)))
    assert len({id(g) for g in graphs}) == 1
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result, np.full((64, 64), 64.0 * i * i))
