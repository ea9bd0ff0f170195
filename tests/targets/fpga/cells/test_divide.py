"""The dividing cell against rounding division in whole numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, run_cell, to_beats

from rlx_fpga.cells.divide import Divide, reciprocals
from support.messages import raises


def divided(x, count, zero_point=0, low=-128, high=127):
    magnitude = (np.abs(x) + count // 2) // count
    return np.clip(np.where(x < 0, -magnitude, magnitude) + zero_point, low, high)


@given(
    pairs=st.lists(st.tuples(st.integers(1, 3000), st.integers(0, 1 << 16)), min_size=1, max_size=4)
)
def test_reciprocals_are_exact(pairs):
    divisors, bounds = zip(*pairs, strict=True)
    found = reciprocals(divisors, bounds)
    assert len({one.shift for one in found}) == 1
    rng = np.random.default_rng(0)
    for one, divisor, bound in zip(found, divisors, bounds, strict=True):
        ends = np.arange(divisor - 1, bound + 1, divisor)
        n = np.unique(np.concatenate([ends, [0, bound], rng.integers(0, bound + 1, 100)]))
        assert np.array_equal((n * one.factor) >> one.shift, n // divisor)


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 25, 64, 125])
def test_reciprocals_are_exact_over_the_whole_range(divisor):
    (one,) = reciprocals([divisor], [200 * divisor])
    n = np.arange(200 * divisor + 1)
    assert np.array_equal((n * one.factor) >> one.shift, n // divisor)


def test_reciprocal_of_a_power_of_two_is_a_shift():
    (one,) = reciprocals([64], [1 << 15])
    assert (one.factor, one.shift) == (1, 6)


@pytest.mark.parametrize(("divisors", "bounds"), [([0], [5]), ([3], [-1]), ([], [])])
def test_reciprocals_refuse(divisors, bounds):
    with raises(ValueError):
        reciprocals(divisors, bounds)


def codes_sum(count, shape, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-128 * count, 127 * count + 1, shape)
    halves = np.clip(rng.integers(-128, 127, shape) * count + (count // 2), -128 * count, None)
    return np.where(rng.random(shape) < 0.5, x, halves)


@settings(max_examples=15)
@given(
    count=st.integers(1, 300),
    lanes=st.integers(1, 3),
    zero_point=st.sampled_from([0, -128, 17]),
    stalls=st.tuples(st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.5])),
)
def test_divide_rounds_half_away_from_zero(count, lanes, zero_point, stalls):
    width = (128 * count).bit_length() + 1
    x = codes_sum(count, (40, lanes), count)
    cell = Divide(lanes, width, (count,), zero_point=zero_point, low=-100, high=120)
    run = run_cell(cell, x, 40, stall_in=stalls[0], stall_out=stalls[1], idle=5)
    assert np.array_equal(run.output, divided(x, count, zero_point, -100, 120))


@pytest.mark.parametrize(
    ("rows", "columns"), [((2, 3, 3, 2), (2, 3, 2)), ((1, 2, 2), (4,)), ((3,), (1, 1, 2))]
)
def test_divide_by_counts_that_depend_on_the_place(rows, columns):
    counts = np.outer(rows, columns)[None, :, :, None]
    x = codes_sum(9, (2, len(rows), len(columns), 4), 0)
    x = np.clip(x, -128 * counts, 127 * counts)
    maximum = 128 * int(counts.max())
    width = maximum.bit_length() + 1
    cell = Divide(2, width, rows, columns, pixel_beats=2, bound=maximum)
    wanted = to_beats(divided(x, counts), 2)
    run = run_cell(cell, to_beats(x, 2), len(wanted), stall_in=0.3, stall_out=0.3)
    assert np.array_equal(run.output, wanted)


def test_divide_keeps_up_with_a_beat_a_cycle():
    cell = Divide(1, 12, (9,))
    run = run_cell(cell, np.arange(-20, 20).reshape(-1, 1), 40)
    assert run.latency == cell.latency == 6
    assert np.all(np.diff(run.given["o"]) == 1)


def test_divide_starts_anew_after_a_reset():
    rows = (1, 2, 3)
    x = np.arange(-60, 60, 5).reshape(-1, 1)
    cell = Divide(1, 8, rows)
    run = run_cell(cell, x, len(x), reset_after=7)
    counts = np.resize(np.array(rows), len(x)).reshape(-1, 1)
    assert np.array_equal(run.output, divided(x, counts))


@pytest.mark.parametrize(("count", "multipliers"), [(64, 0), (125, 2), (7, 2)])
def test_divide_counts_its_multipliers(count, multipliers):
    width = (128 * count).bit_length() + 1
    assert Divide(2, width, (count,), bound=128 * count).multipliers == multipliers


@pytest.mark.sim
def test_divide_is_lint_clean(tmp_path):
    assert_lint_clean(Divide(2, 16, (125,), bound=125 * 128), tmp_path, "one")
    assert_lint_clean(Divide(1, 12, (2, 3, 2), (3, 3, 1), pixel_beats=3), tmp_path, "many")
