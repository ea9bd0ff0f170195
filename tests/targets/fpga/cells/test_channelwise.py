import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, run_cell, to_beats

from rlx_fpga.cells.channelwise import Depthwise, GlobalPool, Pool
from rlx_fpga.cells.multiply import Packing

pytestmark = pytest.mark.slow  # Each simulates a cell.

STALLS = st.sampled_from([0.0, 0.5])


def feed(x, pe):
    """Beats of the windows ``x`` [n, taps, channels] in channelwise order."""
    n, taps, channels = x.shape
    return to_beats(x.reshape(n, taps, channels // pe, pe).transpose(0, 2, 1, 3), pe)


def codes(*shape, seed=0):
    return np.random.default_rng(seed).integers(-128, 128, shape)


@settings(max_examples=20)
@given(
    taps=st.integers(1, 6),
    blocks=st.integers(1, 3),
    pe=st.integers(1, 4),
    multiplier=st.integers(1, 2),
    stalls=st.tuples(STALLS, STALLS),
)
def test_depthwise_convolves(taps, blocks, pe, multiplier, stalls):
    channels = blocks * pe
    weights = codes(channels * multiplier, taps, seed=1).astype(np.int8)
    bias = codes(channels * multiplier, seed=2) * 50
    cell = Depthwise(weights, bias, channels=channels, pe=pe)
    x = codes(4, taps, channels)
    expected = np.einsum("ntc,ct->nc", np.repeat(x, multiplier, axis=2), weights.astype(int)) + bias
    expected = to_beats(expected, cell.lanes)
    beats = feed(x, pe)
    run = run_cell(cell, beats, len(expected), stall_in=stalls[0], stall_out=stalls[1], idle=20)
    assert np.array_equal(run.output, expected)
    if stalls == (0.0, 0.0):
        assert np.all(np.diff(run.taken["i"]) == 1)
        assert run.given["o"][0] - run.taken["i"][taps - 1] == cell.latency


@pytest.mark.parametrize(
    ("packing", "pe", "multipliers"),
    [
        (Packing.SHARED_OPERAND, 3, 3),
        (Packing.INDEPENDENT, 3, 2),
        (Packing.INDEPENDENT, 4, 2),
        (Packing.INDEPENDENT, 1, 1),
    ],
)
def test_depthwise_products_share_blocks_that_ask_for_nothing_in_common(packing, pe, multipliers):
    weights = codes(12, 4, seed=1).astype(np.int8)
    cell = Depthwise(weights, None, channels=12, pe=pe, packing=packing)
    assert cell.multipliers == multipliers
    x = codes(2, 4, 12)
    expected = to_beats(np.einsum("ntc,ct->nc", x, weights.astype(int)), cell.lanes)
    run = run_cell(cell, feed(x, pe), len(expected), stall_in=0.3, stall_out=0.3)
    assert np.array_equal(run.output, expected)


@settings(max_examples=20)
@given(
    kind=st.sampled_from(["sum", "max"]),
    taps=st.integers(1, 6),
    pe=st.integers(1, 4),
    stalls=st.tuples(STALLS, STALLS),
)
def test_pool_reduces(kind, taps, pe, stalls):
    cell = Pool(kind, taps=taps, pe=pe)
    x = codes(5, taps, 2 * pe)
    expected = to_beats(x.sum(axis=1) if kind == "sum" else x.max(axis=1), cell.lanes)
    beats = feed(x, pe)
    run = run_cell(cell, beats, len(expected), stall_in=stalls[0], stall_out=stalls[1], idle=20)
    assert np.array_equal(run.output, expected)
    if stalls == (0.0, 0.0):
        assert np.all(np.diff(run.taken["i"]) == 1)
        assert run.given["o"][0] - run.taken["i"][taps - 1] == cell.latency


@settings(max_examples=20)
@given(
    kind=st.sampled_from(["sum", "max"]),
    pixels=st.integers(1, 6),
    blocks=st.integers(1, 3),
    lanes=st.integers(1, 3),
    stalls=st.tuples(STALLS, STALLS),
)
def test_global_pool_reduces_a_frame(kind, pixels, blocks, lanes, stalls):
    cell = GlobalPool(kind, pixels=pixels, channels=blocks * lanes, lanes=lanes)
    x = codes(4, pixels, blocks * lanes)
    expected = to_beats(x.sum(axis=1) if kind == "sum" else x.max(axis=1), lanes)
    beats = to_beats(x, lanes)
    run = run_cell(cell, beats, len(expected), stall_in=stalls[0], stall_out=stalls[1], idle=9)
    assert np.array_equal(run.output, expected)
    if stalls == (0.0, 0.0):
        assert np.all(np.diff(run.taken["i"]) == 1)
        assert run.given["o"][0] - run.taken["i"][(pixels - 1) * blocks] == cell.latency


@pytest.mark.parametrize("value", [-128, 127])
def test_pool_sum_holds_the_extremes(value):
    cell = Pool("sum", taps=9, pe=1)
    run = run_cell(cell, np.full((9, 1), value), 1)
    assert run.output[0, 0] == 9 * value
    assert cell.out_bits == 12


def test_channelwise_units_start_anew_after_reset():
    x = codes(3, 5, 4)
    cell = GlobalPool("max", pixels=5, channels=4, lanes=2)
    run = run_cell(cell, to_beats(x, 2), 6, stall_out=0.2, reset_after=13)
    assert np.array_equal(run.output, to_beats(x.max(axis=1), 2))
    run = run_cell(Pool("max", taps=5, pe=2), feed(x, 2), 12, stall_out=0.2, reset_after=13)
    assert np.array_equal(run.output, to_beats(x.max(axis=1), 1))
    weights = codes(4, 5).astype(np.int8)
    cell = Depthwise(weights, None, channels=4, pe=2)
    expected = to_beats(np.einsum("ntc,ct->nc", x, weights.astype(int)), cell.lanes)
    run = run_cell(cell, feed(x, 2), len(expected), stall_out=0.2, reset_after=13)
    assert np.array_equal(run.output, expected)


def test_channelwise_lint(tmp_path):
    weights = codes(6, 5).astype(np.int8)
    assert_lint_clean(Depthwise(weights, codes(6), channels=6, pe=2), tmp_path)
    assert_lint_clean(Pool("max", taps=4, pe=3), tmp_path)
    assert_lint_clean(GlobalPool("sum", pixels=6, channels=6, lanes=2), tmp_path)
    assert_lint_clean(Pool("sum", taps=1, pe=3), tmp_path)
