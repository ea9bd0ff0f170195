"""The softmax cell against the definition in rlx.ops.numerics."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, run_cell, to_beats

from rlx.ops.numerics.exponential import softmax_int8, softmax_scaling, softmax_table
from rlx_fpga.cells.softmax import Softmax
from support.messages import raises

pytestmark = pytest.mark.slow  # Each simulates a cell.


def make(count, scale):
    values = softmax_scaling(scale)
    return Softmax(count, softmax_table(*values).tolist()), values


@pytest.mark.parametrize(
    ("count", "scale"), [(1, 0.1), (2, 0.05), (10, 0.17), (12, 0.003), (7, 1.5), (100, 0.02)]
)
def test_softmax_equals_the_definition(count, scale):
    cell, values = make(count, scale)
    rng = np.random.default_rng(count)
    x = rng.integers(-128, 128, (6, count)).astype(np.int8)
    x[1], x[2] = -128, 127
    x[3, : count // 2] = -128
    run = run_cell(cell, to_beats(x, 1), x.size, stall_in=0.2, stall_out=0.3, idle=20)
    assert np.array_equal(run.output.reshape(x.shape), softmax_int8(x, *values))


@settings(max_examples=12)
@given(
    scale=st.floats(1e-3, 4.0),
    x=st.lists(st.lists(st.integers(-128, 127), min_size=5, max_size=5), min_size=3, max_size=3),
)
def test_softmax_equals_the_definition_for_any_scale(scale, x):
    cell, values = make(5, scale)
    codes = np.array(x, np.int8)
    run = run_cell(cell, to_beats(codes, 1), codes.size)
    assert np.array_equal(run.output.reshape(codes.shape), softmax_int8(codes, *values))


@pytest.mark.parametrize("count", [1, 2, 12])
def test_softmax_takes_the_cycles_it_promises(count):
    cell, _ = make(count, 0.1)
    x = np.random.default_rng(0).integers(-128, 128, (3, count))
    run = run_cell(cell, to_beats(x, 1), x.size)
    assert run.given["o"][0] - run.taken["i"][count - 1] == cell.latency == count + 109
    assert run.interval(count) == cell.interval == 17 * count + 93


def test_softmax_starts_anew_after_a_reset():
    cell, values = make(4, 0.1)
    x = np.random.default_rng(1).integers(-128, 128, (2, 4)).astype(np.int8)
    for cycles in (2, 30, 95):
        run = run_cell(cell, to_beats(x, 1), x.size, reset_after=cycles)
        assert np.array_equal(run.output.reshape(x.shape), softmax_int8(x, *values))


def test_softmax_refuses_what_would_overflow():
    with raises(ValueError):
        Softmax(4096, [0] * 256)
    with raises(ValueError):
        Softmax(3, [0] * 255)


@pytest.mark.sim
def test_softmax_is_lint_clean(tmp_path):
    assert_lint_clean(make(12, 0.1)[0], tmp_path)
