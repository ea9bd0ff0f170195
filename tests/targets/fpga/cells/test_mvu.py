import numpy as np
import pytest
from amaranth.back import rtlil, verilog
from amaranth.hdl import _ir as ir
from amaranth.hdl._ast import Concat
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import assert_lint_clean, run_cell, to_beats

from rlx_fpga.cells import weights as weights_of_a_cell
from rlx_fpga.cells.accumulate import drain_lanes
from rlx_fpga.cells.multiply import WIDE_BITS, NetlistPlatform, Packing
from rlx_fpga.cells.mvu import MatrixVector
from support.messages import raises

pytestmark = pytest.mark.slow  # Each simulates a cell.


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


def parameters(outputs, terms, seed=0, scale=127):
    rng = np.random.default_rng(seed)
    weights = rng.integers(-scale, scale + 1, (outputs, terms)).astype(np.int8)
    return weights, rng.integers(-5000, 5000, outputs).astype(np.int32)


def feed(x, cell):
    """Beats of the vectors ``x`` [n, terms], each given as often as the cell wants it."""
    return to_beats(np.repeat(x[:, None], cell.repeat, axis=1), cell.simd)


@st.composite
def cases(draw):
    outputs, terms = draw(st.sampled_from([(1, 1), (4, 6), (6, 4), (5, 3), (8, 12), (12, 1)]))
    return (
        outputs,
        terms,
        draw(st.sampled_from(divisors(outputs))),
        draw(st.sampled_from(divisors(terms))),
        draw(st.booleans()),
    )


@settings(max_examples=30)
@given(case=cases(), stall_in=st.sampled_from([0.0, 0.5]), stall_out=st.sampled_from([0.0, 0.5]))
def test_matrix_vector_multiplies(case, stall_in, stall_out):
    outputs, terms, pe, simd, with_bias = case
    weights, bias = parameters(outputs, terms)
    cell = MatrixVector(weights, bias if with_bias else None, pe=pe, simd=simd)
    x = np.random.default_rng(1).integers(-128, 128, (5, terms))
    expected = to_beats(x @ weights.T.astype(int) + bias * with_bias, cell.lanes)
    run = run_cell(
        cell, feed(x, cell), len(expected), stall_in=stall_in, stall_out=stall_out, idle=20
    )
    assert np.array_equal(run.output, expected)


