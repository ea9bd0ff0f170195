"""Budgets, rates and goals: what is chosen, and what is refused with which words."""

import re
from pathlib import Path

import pytest
from targets.fpga.test_target import network

from rlx import frontends
from rlx.driver import driver
from rlx.frontends.tflite import frontend as tflite
from rlx.ir import Graph, i8
from rlx.ir.module import GraphModule, Stage
from rlx.ops.q import QReshape
from rlx.support.errors import DoesNotFitError
from rlx_fpga import TARGET, FpgaOptions
from rlx_fpga.architectures.dataflow.design import design_of
from support.messages import raises
from support.networks import mlperf_like

pytestmark = pytest.mark.usefixtures("as_typed")

EXAMPLES = Path(__file__).parents[5] / "examples"
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
        match=r"^ecp5-85k: the smallest design found needs \d+ DSP slices?,"
        r" the budget is 0 \(--dsp\)\n"
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
    budgets = range(4000, 9000, 500)
    found = [estimate(dsp=4, lut=lut) for lut in budgets]
    intervals = [report["interval"] for report in found]
    assert intervals == sorted(intervals, reverse=True)
    assert len(set(intervals)) > 4
    for report, lut in zip(found, budgets, strict=True):
        assert report["lut"] <= lut


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet", "vww", "kws"])
def test_more_lookup_tables_never_make_a_slower_design_of_a_larger_network(name):
    module = tflite.load(mlperf_like.network(name))
    lowered = driver.lower(module, TARGET, options=FpgaOptions()).module
    budgets = [83640 * part // 12 for part in range(5, 12)]
    found = [TARGET.estimate(lowered, FpgaOptions(lut=lut)) for lut in budgets]
    intervals = [report["interval"] for report in found]
    assert intervals == sorted(intervals, reverse=True)
    assert intervals[0] > intervals[-1]
    assert all(report["lut"] <= lut for report, lut in zip(found, budgets, strict=True))


@pytest.mark.parametrize(
    ("device", "budgets"),
    [("ice40-up5k", {"bram": 0}), ("ice40-up5k", {"bram": 4}), ("ice40-up5k", {"lut": 1000}),
     ("ice40-up5k", {"bram": 5, "lut": 3000}), ("ecp5-25k", {"lut": 300}),
     ("ecp5-25k", {"lut": 2000}), ("ecp5-25k", {"dsp": 0})],
)  # fmt: skip
def test_the_amounts_of_a_refusal_are_budgets_that_are_enough(device, budgets):
    with pytest.raises(DoesNotFitError) as refusal:
        estimate(device=device, **budgets)
    sentence, _, hint = str(refusal.value).partition("\n  hint: ")
    raised = {name: int(count) for name, count in re.findall(r"--(\w+) (\d+)", hint)}
    needs = re.findall(r"([\d,]+) [A-Za-z ]+, the budget is [\d,]+ \(--(\w+)\)", sentence)
    assert raised
    assert raised == {name: int(count.replace(",", "")) for count, name in needs}
    assert estimate(device=device, **{**budgets, **raised})["fits"]


def test_luts_that_are_short_are_reported():
    with pytest.raises(
        DoesNotFitError,
        match=r"^ecp5-25k: the smallest design found needs [\d,]+ LUTs,"
        r" the budget is 500 \(--lut\)\n"
        r"  hint: --lut \d+$",
    ):
        estimate(device="ecp5-25k", lut=500)


def test_refused_rate_reports_the_maximum():
    with pytest.raises(DoesNotFitError) as caught:
        estimate(device="ecp5-25k", fps=6e5, clock=50e6)
    found = re.fullmatch(
        r"ecp5-25k: 600,000 frames per second cannot be reached at 50 MHz: the maximum within the"
        r" budget is \S+ \(initiation interval ([\d,]+) cycles\)\n"
        r"  hint: --fps (\d+), or --clock (\d+)MHz(?:, or .*)?",
        str(caught.value),
    )
    assert found, str(caught.value)
    cycles, rate, clock = found.groups()
    assert estimate(device="ecp5-25k", fps=float(rate), clock=50e6)["interval"] <= int(
        cycles.replace(",", "")
    )
    assert estimate(device="ecp5-25k", fps=6e5, clock=float(clock) * 1e6)["fps"] >= 6e5


BUDGETS = [
    ("ice40-up5k", {}),
    ("ecp5-25k", {}),
    ("ecp5-25k", {"lut": 9000}),
    ("ecp5-45k", {"dsp": 9}),
    ("artix7-35t", {}),
    ("artix7-35t", {"dsp": 7, "lut": 12000}),
    ("zu3eg", {}),
]


@pytest.mark.parametrize(("name", "budget"), BUDGETS)
@pytest.mark.parametrize("example", ["digits/digits.tflite", "mnist/tinyconv.rlx"])
def test_no_rate_finds_a_faster_design_than_the_default(example, name, budget):
    module = frontends.load(EXAMPLES / example)
    lowered = driver.lower(module, TARGET, options=FpgaOptions()).module

    def interval(**options):
        return design_of(
            lowered.graph, FpgaOptions(device=name, **budget, **options)
        ).pipeline.interval

    fastest, clock = interval(), 50e6
    for part in (1, 2, 5):
        assert interval(fps=clock / (part * fastest + 0.5), clock=clock) <= part * fastest
    for times in (1.02, 1.1, 1.3, 2, 4):
        with pytest.raises(DoesNotFitError, match=f"initiation interval {fastest:,} cycles"):
            interval(fps=times * clock / fastest, clock=clock)


def test_an_ice40_is_filled_by_its_logic_cells():
    """DSP slices that are narrow, and flip-flops, count where layers are chosen."""
    module = frontends.load(EXAMPLES / "digits" / "digits.tflite")
    found = TARGET.estimate(
        driver.lower(module, TARGET, options=FpgaOptions()).module,
        FpgaOptions(device="ice40-up5k"),
    )
    assert found["interval"] == 4608
    assert found["logic_cells"] <= 5280


def test_a_rate_that_takes_most_of_the_luts_is_found_with_a_budget():
    module = frontends.load(EXAMPLES / "mnist" / "tinyconv.rlx")
    lowered = driver.lower(module, TARGET, options=FpgaOptions()).module

    def estimated(**options):
        return TARGET.estimate(lowered, FpgaOptions(device="ecp5-25k", **options))

    default, whole = estimated(), estimated(lut=24288)
    rate = (default["fps"] + whole["fps"]) / 2
    assert default["fps"] < rate
    with raises(DoesNotFitError):
        estimated(fps=rate)
    found = estimated(fps=rate, lut=24288)
    assert found["fps"] >= rate
    assert 24288 * 2 // 3 < found["lut"] <= 24288


def test_ports_decide_where_there_are_no_layers():
    graph = Graph("g")
    x = graph.input("x", i8(1, 6))
    graph.output(x, graph.apply(QReshape(shape=(6,)), x), names=["same", "flat"])
    module = GraphModule(graph, Stage.MIR)
    assert TARGET.estimate(module, FpgaOptions())["interval"] == 6
    assert TARGET.estimate(module, FpgaOptions(fps=1000.0))["interval"] == 6
    with raises(DoesNotFitError):
        TARGET.estimate(module, FpgaOptions(fps=1e9))
