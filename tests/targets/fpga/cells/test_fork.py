import numpy as np
import pytest
from targets.fpga.harness import assert_lint_clean, drive

from rlx_fpga.cells.fork import Fork
from support.messages import raises


@pytest.mark.parametrize("stalls", [(0.0, 0.0), (0.4, 0.0), (0.0, 0.6), (0.3, 0.3)])
def test_fork_gives_every_beat_to_each_once(stalls):
    x = np.random.default_rng(1).integers(-128, 128, (60, 2))
    counts = {"o0": 60, "o1": 60, "o2": 60}
    run = drive(Fork(2, 3), {"i": x}, counts, stall_in=stalls[0], stall_out=stalls[1], idle=3)
    for output in run.outputs.values():
        assert np.array_equal(output, x)
    if stalls == (0.0, 0.0):
        assert run.latency == 0
        assert np.all(np.diff(run.given["o2"]) == 1)


def test_fork_starts_anew_after_reset():
    x = np.random.default_rng(1).integers(-128, 128, (20, 1))
    run = drive(Fork(1, 2), {"i": x}, {"o0": 20, "o1": 20}, stall_out=0.6, reset_after=8)
    assert np.array_equal(run.outputs["o0"], x)
    assert np.array_equal(run.outputs["o1"], x)


def test_fork_refuses_one_consumer():
    with raises(ValueError):
        Fork(1, 1)


def test_fork_lint(tmp_path):
    assert_lint_clean(Fork(2, 3), tmp_path)
