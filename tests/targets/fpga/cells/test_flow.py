"""Jitter of streams of which parts are left out, or padded."""

from fractions import Fraction

import pytest

from rlx_fpga.cells.flow import raster_indices, spread
from rlx_fpga.cells.pad import Pad, Slice


def test_indices_of_a_part_are_those_of_its_raster():
    assert raster_indices((3, 4), (range(1, 3), (0, 3))).tolist() == [4, 7, 8, 11]
    assert raster_indices((), ()).tolist() == [0]


@pytest.mark.parametrize(
    ("times", "total", "beats"),
    [([0, 1, 2, 3], 4, 1), ([0, 1], 4, 1.5), ([2, 3], 4, 1.5), ([0, 2], 4, 1), ([0], 9, 1)],
)
def test_jitter_counts_the_beats_that_wait(times, total, beats):
    # One beat waits at a constant rate, too.
    assert spread(times, total) * len(times) == beats


def test_the_jitter_of_padding_and_slices_is_their_longest_pause():
    # Two cycles of padding, a third in which a beat waits in any case.
    assert Pad(1, (6,), (0,), (2,), 0).jitter * 8 == 3
    # The first half is left out; every second one is left out evenly.
    assert Slice(1, (4,), (2,), (4,), (1,)).jitter == Fraction(3, 4)
    assert Slice(1, (8,), (0,), (8,), (2,)).jitter == Fraction(1, 4)
