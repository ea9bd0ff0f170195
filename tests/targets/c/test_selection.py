"""Options of several layers with shared parts: the selection found is the cheapest there is."""

from itertools import product

import numpy as np
import pytest

from rlx_c.selection import Alternative, Selection


def option(tag, cost, nbytes=0, *shared):
    return Alternative(tag, cost, nbytes, frozenset(shared))


def tags(found):
    return None if found is None else [o.tag for o in found]


def drawn(seed, layers=5):
    """Return layers with drawn options, and parts."""
    random = np.random.default_rng(seed)
    parts = {f"p{k}": int(random.integers(50, 600)) for k in range(4)}
    names = sorted(parts)
    return [
        [
            option(
                (i, k), int(random.integers(0, 4000)), int(random.integers(0, 300)),
                *random.choice(names, int(random.integers(0, 3)), replace=False),
            )
            for k in range(int(random.integers(1, 5)))
        ]
        for i in range(layers)
    ], parts  # fmt: skip


def exhaustive(selection, layers, limit):
    """Return the minimum cost of all selections within a limit."""
    fitting = [
        selection.cost(options)
        for options in product(*layers)
        if limit is None or selection.nbytes(options) <= limit
    ]
    return min(fitting, default=None)


def test_a_part_that_two_layers_use_is_paid_once():
    layers = [[option("a", 10, 0, "k"), option("b", 0, 30)] for _ in range(2)]
    selection = Selection(layers, {"k": 40}, price=1)
    assert tags(selection.solve()) == ["a", "a"] or selection.cost(selection.solve()) == 60
    dearer = Selection(layers, {"k": 41}, price=1)
    assert tags(dearer.solve()) == ["b", "b"]
    assert dearer.nbytes([layers[0][0], layers[1][0]]) == 41


@pytest.mark.parametrize("seed", range(40))
def test_no_selection_is_cheaper(seed):
    layers, parts = drawn(seed)
    selection = Selection(layers, parts, price=3)
    found = selection.solve()
    assert selection.cost(found) == exhaustive(selection, layers, None)
    assert selection.bound() <= selection.cost(found)
    assert [o.tag[0] for o in found] == list(range(len(layers)))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_no_selection_within_the_limit_is_cheaper(seed, share):
    layers, parts = drawn(seed)
    free = Selection(layers, parts, price=0)
    sizes = [free.nbytes(options) for options in product(*layers)]
    limit = int(min(sizes) + share * (max(sizes) - min(sizes)))
    selection = Selection(layers, parts, 0, limit)
    found = selection.solve()
    assert selection.nbytes(found) <= limit
    assert selection.cost(found) == exhaustive(selection, layers, limit)
    assert Selection(layers, parts, 0, min(sizes) - 1).solve() is None


def test_many_layers_end_within_the_effort():
    layers, parts = drawn(1, layers=80)
    assert len(Selection(layers, parts, 3, 9000).solve() or layers) == 80


def test_more_layers_than_python_calls_nest():
    layers = [[option(f"a{i}", 1, 4, "k"), option(f"b{i}", 2, 1)] for i in range(1500)]
    selection = Selection(layers, {"k": 8}, price=1)
    assert tags(selection.solve()) == [f"b{i}" for i in range(1500)]
