"""Budgets, rates and goals: what is chosen, and what is refused with which words."""

import re

import pytest
from targets.fpga.test_target import network

from rlx import driver, frontends
from rlx.errors import DoesNotFitError
from rlx_fpga import TARGET, FpgaOptions

NETWORK = network()


def estimate(**options):
    return TARGET.estimate(NETWORK, FpgaOptions(**options))


def test_estimate_reports_every_layer_and_the_share_of_the_device():
    report = estimate(device="ecp5-25k")
    for name in ("lut", "ff", "dsp", "bram"):
        # The rest lies between the ports and the layers.
        assert 0 < sum(row[name] for row in report["layers"]) <= report[name]
    assert report["lut_percent"] == round(100 * report["lut"] / 24288, 1)
    assert report["dsp"] == report["multipliers"] <= 28
    assert report["fps"] == round(report["clock_mhz"] * 1e6 / report["interval"], 2)
    assert report["device"] == "ecp5-25k"


def test_rate_is_kept_at_the_minimum_cost():
    fast = estimate()
    rate = fast["clock_mhz"] * 1e6 / fast["interval"]
    for part in (1, 2, 4, 20):
        slow = estimate(fps=rate / part)
        assert slow["interval"] <= part * fast["interval"] + 1
        assert slow["dsp"] <= fast["dsp"]
    assert slow["dsp"] < fast["dsp"]


def test_a_faster_clock_needs_less():
    assert estimate(fps=50000.0, clock=100e6)["dsp"] < estimate(fps=50000.0, clock=25e6)["dsp"]


def test_goals_differ_as_they_say():
    found = {aim: estimate(optimize=aim) for aim in ("throughput", "latency", "size", "energy")}
    minimum = min(report["interval"] for report in found.values())
    assert found["throughput"]["interval"] == found["latency"]["interval"] == minimum
    assert sum(row["cycles"] for row in found["latency"]["layers"]) <= sum(
        row["cycles"] for row in found["throughput"]["layers"]
    )
    assert found["size"]["dsp"] == min(report["dsp"] for report in found.values())
    assert found["size"]["dsp"] <= found["energy"]["dsp"] <= found["throughput"]["dsp"]


def test_design_keeps_every_budget():
    wide = estimate()
    for name, short in (("dsp", 12), ("lut", wide["lut"] * 7 // 8)):
        report = estimate(**{name: short})
        assert report[name] <= short
        assert report["interval"] >= wide["interval"]


def test_refusal_names_what_is_short_and_what_to_try():
    with pytest.raises(
        DoesNotFitError,
        match=r"^ecp5-85k: the layers need at least \d+ DSP slices, the budget is 0 \(--dsp\)\n"
        r"  hint: --dsp \d+$",
    ):
        estimate(dsp=0)


def test_products_are_made_of_logic_where_multipliers_are_few():
    wide, few = estimate(), estimate(dsp=2)
    assert few["dsp"] <= 2
    assert few["interval"] >= wide["interval"]
    spent = estimate(dsp=2, lut=20000)
    assert few["lut"] <= spent["lut"] <= 20000
    assert spent["interval"] <= few["interval"]


def test_small_layers_leave_their_multipliers_to_the_slowest_one():
    enough, short = estimate(dsp=12), estimate(dsp=11)
    assert short["interval"] == enough["interval"]
    dense = [
        next(row for row in report["layers"] if row["op"] == "q.dense")
        for report in (enough, short)
    ]
    assert [row["pe"] * row["simd"] for row in dense] == [1, 1]
    assert [row["dsp"] for row in dense] == [1, 0]


def test_lookup_tables_to_spare_make_products_where_speed_is_the_goal():
    spent, plain = estimate(device="ecp5-25k"), estimate(device="ecp5-25k", dsp=28)
    assert spent["interval"] < plain["interval"]
    assert plain["lut"] < spent["lut"] <= 24288 // 2
    assert spent["dsp"] <= 28
    # With enough multipliers there is nothing to gain.
    assert estimate() == estimate(dsp=156)


def test_more_lookup_tables_never_make_a_slower_design():
    found = [estimate(dsp=4, lut=lut) for lut in range(4000, 40000, 4000)]
    intervals = [report["interval"] for report in found]
    assert intervals == sorted(intervals, reverse=True)
    assert len(set(intervals)) > 2
    for report, lut in zip(found, range(4000, 40000, 4000), strict=True):
        assert report["lut"] <= lut


@pytest.mark.models
@pytest.mark.parametrize("name", ["pretrainedResnet_quant", "vww_96_int8", "kws_ref_model"])
def test_more_lookup_tables_never_make_a_slower_design_of_a_real_network(name, shared_models):
    module = frontends.load(shared_models / f"{name}.tflite")
    lowered = driver.lower(module, TARGET, options=FpgaOptions()).module
    budgets = [83640 * part // 12 for part in range(5, 12)]
    found = [TARGET.estimate(lowered, FpgaOptions(lut=lut)) for lut in budgets]
    intervals = [report["interval"] for report in found]
    assert intervals == sorted(intervals, reverse=True)
    assert intervals[0] > intervals[-1]
    assert all(report["lut"] <= lut for report, lut in zip(found, budgets, strict=True))


def test_luts_that_are_short_are_reported():
    with pytest.raises(
        DoesNotFitError,
        match=r"^ecp5-25k: the layers need at least \d+ LUTs, the budget is 500 \(--lut\)\n"
        r"  hint: --lut \d+$",
    ):
        estimate(device="ecp5-25k", lut=500)


def test_refused_rate_reports_the_maximum():
    with pytest.raises(DoesNotFitError) as caught:
        estimate(device="ecp5-25k", fps=1e6, clock=50e6)
    found = re.fullmatch(
        r"ecp5-25k: 1e\+06 frames per second cannot be reached at 50 MHz: the maximum within the"
        r" budget is \S+ \(initiation interval (\d+) cycles\)\n"
        r"  hint: --fps (\d+), or --clock (\d+)MHz",
        str(caught.value),
    )
    assert found, str(caught.value)
    cycles, rate, clock = found.groups()
    assert estimate(device="ecp5-25k", fps=float(rate), clock=50e6)["interval"] <= int(cycles)
    assert estimate(device="ecp5-25k", fps=1e6, clock=float(clock) * 1e6)["fps"] >= 1e6
