"""Cycles predicted from rates of kernels: data that are complete, waits that add up."""

from dataclasses import replace

import pytest
from targets.cortexm.graph_builder import planned
from targets.cortexm.kernel_graphs import KERNEL_GRAPHS

import rlx
from rlx_cortexm import TARGET, CortexMOptions
from rlx_cortexm.cycles import CyclePrediction, KernelRates, core_rates
from rlx_cortexm.cycles.rates import LINE_BYTES, OTHER
from rlx_cortexm.estimate import constant_bytes, estimate
from rlx_cortexm.parts import Flash
from rlx_cortexm.planning import settings_of
from rlx_cortexm.program import program
from rlx_sim.cycles.timings import modelled_cores
from support import ROOT

DIGITS = ROOT / "examples" / "digits" / "digits.rlx"
WAITS = ("cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33")


BOUNDS = {"cortex-m0": 0.11, "cortex-m0plus": 0.11, "cortex-m3": 0.09, "cortex-m55": 0.19}
"""Largest errors of predictions, 0.06 on other cores."""


def steps_on(cpu):
    options = CortexMOptions(cpu=cpu)
    return [
        step
        for make_graph in KERNEL_GRAPHS
        for step in program(planned(make_graph(), cpu=cpu), settings_of(options)).steps
    ]


@pytest.mark.parametrize("cpu", modelled_cores())
def test_every_modelled_core_has_rates_of_every_kernel_chosen_for_it(cpu):
    kernels = {step.layer.kernel.template for step in steps_on(cpu) if step.layer.kernel}
    rates = core_rates(cpu)
    # Kernels on int16 came after the sweep, and are predicted by the rates of all kernels.
    missing = {k for k in kernels - set(rates.kernels) if not k.startswith("int16/")}
    # Layers of the graphs that are too small to count.
    assert len(missing) <= 4, f"python tools/kernel_cycles.py {cpu}: {sorted(missing)}"
    assert OTHER in rates.kernels


@pytest.mark.parametrize("cpu", modelled_cores())
def test_rates_are_those_of_instructions(cpu):
    for rates in core_rates(cpu).kernels.values():
        assert 0.3 < rates.low <= rates.high < 4
        assert 2 <= rates.code_bytes <= 4
        assert list(rates.sequential) == sorted(rates.sequential, reverse=True)
        assert all(0 <= share <= 1 for share in rates.uncached)
        assert len(rates.constants) == (len(LINE_BYTES) if core_rates(cpu).wait_error else 0)


@pytest.mark.parametrize("cpu", modelled_cores())
def test_networks_outside_of_the_sweep_are_predicted_well(cpu):
    rates = core_rates(cpu)
    # Instructions of cores without DSP extension are estimated more coarsely.
    bound = BOUNDS.get(cpu, 0.06)
    assert rates.error <= bound
    assert rates.wait_error is None or rates.wait_error <= bound


def test_cores_whose_code_was_not_measured_have_no_rates():
    for cpu in ("cortex-m33+nodsp", "cortex-m85", "cortex-m1", "cortex-m23"):
        assert core_rates(cpu) is None
        assert CyclePrediction.of(cpu, Flash()) is None
    assert core_rates("cortex-m35p") is not None
    assert core_rates("cortex-m4+nofp").kernels == core_rates("cortex-m4").kernels


def test_waits_of_a_cortex_m55_are_not_predicted():
    assert CyclePrediction.of("cortex-m55", Flash()) is not None
    assert CyclePrediction.of("cortex-m55", Flash(1)) is None


def test_cycles_are_between_those_of_the_sweep():
    rates = KernelRates(
        instruction=1.0, product=0.5, low=1.2, high=1.6, code_bytes=3.0, sequential=(),
        jumps=(), uncached=(),
    )  # fmt: skip
    assert rates.cycles(100, 80) == 140
    assert rates.cycles(100, 0) == 120
    assert rates.cycles(100, 1000) == 160


@pytest.mark.parametrize("cpu", WAITS)
def test_every_wait_state_adds_and_prefetch_and_caches_take_away(cpu):
    flash = Flash(3, 8)
    by_flash = {
        one: sum(CyclePrediction.of(cpu, one).layer(s, constant_bytes(s)) for s in steps_on(cpu))
        for one in (
            Flash(), Flash(1, 8), flash, replace(flash, prefetch=True),
            replace(flash, line_bytes=4),
            replace(flash, code_cache_bytes=1024),
            replace(flash, code_cache_bytes=1024, data_cache_bytes=1 << 20),
        )
    }  # fmt: skip
    none, one, three, prefetch, narrow, cached, constants = by_flash.values()
    assert none < one < three < narrow
    assert prefetch < three
    assert none < constants < cached < three
    # A cache smaller than a kernel is none.
    small = CyclePrediction.of(cpu, replace(flash, code_cache_bytes=64))
    assert sum(small.layer(s, constant_bytes(s)) for s in steps_on(cpu)) == three


def test_an_estimate_has_cycles_if_a_part_clock_or_wait_states_are_given():
    assert "cycles" not in rlx.estimate(DIGITS, "cortexm")
    for options in ({"part": "nucleo-f446re"}, {"clock": 64e6}, {"flash_wait": "2"}):
        found = rlx.estimate(DIGITS, "cortexm", **options)
        assert found["cycles"] == sum(layer["cycles"] for layer in found.layers)
        timing = found["timing"]
        assert timing["kind"] == "predicted"
        assert (timing["milliseconds"] is None) == ("flash_wait" in options)
        assert (found.layers[0]["milliseconds"] is None) == ("flash_wait" in options)
    assert "cycles" not in rlx.estimate(DIGITS, "cortexm", cpu="cortex-m85", clock=64e6)


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({}, None),
        ({"cpu": "cortex-m23", "flash_wait": "2"}, "not predicted: no rates of this core"),
        ({"cpu": "cortex-m85", "clock": 64e6}, "not predicted: no rates of this core"),
        ({"cpu": "cortex-m4", "flash_wait": "2"}, "predicted; flash with 2 wait states"),
    ],
)
def test_requested_cycles_or_the_reason_why_there_are_none_are_shown(options, note):
    report = rlx.estimate(DIGITS, "cortexm", **options)
    _, figures = TARGET.view(report, CortexMOptions(**options))
    notes = [figure.note for figure in figures.figures if figure.label == "cycles"]
    assert len(notes) == (note is not None)
    assert all(text.startswith(note) for text in notes)


def test_milliseconds_are_cycles_by_clock():
    fast, slow = (rlx.estimate(DIGITS, "cortexm", clock=clock) for clock in (64e6, 16e6))
    assert fast["cycles"] == slow["cycles"]
    assert fast["timing"]["milliseconds"] == float(f"{fast['cycles'] / 64e3:.4g}")
    assert slow["timing"]["milliseconds"] == pytest.approx(4 * fast["timing"]["milliseconds"], 1e-3)


def test_prediction_of_a_program_is_the_sum_of_its_layers():
    options = CortexMOptions(flash_wait="4:64")
    lowered = program(planned(KERNEL_GRAPHS[0]()), settings_of(options))
    report = estimate(lowered, options.prediction)
    assert report["cycles"] == sum(
        options.prediction.layer(step, constant_bytes(step)) for step in lowered.steps
    )
