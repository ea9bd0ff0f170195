"""Broadcast operands: how often, and how far from the results, their elements are taken."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Graph, i8
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QAdd, QMul
from rlx_fpga.architectures.dataflow.lower import RULES
from rlx_fpga.architectures.dataflow.lower.arith import period

HALF = Rescale.of(0.5)
SUM = QAdd(x_zero_point=1, y_zero_point=2, x_rescale=HALF, y_rescale=HALF,
           rescale=Rescale.of(2.0**-19), zero_point=0)  # fmt: skip
shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def plan(op, *operands):
    """Return the plan for operands of a shape, or constants."""
    graph = Graph("g")
    values = [
        graph.constant(one) if isinstance(one, np.ndarray) else graph.input(f"x{n}", i8(*one))
        for n, one in enumerate(operands)
    ]
    return RULES[type(op)](graph.append(op, *values))


def smaller(data, shape):
    """Draw a shape that broadcasts to ``shape``, without some of its first axes."""
    kept = [data.draw(st.sampled_from([1, size])) for size in shape]
    return tuple(kept[data.draw(st.integers(0, len(kept) - 1)) :])


@given(shapes, st.data())
def test_repetitions_make_a_broadcast_of_an_operand(shape, data):
    small = smaller(data, shape)
    found = plan(SUM, shape, small)
    assert found.repeats[0] == []
    elements = np.arange(math.prod(small))
    for group, times in found.repeats[1]:
        elements = np.tile(elements.reshape(-1, group), times).reshape(-1)
    wanted = np.broadcast_to(np.arange(math.prod(small)).reshape(small), shape)
    assert np.array_equal(elements, wanted.reshape(-1))
    assert all(times > 1 for _, times in found.repeats[1])


@given(shapes, st.data())
def test_an_operand_is_as_far_ahead_and_behind_as_its_elements_say(shape, data):
    """By counting for each beat of results what has been taken, once or more often."""
    small = smaller(data, shape)
    found = plan(SUM, shape, small)
    lanes = data.draw(st.sampled_from(found.lanes()))
    skew = found.skew(lanes)
    if not found.repeats[1]:
        assert skew == ()
        return
    assert skew[0] == (0, 0)
    elements = np.broadcast_to(np.arange(math.prod(small)).reshape(small), shape).reshape(-1)
    size, total = math.prod(small), math.prod(shape)
    ahead, taken = [], set()
    for beat in elements.reshape(-1, lanes):
        taken |= set(range(int(beat.max()) + 1))
        done = len(ahead) + 1
        ahead.append(Fraction(len(taken), size) - Fraction(done * lanes, total))
    assert skew[1] == (max(ahead), max(0, -min(ahead)))


@given(shapes, st.data())
def test_every_number_of_lanes_lies_within_a_group(shape, data):
    small = smaller(data, shape)
    found = plan(SUM, shape, small)
    for lanes in found.lanes():
        assert shape[-1] % lanes == 0
        assert all(group % lanes == 0 for group, _ in found.repeats[1])
    if small[-1] == 1 < shape[-1]:
        assert found.lanes() == [1]


@pytest.mark.parametrize(
    ("values", "lanes", "shortest"),
    [
        ([5] * 8, 1, 1),
        ([5] * 8, 4, 4),
        ([1, 2] * 6, 1, 2),
        ([1, 2] * 6, 4, 4),
        ([1, 2, 3] * 4, 2, 6),
        ([1, 2, 1, 2, 1, 3], 1, 6),
    ],
)
def test_only_what_does_not_repeat_is_stored(values, lanes, shortest):
    assert period(np.array(values), lanes).tolist() == values[:shortest]


@pytest.mark.parametrize("shape", [(2, 6), (3, 1), (1,)])
@pytest.mark.parametrize("op", [SUM, QMul(x_zero_point=0, y_zero_point=0, rescale=HALF,
                                          zero_point=0)])  # fmt: skip
def test_foldings_multiply_in_time_or_in_space(op, shape):
    """Each frame takes the beats, times the cycles of the requantizer, and slices for each lane."""
    found = plan(op, shape, np.ones(shape[-1:], np.int8))
    size, choices = math.prod(shape), found.folds()
    assert {fold.pe for fold in choices} == {n for n in range(1, 7) if shape[-1] % n == 0}
    single = {fold.beat_cycles: fold.multipliers for fold in choices if fold.pe == 1}
    # More cycles take fewer multipliers.
    ordered = [single[cycles] for cycles in sorted(single)]
    assert ordered == sorted(ordered, reverse=True)
    assert len(set(ordered)) > 1
    for fold in choices:
        assert fold.cycles == size // fold.pe * fold.beat_cycles
        assert fold.multipliers == fold.pe * single[fold.beat_cycles]
        assert found.build(fold).cell.multipliers == fold.multipliers
