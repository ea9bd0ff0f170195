"""Accumulators against NumPy: sums and maxima of groups, drained in order."""

import math

import numpy as np
import pytest
from amaranth import Module, Signal, Value
from amaranth.lib.wiring import In, Out, connect, flipped
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import run_cell

from rlx_fpga.cells.accumulate import Accumulator, Ranges, drain_lanes, ranges_of
from rlx_fpga.cells.pipe import follow
from rlx_fpga.cells.rom import signed_bits
from rlx_fpga.cells.streams import Cell, stream_of
from support.messages import raises

STALLS = st.tuples(st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.5]))


class Bed(Cell):
    """An accumulator behind a pipeline of ``delay`` registers, as a unit has it.

    Members:
        i: In, ``pe`` terms.
        o: Out, the results.
    """

    def __init__(self, term_bits, delay=0, **options):
        self.part = Accumulator(term_bits=term_bits, delay=delay, **options)
        self.delay = delay
        members = {
            "i": In(stream_of(options["pe"], term_bits)),
            "o": Out(self.part.signature.members["o"].signature),
        }
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.part = part = self.part
        enters = Signal()
        m.d.comb += [
            part.offered.eq(self.i.valid), self.i.ready.eq(part.open),
            enters.eq(self.i.valid & self.i.ready),
            part.valid.eq(follow(m, enters, "enters", self.delay, reset=True)),
            Value.cast(part.terms).eq(follow(m, Value.cast(self.i.payload), "terms", self.delay)),
        ]  # fmt: skip
        connect(m, part.o, flipped(self.o))
        return m


def reduced(terms, kind, group):
    """Return sums or maxima of consecutive groups of ``terms`` [beats, pe]."""
    parts = terms.reshape(-1, group, terms.shape[1])
    return parts.sum(axis=1) if kind == "sum" else parts.max(axis=1)


def ranges(kind, term_bits, group, bias):
    """Return the widths of any terms of so many bits."""
    half = 1 << (term_bits - 1)
    count = group if kind == "sum" else 1
    low, high = -half * count, (half - 1) * count
    b = np.zeros(1, np.int64) if bias is None else bias
    return Ranges(
        signed_bits(low, high),
        signed_bits(int(b.min()), int(b.max())) if b.any() else 0,
        signed_bits(low + int(b.min()), high + int(b.max())),
    )


def extremes(pe, group, term_bits, groups, seed):
    """Return terms [groups * group, pe]: random ones, then all at either end of their range."""
    half = 1 << (term_bits - 1)
    terms = np.random.default_rng(seed).integers(-half, half, (groups, group, pe))
    terms[0], terms[1] = -half, half - 1
    return terms.reshape(-1, pe)


@st.composite
def cases(draw):
    pe, group = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    bits = draw(st.sampled_from([2, 8, 16]))
    kind = draw(st.sampled_from(["sum", "max"]))
    size = pe * draw(st.integers(1, 3))
    bias = np.random.default_rng(size).integers(-(1 << 20), 1 << 20, size)
    return {
        "kind": kind, "pe": pe, "group": group, "term_bits": bits,
        "delay": draw(st.integers(0, 4)), "beat_cycles": draw(st.sampled_from([1, 1, 3])),
        "bias": draw(st.sampled_from([None, bias])),
    }  # fmt: skip