@settings(max_examples=20)
@given(case=cases())
def test_matrix_vector_takes_a_beat_a_cycle_and_has_the_latency_it_claims(case):
    outputs, terms, pe, simd, _ = case
    cell = MatrixVector(*parameters(outputs, terms), pe=pe, simd=simd)
    x = np.ones((6, terms), int)
    run = run_cell(cell, feed(x, cell), 6 * outputs // cell.lanes)
    taken = run.taken["i"]
    assert np.all(np.diff(taken) == 1)
    assert run.given["o"][0] - taken[cell.group - 1] == cell.latency
    assert run.interval(outputs // cell.lanes) == cell.group * cell.repeat


@pytest.mark.parametrize(("value", "weight"), [(-128, -128), (-128, 127), (127, -128)])
def test_matrix_vector_accumulators_hold_the_extremes(value, weight):
    weights = np.full((2, 6), weight, np.int8)
    bias = np.array([3000, -3000], np.int32)
    cell = MatrixVector(weights, bias, pe=1, simd=2)
    run = run_cell(cell, feed(np.full((1, 6), value), cell), 2 // cell.lanes)
    assert np.array_equal(run.output.ravel(), 6 * value * weight + bias)


def test_matrix_vector_starts_anew_after_reset():
    weights, bias = parameters(6, 8)
    cell = MatrixVector(weights, bias, pe=3, simd=2)
    x = np.random.default_rng(2).integers(-128, 128, (4, 8))
    expected = to_beats(x @ weights.T.astype(int) + bias, cell.lanes)
    run = run_cell(cell, feed(x, cell), len(expected), stall_out=0.3, reset_after=21)
    assert np.array_equal(run.output, expected)


@st.composite
def idle_cases(draw):
    outputs, terms, pe, simd = draw(
        st.sampled_from([(5, 4, 2, 1), (7, 6, 3, 2), (6, 8, 4, 2), (10, 9, 4, 3), (9, 14, 7, 1)])
    )
    most = terms // simd // pe
    return outputs, terms, pe, simd, draw(st.integers(1, max(most, 1)))


@settings(max_examples=30)
@given(
    case=idle_cases(),
    stall_in=st.sampled_from([0.0, 0.5]),
    stall_out=st.sampled_from([0.0, 0.5]),
    reset_after=st.sampled_from([None, 19]),
)
def test_matrix_vector_leaves_out_idle_results(case, stall_in, stall_out, reset_after):
    outputs, terms, pe, simd, beat_cycles = case
    weights, bias = parameters(outputs, terms)
    cell = MatrixVector(weights, bias, pe=pe, simd=simd, beat_cycles=beat_cycles)
    assert (cell.repeat, cell.multipliers) == (-(-outputs // pe), pe * simd)
    x = np.random.default_rng(1).integers(-128, 128, (4, terms))
    expected = to_beats(x @ weights.T.astype(int) + bias, cell.lanes)
    stalls = {"stall_in": stall_in, "stall_out": stall_out}
    run = run_cell(cell, feed(x, cell), len(expected), **stalls, reset_after=reset_after, idle=20)
    assert np.array_equal(run.output, expected)
    if not stall_in and not stall_out:
        assert np.all(np.diff(run.taken["i"]) == 1)
        assert run.interval(outputs // cell.lanes) == cell.group * cell.repeat


@pytest.mark.parametrize(
    "pe",
    [6, 0, 3],
)
def test_matrix_vector_refuses_bad_numbers_of_outputs(pe):
    with raises(ValueError):
        MatrixVector(*parameters(5, 4), pe=pe, simd=2)


def test_drain_lanes():
    assert drain_lanes(6, 6) == 1
    assert drain_lanes(6, 3) == 2
    assert drain_lanes(6, 3, 2) == 6
    assert drain_lanes(6, 3, 4) is None
    # Beats of results of one pixel only.
    assert drain_lanes(6, 3, 1, outputs=8) == 2
    assert drain_lanes(6, 2, 1, outputs=8) is None
    assert drain_lanes(5, 5, 1, outputs=8) == 1


@pytest.mark.parametrize(
    ("scale", "bits", "multipliers"), [(1, 2, 0), (3, 3, 8), (7, 4, 8), (127, 8, 8)]
)
def test_matrix_vector_figures(scale, bits, multipliers):
    cell = MatrixVector(*parameters(8, 12, scale=scale), pe=4, simd=2)
    assert cell.multipliers == multipliers
    assert cell.lanes == 1
    assert cell.memory_bits == 8 * 12 * bits + 8 * 14


def test_matrix_vector_with_products_in_logic():
    cell = MatrixVector(*parameters(8, 12), pe=4, simd=2, logic=3)
    assert cell.multipliers == 8 - 3
    text = verilog.convert(cell, platform=NetlistPlatform("net"), emit_src=False)
    assert text.count("  net_multiply_logic #(") == 3
    assert text.count("  net_multiply #(") == 5


PAIRS = [Packing.SHARED_OPERAND, Packing.INDEPENDENT]


@settings(max_examples=12)
@given(
    case=cases(),
    packing=st.sampled_from(PAIRS),
    scale=st.sampled_from([1, 3, 7, 127]),
    stall=st.sampled_from([0.0, 0.5]),
)
def test_matrix_vector_multiplies_in_pairs(case, packing, scale, stall):
    outputs, terms, pe, simd, with_bias = case
    weights, bias = parameters(outputs, terms, scale=scale)
    alone = MatrixVector(weights, bias if with_bias else None, pe=pe, simd=simd)
    cell = MatrixVector(weights, bias if with_bias else None, pe=pe, simd=simd, packing=packing)
    x = np.random.default_rng(1).integers(-128, 128, (3, terms))
    expected = to_beats(x @ weights.T.astype(int) + bias * with_bias, cell.lanes)
    run = run_cell(cell, feed(x, cell), len(expected), stall_in=stall, stall_out=stall, idle=20)
    assert np.array_equal(run.output, expected)
    assert (cell.latency, cell.memory_bits) == (alone.latency, alone.memory_bits)


@pytest.mark.parametrize(
    ("pe", "packing", "pairs", "single"),
    [
        (4, Packing.SHARED_OPERAND, 6, 0),
        (3, Packing.SHARED_OPERAND, 3, 3),
        (1, Packing.SHARED_OPERAND, 0, 3),
        (3, Packing.INDEPENDENT, 4, 1),
        (1, Packing.INDEPENDENT, 1, 1),
    ],
)
def test_matrix_vector_takes_a_block_for_two_products(pe, packing, pairs, single):
    cell = MatrixVector(*parameters(8, 12), pe=pe, simd=3, packing=packing)
    assert cell.multipliers == pairs + single
    text = verilog.convert(cell, platform=NetlistPlatform("net"), emit_src=False)
    assert text.count(f"  net_multiply_{packing.value} ") == pairs
    assert text.count("  net_multiply #(") == single


@pytest.mark.parametrize("weight", [-128, 127])
@pytest.mark.parametrize("value", [-128, 127])
def test_matrix_vector_in_pairs_holds_the_extremes(weight, value):
    weights = np.array([[-128] * 4, [weight] * 4, [127] * 4], np.int8)
    cell = MatrixVector(weights, None, pe=3, simd=2, packing=Packing.SHARED_OPERAND)
    # The minimum of eight bits minus one needs a ninth bit.
    assert cell.weights.bits[Packing.SHARED_OPERAND] == 9
    run = run_cell(cell, feed(np.full((2, 4), value), cell), 6 // cell.lanes)
    assert np.array_equal(run.output.reshape(-1, 3), [value * weights.sum(axis=1, dtype=int)] * 2)


@pytest.mark.parametrize("scale", [0, 1, 3, 7])
def test_matrix_vector_keeps_narrow_weights_narrow(scale):
    weights, bias = parameters(4, 6, scale=scale)
    cell = MatrixVector(weights, bias, pe=2, simd=3)
    x = np.random.default_rng(1).integers(-128, 128, (3, 6))
    run = run_cell(cell, feed(x, cell), 12 // cell.lanes)
    assert np.array_equal(run.output.reshape(-1, 4), x @ weights.T.astype(int) + bias)


def test_matrix_vector_refuses_more_than_32_bits():
    weights = np.full((1, 2), 127, np.int8)
    with raises(ValueError):
        MatrixVector(weights, np.array([2**31 - 1], np.int64), pe=1, simd=1)


def test_matrix_vector_lint(tmp_path):
    assert_lint_clean(MatrixVector(*parameters(8, 12), pe=4, simd=4), tmp_path)
    assert_lint_clean(MatrixVector(*parameters(4, 3), pe=4, simd=3), tmp_path)


@pytest.mark.parametrize("packing", [Packing.NONE, Packing.SHARED_OPERAND, Packing.INDEPENDENT])
def test_operands_are_not_cut_from_long_concatenations(packing, monkeypatch):
    """Amaranth goes through all of a concatenation for each part that is cut from it."""
    joined = 0
    plain = ir.NetlistEmitter.emit_rhs

    def spy(self, module, value):
        nonlocal joined
        joined += len(value) if isinstance(value, Concat) else 0
        return plain(self, module, value)

    monkeypatch.setattr(ir.NetlistEmitter, "emit_rhs", spy)
    monkeypatch.setattr(weights_of_a_cell, "MAX_WORD_BITS", 128)
    cell = MatrixVector(*parameters(4, 16), pe=4, simd=16, packing=packing)
    assert len(cell.roms) == cell.pe
    rtlil.convert(cell, platform=NetlistPlatform("p"))
    assert joined < WIDE_BITS * cell.pe * cell.simd
