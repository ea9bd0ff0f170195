"""Clamps and offsets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, run_cell

from rlx_fpga.cells.unary import Clamp, Offset
from support.messages import raises

STALLS = st.tuples(st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.5]))


@settings(max_examples=10)
@given(bounds=st.tuples(st.integers(-128, 127), st.integers(-128, 127)), stalls=STALLS)
def test_clamp_equals_numpy(bounds, stalls):
    low, high = sorted(bounds)
    x = np.arange(-128, 128).reshape(-1, 2)
    run = run_cell(Clamp(2, low, high), x, 128, stall_in=stalls[0], stall_out=stalls[1], idle=5)
    assert np.array_equal(run.output, np.clip(x, low, high))


@settings(max_examples=10)
@given(width=st.integers(2, 20), offset=st.integers(-(1 << 20), 1 << 20), stalls=STALLS)
def test_offset_adds_and_never_overflows(width, offset, stalls):
    half = 1 << (width - 1)
    x = np.random.default_rng(width).integers(-half, half, (40, 1))
    x[:2, 0] = -half, half - 1
    cell = Offset(1, width, offset)
    run = run_cell(cell, x, 40, stall_in=stalls[0], stall_out=stalls[1], idle=5)
    assert np.array_equal(run.output, x + offset)


@pytest.mark.parametrize("cell", [Clamp(1, 0, 127), Offset(1, 8, 5)])
def test_cells_keep_up_and_start_anew_after_a_reset(cell):
    x = np.arange(0, 20).reshape(-1, 1)
    run = run_cell(cell, x, 20, reset_after=6)
    assert run.latency == cell.latency == 1
    assert np.all(np.diff(run.given["o"]) == 1)
    assert np.array_equal(run.output, x + getattr(cell, "offset", 0))


def test_clamp_refuses_bounds_out_of_order():
    with raises(ValueError):
        Clamp(1, 4, 3)


@pytest.mark.sim
def test_cells_are_lint_clean(tmp_path):
    assert_lint_clean(Clamp(2, -3, 100), tmp_path, "clamp")
    assert_lint_clean(Offset(2, 12, -300), tmp_path, "offset")
