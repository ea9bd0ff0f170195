"""Sums and products of two streams."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, drive

from rlx_fpga.cells.arith import Product, ScaledSum
from rlx_fpga.cells.rom import signed_bits
from support.messages import raises

STALLS = st.tuples(st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.5]))


def codes(lanes, seed, beats=60):
    x = np.random.default_rng(seed).integers(-128, 128, (2, beats, lanes))
    x[0, :4], x[1, :4] = [[-128], [-128], [127], [127]], [[-128], [127], [-128], [127]]
    return x


def run(cell, x, **options):
    return drive(cell, {"i0": x[0], "i1": x[1]}, {"o": len(x[0])}, **options)


@settings(max_examples=10)
@given(lanes=st.integers(1, 2), stalls=STALLS, seed=st.integers(0, 100))
def test_scaled_sum_adds_what_the_tables_hold(lanes, stalls, seed):
    tables = np.random.default_rng(seed).integers(-(1 << 28), 1 << 28, (2, 256))
    cell = ScaledSum(lanes, tables[0].tolist(), tables[1].tolist())
    x = codes(lanes, seed)
    got = run(cell, x, stall_in=stalls[0], stall_out=stalls[1], idle=5)
    assert np.array_equal(got.output, tables[0][x[0] + 128] + tables[1][x[1] + 128])


@settings(max_examples=10)
@given(
    zero_points=st.tuples(st.integers(-128, 127), st.integers(-128, 127)),
    stalls=STALLS,
    lanes=st.integers(1, 2),
)
def test_product_multiplies_centred_codes(zero_points, stalls, lanes):
    x = codes(lanes, 1)
    cell = Product(lanes, *zero_points)
    got = run(cell, x, stall_in=stalls[0], stall_out=stalls[1], idle=5)
    assert np.array_equal(got.output, (x[0] - zero_points[0]) * (x[1] - zero_points[1]))


@pytest.mark.parametrize("cell", [ScaledSum(1, range(256), range(256)), Product(1, 0, 0)])
def test_cells_keep_up_and_promise_their_latency(cell):
    got = run(cell, codes(1, 2))
    assert got.latency == cell.latency == 3
    assert np.all(np.diff(got.given["o"]) == 1)


def test_scaled_sum_starts_anew_after_a_reset():
    x = codes(1, 3)
    got = run(ScaledSum(1, range(256), [0] * 256), x, reset_after=5, stall_out=0.5)
    assert np.array_equal(got.output, x[0] + 128)


def test_widths_are_the_smallest_that_hold_all_results():
    assert ScaledSum(1, [-4] * 256, [3] * 256).width == 1
    assert ScaledSum(3, [100] * 256, [-1] * 256).memory_bits == 3 * 256 * (8 + 1)
    assert Product(1, 0, 0).width == 16
    assert Product(1, -128, 127).width == 17
    assert [signed_bits(n) for n in (-129, -128, -1, 0, 1, 127, 128)] == [9, 8, 1, 1, 2, 8, 9]


def test_scaled_sum_refuses_short_tables():
    with raises(ValueError):
        ScaledSum(1, range(255), range(256))


@pytest.mark.sim
def test_cells_are_lint_clean(tmp_path):
    assert_lint_clean(ScaledSum(2, range(256), range(256)), tmp_path, "sum")
    assert_lint_clean(Product(2, 3, -4), tmp_path, "product")
