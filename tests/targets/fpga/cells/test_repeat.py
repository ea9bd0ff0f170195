"""Repeated streams and constants."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, drive, run_cell

from rlx_fpga.cells.repeat import Constant, Repeat
from support.messages import raises


@settings(max_examples=12)
@given(
    lanes=st.integers(1, 2),
    beats=st.integers(1, 4),
    times=st.integers(1, 4),
    stalls=st.tuples(st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.5])),
)
def test_repeat_gives_each_group_again(lanes, beats, times, stalls):
    x = np.random.default_rng(beats).integers(-128, 128, (3, beats, lanes))
    wanted = np.repeat(x, times, axis=0).reshape(-1, lanes)
    cell = Repeat(lanes, beats, times)
    run = run_cell(
        cell, x.reshape(-1, lanes), len(wanted), stall_in=stalls[0], stall_out=stalls[1], idle=5
    )
    assert np.array_equal(run.output, wanted)


def test_repeat_gives_a_beat_in_every_cycle():
    run = run_cell(Repeat(1, 3, 2), np.arange(12).reshape(-1, 1), 24)
    assert run.latency == 1
    assert np.all(np.diff(run.given["o"]) == 1)


def test_repeat_starts_anew_after_a_reset():
    x = np.arange(6).reshape(-1, 1)
    run = run_cell(Repeat(1, 2, 3), x, 18, reset_after=6)
    assert np.array_equal(run.output[:, 0], np.repeat(x.reshape(3, 2), 3, axis=0).ravel())


@pytest.mark.parametrize("arguments", [(0, 2), (2, 0)])
def test_repeat_refuses(arguments):
    with raises(ValueError):
        Repeat(1, *arguments)


@pytest.mark.parametrize(("count", "lanes"), [(1, 1), (6, 2), (5, 1)])
@pytest.mark.parametrize("stall", [0.0, 0.5])
def test_constant_comes_again_and_again(count, lanes, stall):
    values = np.random.default_rng(count).integers(-128, 128, count).astype(np.int8)
    wanted = np.tile(values, 4).reshape(-1, lanes)
    run = drive(Constant(values, lanes), {}, {"o": len(wanted)}, stall_out=stall, reset_after=3)
    assert np.array_equal(run.output, wanted)
    if not stall:
        assert run.given["o"] == list(range(1, len(wanted) + 1))


@pytest.mark.parametrize(("count", "lanes"), [(0, 1), (3, 2)])
def test_constant_refuses_beats_that_are_not_full(count, lanes):
    with raises(ValueError):
        Constant(np.zeros(count, np.int8), lanes)


@pytest.mark.sim
def test_cells_are_lint_clean(tmp_path):
    assert_lint_clean(Repeat(2, 3, 4), tmp_path, "repeat")
    assert_lint_clean(Constant(np.arange(6, dtype=np.int8), 2), tmp_path, "constant")
