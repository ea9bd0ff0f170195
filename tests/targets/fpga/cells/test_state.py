"""The memory of a state: one value first, then what the frame before left."""

import numpy as np
import pytest
from targets.fpga.harness import assert_lint_clean, run_cell

from rlx_fpga.cells.state import StateMemory

BEATS = 5


@pytest.mark.parametrize("stalls", [(0.0, 0.0), (0.4, 0.3)])
@pytest.mark.parametrize("reset_after", [0, 7])
def test_a_frame_of_the_value_comes_before_the_others(stalls, reset_after):
    x = np.random.default_rng(1).integers(-128, 128, (4 * BEATS, 3))
    options = {"reset_after": reset_after} if reset_after else {}
    run = run_cell(
        StateMemory(3, BEATS, -9), x, 5 * BEATS, stall_in=stalls[0], stall_out=stalls[1], **options
    )
    np.testing.assert_array_equal(run.output[:BEATS], np.full((BEATS, 3), -9))
    np.testing.assert_array_equal(run.output[BEATS:], x)


def test_two_frames_fit_beside_the_value():
    x = np.arange(2 * BEATS).reshape(-1, 1)
    run = run_cell(StateMemory(1, BEATS, 3), x, 3 * BEATS, idle=30)
    np.testing.assert_array_equal(run.output[BEATS:], x)


def test_lint_is_clean(tmp_path):
    assert_lint_clean(StateMemory(2, 1, 7), tmp_path)
