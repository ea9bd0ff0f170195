"""The table cell against indexing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, run_cell

from rlx_fpga.cells.table import Table
from support.messages import raises

TABLE = np.random.default_rng(3).integers(-128, 128, 256)


@settings(max_examples=8)
@given(
    lanes=st.integers(1, 3),
    stalls=st.tuples(st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.5])),
)
def test_table_equals_indexing(lanes, stalls):
    x = np.random.default_rng(lanes).integers(-128, 128, (60, lanes))
    cell = Table(lanes, TABLE.tolist())
    run = run_cell(cell, x, 60, stall_in=stalls[0], stall_out=stalls[1], idle=5)
    assert np.array_equal(run.output, TABLE[x + 128])


def test_table_knows_every_code_and_keeps_up():
    x = np.arange(-128, 128).reshape(-1, 1)
    wide = np.arange(256) * 1000 - 100_000
    run = run_cell(Table(1, wide.tolist(), width=20), x, 256)
    assert np.array_equal(run.output[:, 0], wide)
    assert run.latency == 1
    assert np.all(np.diff(run.given["o"]) == 1)


def test_table_starts_anew_after_a_reset():
    x = np.arange(-5, 5).reshape(-1, 1)
    run = run_cell(Table(1, TABLE.tolist()), x, 10, reset_after=4, stall_out=0.5)
    assert np.array_equal(run.output, TABLE[x + 128])


def test_table_counts_its_memory():
    assert Table(3, TABLE.tolist()).memory_bits == 3 * 256 * 8


@pytest.mark.parametrize(
    "table",
    [[0] * 255, [128] * 256],
)
def test_table_refuses_entries_that_do_not_fit(table):
    with raises(ValueError):
        Table(1, table)


@pytest.mark.sim
def test_table_is_lint_clean(tmp_path):
    assert_lint_clean(Table(2, TABLE.tolist()), tmp_path)
