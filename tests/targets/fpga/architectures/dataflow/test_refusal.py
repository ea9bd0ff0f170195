"""Refusals: figures that are true, and hints that help."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Graph, i8
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QDense
from rlx.support.text.units import counted
from rlx_fpga import FpgaOptions
from rlx_fpga.architectures.dataflow.design import design_of
from rlx_fpga.architectures.dataflow.refusal import MAX_EXCESS, too_large, too_slow
from rlx_fpga.architectures.dataflow.staged import staged_graph
from rlx_fpga.cost.costs import Resources
from rlx_fpga.explore.advice import MAX_CLOCK_RATIO

pytestmark = pytest.mark.usefixtures("as_typed")


def dense():
    graph = Graph("g")
    weights = np.arange(24, dtype=np.int8).reshape(6, 4) - 90
    op = QDense(x_zero_point=0, rescale=Rescale.of(0.01), zero_point=0)
    constants = [graph.constant(weights), graph.constant(np.zeros(6, np.int32))]
    graph.output(graph.apply(op, graph.input("x", i8(1, 4)), *constants))
    return graph


GRAPH = dense()
PROGRAM = staged_graph(GRAPH)


def fits(options):
    """Return the cells of any options: every design fits."""
    del options
    return Resources()


def hint_of(error):
    return str(error).partition("\n  hint: ")[2].split(", or ")


@given(st.integers(1000, 10**7), st.integers(1, 10**6), st.sampled_from([12e6, 50e6, 100e6]))
def test_a_rate_and_a_clock_are_named_that_are_just_enough(fps, fastest, clock):
    if fps * fastest <= clock:
        return
    options = FpgaOptions(device="ecp5-25k", fps=float(fps), clock=clock)
    error = str(too_slow(PROGRAM, options, fastest, None, fits))
    rate = int(re.search(r"--fps (\d+)", error)[1])
    assert rate * fastest <= clock < (rate + 1) * fastest
    needed = -(-fps * fastest // 10**6)
    named = re.search(r"--clock (\d+)MHz", error)
    if needed <= MAX_CLOCK_RATIO * options.chosen_device.clock_mhz:
        assert int(named[1]) == needed
    else:
        assert named is None
    assert f"(initiation interval {counted(fastest, 'cycle')})" in error


def test_luts_that_would_reach_the_rate_come_first():
    def cells_of(options):
        return Resources() if (options.lut or 777) >= 777 else None

    options = FpgaOptions(device="ecp5-25k", fps=1e6, clock=50e6)
    lut, *others = hint_of(too_slow(PROGRAM, options, 100, 24288, cells_of))
    assert others[:2] == ["--fps 500000", "--clock 100MHz"]
    assert 777 <= int(lut.removeprefix("--lut ")) <= 777 * (1 + MAX_EXCESS) + 1
    assert hint_of(too_slow(PROGRAM, options, 100, None, fits))[0] == "--fps 500000"


def test_budgets_that_were_given_are_named_with_what_is_needed():
    options = FpgaOptions(device="artix7-35t", bram=2, dsp=90)
    error = str(too_large(PROGRAM, options, Resources(lut=900, ff=900, dsp=4, bram=2.5), fits))
    assert error == (
        "artix7-35t: the smallest design found needs 3 block RAMs, the budget is 2 (--bram)\n"
        "  hint: --bram 3"
    )


def test_all_that_is_short_is_named_and_a_larger_device_where_budgets_do_not_help():
    options = FpgaOptions(device="ecp5-25k", lut=700)
    error = str(too_large(PROGRAM, options, Resources(lut=900, ff=900, dsp=29), fits))
    assert error == (
        "ecp5-25k: a small design needs 29 DSP slices, the device has 28;"
        " 900 LUTs, the budget is 700 (--lut)\n  hint: --device artix7-35t"
    )
    error = str(too_large(PROGRAM, options, Resources(lut=900, ff=900, dsp=28), fits))
    assert error.endswith("the budget is 700 (--lut)\n  hint: --lut 900")


def test_without_a_budget_another_device_is_named_on_which_the_layers_fit():
    options = FpgaOptions(device="ecp5-25k")
    (hint,) = hint_of(too_large(PROGRAM, options, Resources(lut=60_000), fits))
    name = hint.removeprefix("--device ")
    assert name != "ecp5-25k"
    assert design_of(GRAPH, FpgaOptions(device=name)).pipeline.interval >= 1


def test_a_device_is_named_only_if_it_reaches_the_rate_too():
    slow = FpgaOptions(device="ecp5-25k", fps=1e6)
    assert any(
        hint.startswith("--device") for hint in hint_of(too_slow(PROGRAM, slow, 100, None, fits))
    )
    # No clock gives a frame in less than a cycle.
    never = FpgaOptions(device="ecp5-25k", fps=1e12, clock=50e6)
    assert not any(
        hint.startswith("--device") for hint in hint_of(too_slow(PROGRAM, never, 100, None, fits))
    )


@pytest.mark.parametrize("smallest", [None, Resources(lut=10)])
def test_budgets_that_are_enough_each_may_be_too_small_together(smallest):
    error = str(too_large(PROGRAM, FpgaOptions(device="ecp5-25k"), smallest, fits))
    assert error.startswith("ecp5-25k: no folding fits all budgets together\n  hint: --device ")


def test_a_clock_far_above_what_designs_reach_is_not_named():
    options = FpgaOptions(device="ecp5-25k", fps=1e6)
    reachable = int(MAX_CLOCK_RATIO * options.chosen_device.clock_mhz)
    below = hint_of(too_slow(PROGRAM, options, reachable, None, fits))
    above = hint_of(too_slow(PROGRAM, options, reachable + 1, None, fits))
    assert f"--clock {reachable}MHz" in below
    assert not any(hint.startswith("--clock") for hint in above)


def test_budgets_of_a_hint_are_tried_together():
    tried = []

    def cells_of(options):
        tried.append((options.dsp, options.lut))
        # Fewer DSP slices cost LUTs: the minimum of both does not fit.
        return Resources(lut=2500, dsp=4) if options.lut >= 2500 else None

    options = FpgaOptions(device="ecp5-25k", dsp=4, lut=700)
    error = str(too_large(PROGRAM, options, Resources(lut=900, ff=900, dsp=4), cells_of))
    assert error.endswith("hint: --lut 2500")
    assert (4, 900) in tried
    assert (4, 2500) in tried


@pytest.mark.parametrize("enough", [900, 901, 1700, 2499, 2500])
def test_a_budget_of_a_hint_is_about_the_smallest_that_is_enough(enough):
    def cells_of(options):
        """The design with free LUTs takes more of them than it must."""
        return Resources(lut=2500, dsp=4) if options.lut >= enough else None

    options = FpgaOptions(device="ecp5-25k", lut=700)
    (hint,) = hint_of(too_large(PROGRAM, options, Resources(lut=900, ff=900, dsp=4), cells_of))
    named = int(hint.removeprefix("--lut "))
    assert enough <= named <= enough * (1 + MAX_EXCESS) + 1


def test_a_device_that_needs_the_budgets_left_out_says_so():
    options = FpgaOptions(device="ice40-up5k", lut=800)

    def cells_of(other):
        return Resources() if other.lut is None else None

    (hint,) = hint_of(too_large(PROGRAM, options, Resources(lut=6000), cells_of))
    assert re.fullmatch(r"--device \S+ without --lut", hint)
