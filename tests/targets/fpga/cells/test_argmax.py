"""Argmax against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, run_cell, to_beats

from rlx_fpga.cells.argmax import Argmax
from support.messages import raises


@settings(max_examples=20)
@given(
    count=st.integers(1, 12),
    spread=st.sampled_from([1, 3, 128]),
    stalls=st.tuples(st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.5])),
    seed=st.integers(0, 1000),
)
def test_argmax_equals_numpy(count, spread, stalls, seed):
    x = np.random.default_rng(seed).integers(-spread, spread, (6, count))
    run = run_cell(
        Argmax(count), to_beats(x, 1), 6, stall_in=stalls[0], stall_out=stalls[1], idle=5
    )
    assert np.array_equal(run.output[:, 0], np.argmax(x, axis=1))


def test_argmax_takes_a_code_in_every_cycle():
    x = np.random.default_rng(0).integers(-128, 128, (4, 5))
    run = run_cell(Argmax(5), to_beats(x, 1), 4)
    assert run.given["o"] == [5, 10, 15, 20]


def test_argmax_starts_anew_after_a_reset():
    x = np.random.default_rng(1).integers(-128, 128, (3, 6))
    run = run_cell(Argmax(6), to_beats(x, 1), 3, reset_after=9)
    assert np.array_equal(run.output[:, 0], np.argmax(x, axis=1))


def test_argmax_refuses_an_empty_axis():
    with raises(ValueError):
        Argmax(0)


@pytest.mark.sim
def test_argmax_is_lint_clean(tmp_path):
    assert_lint_clean(Argmax(10), tmp_path)
