"""Tables by channel against indexing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, drive, run_cell

from rlx_fpga.architectures.extremes import Extreme
from rlx_fpga.cells.channel_table import ChannelTable
from support.messages import raises

STALLS = st.tuples(st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.5]))


def tables(channels):
    return np.random.default_rng(channels).integers(-128, 128, (channels, 256)).astype(np.int8)


@settings(max_examples=8)
@given(lanes=st.integers(1, 3), blocks=st.integers(1, 3), stalls=STALLS)
def test_table_of_each_channel_is_indexed(lanes, blocks, stalls):
    channels = lanes * blocks
    x = np.random.default_rng(lanes).integers(-128, 128, (20, channels))
    beats = x.reshape(-1, lanes)
    cell = ChannelTable(lanes, tables(channels))
    run = run_cell(cell, beats, len(beats), stall_in=stalls[0], stall_out=stalls[1], idle=5)
    expected = tables(channels)[np.arange(channels), x + 128]
    assert np.array_equal(run.output, expected.reshape(-1, lanes))


def test_channel_table_keeps_up():
    run = run_cell(ChannelTable(1, tables(3)), np.zeros((30, 1), int), 30)
    assert run.latency == 1
    assert np.all(np.diff(run.given["o"]) == 1)


def test_channels_are_counted_anew_after_a_reset():
    x = np.arange(8).reshape(-1, 1)
    run = run_cell(ChannelTable(1, tables(2)), x, 8, reset_after=3, stall_out=0.5)
    assert np.array_equal(run.output[:, 0], tables(2)[np.arange(8) % 2, x[:, 0] + 128])


@pytest.mark.parametrize(
    ("lanes", "shape"),
    [(2, (3, 256)), (1, (3, 16))],
)
def test_wrong_tables_are_refused(lanes, shape):
    with raises(ValueError):
        ChannelTable(lanes, np.zeros(shape, np.int8))


@settings(max_examples=8)
@given(larger=st.booleans(), lanes=st.integers(1, 2), stalls=STALLS)
def test_extreme_takes_one_of_each_pair(larger, lanes, stalls):
    x = np.random.default_rng(lanes).integers(-128, 128, (2, 60, lanes))
    cell = Extreme(lanes, larger=larger)
    got = drive(
        cell, {"i0": x[0], "i1": x[1]}, {"o": 60}, stall_in=stalls[0], stall_out=stalls[1], idle=5
    )
    assert np.array_equal(got.output, (np.maximum if larger else np.minimum)(x[0], x[1]))


@pytest.mark.parametrize("cell", [ChannelTable(2, tables(6)), Extreme(2, larger=True)])
def test_cells_are_lint_clean(cell, tmp_path):
    assert_lint_clean(cell, tmp_path)
