"""Layers that move values: lanes, and how far what goes in is from what comes out."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Graph, i8
from rlx.ops.q import QConcat, QPad, QSlice, QTranspose
from rlx.support.errors import UnsupportedOpError
from rlx_fpga.architectures.dataflow.lower import RULES, Alias


def plan(op, *shapes):
    graph = Graph("g")
    values = [graph.input(f"x{n}", i8(*shape)) for n, shape in enumerate(shapes)]
    return RULES[type(op)](graph.append(op, *values))


dims = st.tuples(st.integers(1, 3), st.integers(1, 3), st.sampled_from([2, 4, 6]))


@given(dims, st.lists(st.integers(1, 3), min_size=2, max_size=3), st.integers(0, 2))
def test_operands_that_are_joined_take_turns(shape, parts, axis):
    """Each is ahead of the results, and behind them, as when they are followed one by one."""
    shapes = [tuple(n if place == axis else size for place, size in enumerate(shape))
              for n in parts]  # fmt: skip
    found = plan(QConcat(axis=axis), *shapes)
    order = np.concatenate([np.full(one, n) for n, one in enumerate(shapes)], axis).reshape(-1)
    lanes = [fold.pe for fold in found.folds()]
    runs = [math.prod(one[axis:]) for one in shapes]
    assert lanes == [n for n in range(1, min(runs) + 1) if all(run % n == 0 for run in runs)]
    layer = found.build(found.folds()[-1])
    assert layer.cycles * lanes[-1] == order.size
    for place, (ahead, behind) in enumerate(layer.skew):
        mine = np.cumsum(order == place)
        drift = [
            Fraction(int(taken), int(mine[-1])) - Fraction(done + 1, order.size)
            for done, taken in enumerate(mine)
        ]
        assert (ahead, behind) == (max(drift), max(0, -min(drift)))


@given(dims, st.tuples(*[st.integers(0, 2)] * 3), st.tuples(*[st.integers(0, 2)] * 3))
def test_padding_drifts_by_what_it_adds(shape, before, after):
    found = plan(QPad(before=before, after=after, value=1), shape)
    size = math.prod(shape)
    full = math.prod(sum(sides) for sides in zip(shape, before, after, strict=True))
    for fold in found.folds():
        layer = found.build(fold)
        assert layer.cycles * fold.pe == full
        assert layer.lead == Fraction(full - size, full)
        assert layer.hold > layer.lead
    largest = math.gcd(shape[-1], before[-1], after[-1])
    assert max(fold.pe for fold in found.folds()) == largest


@pytest.mark.parametrize(
    ("stop", "step", "lanes"),
    [((2, 3, 8), (1, 1, 1), [1, 2, 4]), ((2, 3, 7), (1, 1, 1), [1]), ((2, 3, 8), (1, 2, 2), [1])],
)
def test_a_slice_takes_all_and_drifts_by_what_it_drops(stop, step, lanes):
    found = plan(QSlice(start=(0, 1, 4), stop=stop, step=step), (2, 3, 8))
    assert [fold.pe for fold in found.folds()] == lanes
    kept = np.zeros((2, 3, 8))[0 : stop[0], 1 : stop[1] : step[1], 4 : stop[2] : step[2]].size
    for fold in found.folds():
        layer = found.build(fold)
        assert layer.cycles * fold.pe == 48
        assert layer.lead == Fraction(48 - kept, 48)


@given(st.permutations(range(4)), st.tuples(*[st.sampled_from([1, 1, 2])] * 4))
def test_a_permutation_is_a_renaming_where_the_order_in_memory_stays(axes, shape):
    numbers = np.arange(math.prod(shape)).reshape(shape)
    same = np.array_equal(numbers.transpose(axes).reshape(-1), numbers.reshape(-1))
    op = QTranspose(axes=tuple(axes))
    if same:
        assert isinstance(plan(op, shape), Alias)
        return
    with pytest.raises(UnsupportedOpError, match=r"permuting .* needs the tensor in memory"):
        plan(op, shape)