@pytest.mark.slow
@settings(max_examples=40)
@given(case=cases(), stalls=STALLS)
def test_results_are_sums_and_maxima_in_order(case, stalls):
    """Wrong where a group ends a beat early, a result is drained twice, or a sum is too narrow."""
    kind, pe, group, bias = case["kind"], case["pe"], case["group"], case["bias"]
    found = ranges(kind, case["term_bits"], group, bias)
    groups = 3 * (1 if bias is None else len(bias) // pe)
    terms = extremes(pe, group, case["term_bits"], groups, seed=pe)
    expected = reduced(terms, kind, group)
    if bias is not None:
        expected = expected + np.resize(bias, expected.size).reshape(expected.shape)
    cell = Bed(**case, ranges=found)
    expected = expected.reshape(-1, cell.part.lanes)
    run = run_cell(cell, terms, len(expected), stall_in=stalls[0], stall_out=stalls[1], idle=12)
    assert np.array_equal(run.output, expected)


@pytest.mark.slow
@settings(max_examples=15)
@given(
    outputs=st.integers(1, 9), pe=st.integers(2, 5), group=st.integers(2, 6), stalls=STALLS,
    delay=st.integers(0, 3),
)  # fmt: skip
def test_unused_results_of_the_last_group_are_not_sent(outputs, pe, group, stalls, delay):
    """``pe`` need not divide the results of a pixel: the others must not reach the stream."""
    if drain_lanes(pe, group, 1, outputs) is None:
        return
    bias = np.arange(outputs) * 1000 - 3000
    found = ranges("sum", 8, group, bias)
    cell = Bed(kind="sum", pe=pe, group=group, term_bits=8, ranges=found, outputs=outputs,
               bias=bias, delay=delay)  # fmt: skip
    pixels, groups = 3, -(-outputs // pe)
    terms = extremes(pe, group, 8, max(pixels * groups, 2), seed=outputs)
    sums = reduced(terms, "sum", group)[: pixels * groups].reshape(pixels, groups * pe)
    expected = (sums[:, :outputs] + bias).reshape(-1, cell.part.lanes)
    beats = terms[: pixels * groups * group]
    run = run_cell(cell, beats, len(expected), stall_in=stalls[0], stall_out=stalls[1], idle=12)
    assert np.array_equal(run.output, expected)


@pytest.mark.parametrize(("pe", "group", "outputs"), [(1, 1, 0), (4, 1, 0), (4, 4, 0), (3, 5, 7)])
def test_a_beat_enters_in_every_cycle_and_the_latency_holds(pe, group, outputs):
    cell = Bed(kind="sum", pe=pe, group=group, term_bits=8, outputs=outputs,
               ranges=ranges("sum", 8, group, None), delay=2)  # fmt: skip
    terms = extremes(pe, group, 8, 12, seed=0)
    run = run_cell(cell, terms, 3)
    assert np.all(np.diff(run.taken["i"]) == 1)
    assert run.given["o"][0] - run.taken["i"][group - 1] == cell.part.latency + 2


@pytest.mark.parametrize("cycles", range(1, 12))
def test_a_reset_in_the_middle_of_a_group_begins_a_new_one(cycles):
    """Wrong where a counter, a partial sum or the place in the biases stays."""
    bias = np.array([100, -200, 300, -400, 500, -600, 700])
    cell = Bed(kind="sum", pe=3, group=4, term_bits=8, ranges=ranges("sum", 8, 4, bias),
               outputs=7, bias=bias, delay=1)  # fmt: skip
    terms = extremes(3, 4, 8, 6, seed=cycles)
    sums = reduced(terms, "sum", 4).reshape(2, 9)[:, :7] + bias
    expected = sums.reshape(-1, cell.part.lanes)
    run = run_cell(cell, terms, len(expected), reset_after=cycles, stall_out=0.3, idle=12)
    assert np.array_equal(run.output, expected)


@pytest.mark.parametrize("sign", [-1, 1])
def test_sums_reach_the_ends_of_32_bits(sign):
    """One bit less anywhere would wrap."""
    weights = np.full((1, 4), sign * 127, np.int8)
    x = np.array([[127], [127], [127], [127]])
    total = int((weights.astype(int) @ x)[0, 0])
    end = (1 << 31) - 1 if sign > 0 else -(1 << 31)
    bias = np.array([end - total])
    # The widest sum of these weights is of -128: it may not fit with this bias.
    with raises(ValueError):
        ranges_of(-weights if sign > 0 else weights, np.array([end]))
    found = Ranges(signed_bits(-4 * 127 * 128, 4 * 127 * 128), 32, 32)
    cell = Bed(kind="sum", pe=1, group=4, term_bits=16, ranges=found, bias=bias)
    products = weights.T.astype(int) * x
    assert run_cell(cell, products, 1).output.tolist() == [[end]]


@given(
    weights=st.lists(st.lists(st.integers(-128, 127), min_size=3, max_size=3), min_size=1,
                     max_size=4),
    bias=st.integers(-5000, 5000),
)  # fmt: skip
def test_widths_are_the_smallest_that_hold_every_sum(weights, bias):
    matrix = np.array(weights, np.int8)
    codes = np.array(np.meshgrid(*[[-128, 127]] * 3)).reshape(3, -1)
    sums = matrix.astype(int) @ codes
    # Partial sums, too: any of the codes may be 0.
    partial = np.minimum(sums.min(), 0), np.maximum(sums.max(), 0)
    found = ranges_of(matrix, np.full(len(matrix), bias, np.int32))
    assert found.sum_bits >= signed_bits(int(partial[0]), int(partial[1]))
    assert found.out_bits == signed_bits(int(sums.min() + bias), int(sums.max() + bias))
    assert found.bias_bits == (signed_bits(bias, bias) if bias else 0)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 4), st.integers(0, 12))
def test_fewest_lanes_that_drain_in_time(pe, group, beat_cycles, outputs):
    common = math.gcd(pe, outputs)
    enough = [n for n in range(1, common + 1)
              if common % n == 0 and n * group >= pe * beat_cycles]  # fmt: skip
    assert drain_lanes(pe, group, beat_cycles, outputs) == (min(enough) if enough else None)


def test_results_that_cannot_be_drained_are_refused():
    with raises(ValueError):
        Bed(kind="sum", pe=5, group=2, term_bits=8, ranges=Ranges(9, 0, 9), outputs=7)
