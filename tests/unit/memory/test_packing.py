"""Offsets: valid for any boxes, and as small as all ways of placing a few of them."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ir import Region
from rlx.memory.lifetimes import Lifetime
from rlx.memory.packing import (
    MAX_PACKINGS,
    _alive_together,
    _by_size,
    _greedy,
    _pairs,
    _place,
    pack,
)

MAX_BOXES = 6


def box(first, last, nbytes):
    return Lifetime([], Region.ARENA, nbytes, first, last)


def boxes(most):
    one = st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(1, 9))
    return st.lists(one, max_size=most).map(
        lambda drawn: [box(first, first + length, size) for first, length, size in drawn]
    )


def neighbours(buffers):
    return [[j for j, o in enumerate(buffers) if j != i and b.overlaps(o)]
            for i, b in enumerate(buffers)]  # fmt: skip


def brute_force(buffers):
    """Return the smallest arena: some order of placing gives it."""
    sizes, meets = [b.nbytes for b in buffers], neighbours(buffers)
    orders = itertools.permutations(range(len(buffers)))
    return min(_place(order, sizes, meets)[1] for order in orders)


@given(buffers=boxes(30))
def test_packing_is_valid_and_never_larger_than_the_greedy_one(buffers):
    offsets, size = pack(buffers, 4, limit=300)
    assert all(offset % 4 == 0 for offset in offsets)
    for i, j in itertools.combinations(range(len(buffers)), 2):
        if buffers[i].overlaps(buffers[j]):
            apart = (offsets[i] + buffers[i].nbytes <= offsets[j]
                     or offsets[j] + buffers[j].nbytes <= offsets[i])  # fmt: skip
            assert apart
    assert all(o + b.nbytes <= size for o, b in zip(offsets, buffers, strict=True))
    rounded = [-(-b.nbytes // 4) * 4 for b in buffers]
    assert size <= _greedy(buffers, rounded, neighbours(buffers), 0)[1]


@given(buffers=boxes(30))
def test_very_many_buffers_are_placed_by_size(buffers):
    sizes, meets = [b.nbytes for b in buffers], neighbours(buffers)
    order = sorted(range(len(buffers)), key=lambda i: -sizes[i])
    assert _by_size(buffers, sizes) == _place(order, sizes, meets)
    assert 2 * _pairs(buffers) == sum(map(len, meets))


@settings(max_examples=60)
@given(buffers=boxes(MAX_BOXES))
def test_packing_of_a_few_is_the_optimum(buffers):
    assert pack(buffers, 1)[1] == brute_force(buffers)


def test_search_finds_what_greedy_placing_misses():
    """Found by trying random boxes: every greedy order leaves a gap."""
    shape = [(2, 3, 1), (6, 8, 6), (5, 5, 4), (5, 6, 4), (3, 5, 4), (5, 7, 1), (3, 7, 2),
             (5, 8, 1), (4, 4, 6)]  # fmt: skip
    buffers = [box(*b) for b in shape]
    sizes = [b.nbytes for b in buffers]
    greedy = _greedy(buffers, sizes, neighbours(buffers), 0)[1]
    optimum = pack(buffers, 1)[1]
    assert (greedy, optimum) == (18, 16)
    assert pack(buffers, 1, limit=0)[1] == greedy


def test_sets_alive_together_are_the_largest_ones():
    assert _alive_together([box(0, 2, 1), box(1, 3, 1), box(3, 4, 1)]) == [[0, 1], [1, 2]]
    assert _alive_together([box(0, 3, 1), box(1, 3, 1)]) == [[0, 1]]


def test_nothing_needs_nothing():
    assert pack([], 4) == ([], 0)
    assert MAX_PACKINGS < 10_000
