"""Loop nests over strided arrays."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx_c.nest import StridedLoop, broadcast_strides, nest, reduction, row_major, split_run
from rlx_c.render import affine, at, index, moved, pixel, plus, steps, times


def test_row_major_counts_elements():
    assert row_major((2, 3, 4)) == (12, 4, 1)
    assert row_major(()) == ()


def test_broadcast_strides_stand_still_on_missing_and_single_axes():
    assert broadcast_strides((3, 1, 5), (2, 3, 4, 5)) == (0, 5, 0, 1)


def test_even_loops_become_one():
    assert nest((2, 3, 4), row_major((2, 3, 4))) == (StridedLoop(24, (1,)),)


def test_single_steps_vanish():
    assert nest((1, 1), (7, 3)) == ()


def test_loops_stay_apart_where_one_array_jumps():
    loops = nest((2, 3), (10, 1), (3, 1))
    assert loops == (StridedLoop(2, (10, 3)), StridedLoop(3, (1, 1)))
    assert split_run(loops) == ((StridedLoop(2, (10, 3)),), 3)
    assert split_run((StridedLoop(2, (2, 1)),)) == ((StridedLoop(2, (2, 1)),), 1)


@given(st.lists(st.integers(1, 4), max_size=4), st.data())
def test_a_nest_visits_the_same_elements_in_the_same_order(shape, data):
    strides = [data.draw(st.lists(st.integers(0, 9), min_size=len(shape), max_size=len(shape)))
               for _ in range(2)]  # fmt: skip
    assert visited(nest(shape, *strides)) == visited(
        [StridedLoop(n, s) for n, *s in zip(shape, *strides, strict=True)]
    )


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_a_reduction_visits_the_values_of_each_result(shape, data):
    axes = data.draw(st.sets(st.integers(-len(shape), len(shape) - 1)))
    kept, reduced = reduction(shape, axes)
    x = np.arange(math.prod(shape)).reshape(shape)
    inner = [sum(i * loop.strides[0] for i, loop in zip(step, reduced, strict=True))
             for step in itertools.product(*(range(loop.extent) for loop in reduced))]  # fmt: skip
    sums = {result: sum(start + one for one in inner) for start, result in visited(kept)}
    expected = x.sum(tuple({axis % len(shape) for axis in axes})).ravel()
    assert [sums[n] for n in range(expected.size)] == expected.tolist()


def visited(loops):
    """Offsets of both arrays in the order in which nested loops visit them."""
    steps_ = itertools.product(*(range(loop.extent) for loop in loops))
    return [
        tuple(sum(i * loop.strides[a] for i, loop in zip(step, loops, strict=True)) for a in (0, 1))
        for step in steps_
    ]


LOOPS = (StridedLoop(2, (12, 0)), StridedLoop(3, (1, 4)))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (index(LOOPS, 0), "i0 * 12 + i1"),
        (index(LOOPS, 1, 5), "5 + i1 * 4"),
        (index(LOOPS[1:], 0, 0, LOOPS[:1]), "i0 + i1 * 12"),
        (index((), 0), "0"),
        (at("x", LOOPS, 0, 3), "x + 3 + i0 * 12 + i1"),
        (at("x", (), 0), "x"),
        (steps(LOOPS), "2 by 3 elements"),
        (steps(()), "1 element"),
        (times("ky", 1), "ky"),
        (times("ky", 3), "ky * 3"),
        (plus("c", -2), "c - 2"),
        (plus("c", 0), "c"),
        (affine("oy", 2, -1), "oy * 2 - 1"),
    ],
)
def test_expressions_in_c(expression, expected):
    assert expression == expected


@pytest.mark.parametrize(
    ("row", "column", "text"),
    [
        ("oy", "ox", "(oy * 6 + ox) * 8"),
        ("oy", "0", "oy * 48"),
        ("0", "ox", "ox * 8"),
        ("0", "0", "0"),
    ],
)
def test_a_loop_of_one_round_leaves_nothing_in_an_index(row, column, text):
    assert pixel(row, column, 6, 8) == text


def test_what_is_zero_or_one_is_not_written():
    assert pixel("oy", "ox", 1) == "oy + ox"
    assert affine("0", 2, -1) == "-1"
    assert times("0", 3) == "0"
    assert moved("x", "0") == "x"
    assert moved("x", "ky * 4") == "x + ky * 4"
