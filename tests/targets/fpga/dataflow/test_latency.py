"""When results come follows from when operands come and what layers need of them."""

import pytest

from rlx_fpga.architectures.dataflow.latency import (
    EVEN,
    Progress,
    StageTiming,
    arrival_curves,
    at_once,
    fill,
    repeated,
)

# A window of two rows over an image of four: three rows of results.
WINDOW = (Progress(0.5, 0, 0), Progress(0.75, 1 / 3, 1 / 3), Progress(1, 2 / 3, 2 / 3))


def last(*timings, inputs=100):
    found = arrival_curves(timings, {-1: inputs})
    return found[len(timings) - 1][-1]


def test_what_gives_as_it_takes_is_late_by_its_registers_only():
    assert last(StageTiming((-1,), EVEN, 80, 7)) == (1, 107)


def test_what_gives_as_it_takes_but_slower_sets_the_time():
    assert last(StageTiming((-1,), EVEN, 300, 7)) == (1, 307)


def test_what_needs_everything_begins_at_the_end():
    assert last(StageTiming((-1,), at_once(), 60, 1)) == (1, 161)
    assert last(StageTiming((-1,), at_once(0.1), 60, 1)) == (1, 107)
    # Two images: the second one is awaited while the first is worked on.
    assert last(StageTiming((-1,), repeated(at_once(), 2), 60, 1)) == (1, 131)


@pytest.mark.parametrize(("cycles", "end"), [(30, 110), (90, 140), (300, 350)])
def test_a_window_waits_for_rows_or_rows_wait_for_it(cycles, end):
    assert last(StageTiming((-1,), WINDOW, cycles, 0)) == (1, end)


def test_of_several_operands_the_latest_counts():
    short, long = StageTiming((-1,), EVEN, 100, 5), StageTiming((-1,), at_once(), 50, 5)
    both = StageTiming((0, 1), EVEN, 10, 1)
    assert last(short, long, both) == (1, 156)


def test_results_come_evenly_between_steps():
    quick = StageTiming((-1,), at_once(), 40, 0)
    assert last(quick, StageTiming((0,), (Progress(0.5, 0, 0),), 100, 0)) == (1, 220)


def test_fill_is_that_of_the_longest_way():
    timings = [
        StageTiming((-1,), WINDOW, 10, 0),
        StageTiming((-1,), at_once(), 10, 0),
        StageTiming((0, 1), EVEN, 10, 0),
        StageTiming((2,), WINDOW, 10, 0),
    ]
    assert fill(timings, [0]) == 0.5
    assert fill(timings, [3]) == 1.5
    assert fill(timings, [-1]) == 0
