import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, run_cell, to_beats

from rlx_fpga.cells.width import WidthConverter, conversion_steps
from support.messages import raises

RATIOS = [(1, 4), (6, 2), (4, 6), (6, 4), (3, 3)]


def pixels(count, channels, seed=0):
    return np.random.default_rng(seed).integers(-128, 128, (count, channels))


@settings(max_examples=12)
@given(
    ratio=st.sampled_from(RATIOS),
    stall_in=st.sampled_from([0.0, 0.4]),
    stall_out=st.sampled_from([0.0, 0.4]),
)
def test_width_converter_keeps_the_order(ratio, stall_in, stall_out):
    lanes_in, lanes_out = ratio
    x = pixels(20, 12)
    cell = WidthConverter(lanes_in, lanes_out, 12)
    expected = to_beats(x, lanes_out)
    run = run_cell(
        cell, to_beats(x, lanes_in), len(expected), stall_in=stall_in, stall_out=stall_out, idle=4
    )
    assert np.array_equal(run.output, expected)


@pytest.mark.parametrize("ratio", RATIOS)
def test_width_converter_moves_a_beat_a_cycle_on_the_narrow_side(ratio):
    lanes_in, lanes_out = ratio
    x = pixels(20, 12)
    expected = to_beats(x, lanes_out)
    run = run_cell(WidthConverter(*ratio, 12), to_beats(x, lanes_in), len(expected))
    narrow = run.taken["i"] if lanes_in < lanes_out else run.given["o"]
    assert np.all(np.diff(narrow) == 1)


@pytest.mark.parametrize("ratio", RATIOS)
def test_width_converter_starts_anew_after_reset(ratio):
    lanes_in, lanes_out = ratio
    x = pixels(8, 12)
    expected = to_beats(x, lanes_out)
    cell = WidthConverter(*ratio, 12)
    run = run_cell(cell, to_beats(x, lanes_in), len(expected), stall_in=0.2, reset_after=5)
    assert np.array_equal(run.output, expected)


def test_conversion_goes_through_the_least_common_multiple():
    assert conversion_steps(4, 6) == [(4, 12), (12, 6)]
    assert conversion_steps(8, 2) == [(8, 2)]
    assert conversion_steps(5, 5) == []


def test_width_converter_refuses_lanes_that_do_not_divide():
    with raises(ValueError):
        WidthConverter(5, 4, 12)


def test_width_converter_lint(tmp_path):
    assert_lint_clean(WidthConverter(4, 6, 12), tmp_path)
