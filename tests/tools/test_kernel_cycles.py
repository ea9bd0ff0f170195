"""Rates of kernels in cycles: fitted as measured, and still near the model."""

import json
import sys

import pytest

from rlx.driver import driver
from rlx_cortexm import TARGET, CortexMOptions
from rlx_cortexm.cycles import core_rates
from rlx_cortexm.parts import Flash, flash_of, part
from support import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import kernel_cycles


def sample(instructions, products, cycles):
    lines = (instructions // 2, instructions // 4, instructions // 8, instructions // 16)
    return kernel_cycles.Sample(
        "dense/kernel", instructions, products, cycles, 3 * instructions, lines, lines,
        (0, 0, 0, 0), lines,
    )  # fmt: skip


def test_rates_that_hold_exactly_are_found():
    shapes = [(1000, 10), (1000, 500), (4000, 100), (4000, 3000), (9000, 30), (800, 700)]
    rows = [sample(i, p, 5 * i // 4 + p // 2) for i, p in shapes]
    rates = kernel_cycles.fitted(rows)
    assert (rates.instruction, rates.product) == pytest.approx((1.25, 0.5), abs=2e-3)
    assert rates.code_bytes == 3
    assert rates.sequential[0] == 0.5


def test_few_layers_have_a_rate_per_instruction_only():
    rates = kernel_cycles.fitted([sample(1000, 10, 1500), sample(3000, 10, 3500)])
    assert (rates.instruction, rates.product) == (1.25, 0)
    assert (rates.low, rates.high) == (1.1667, 1.5)


def test_the_stored_file_is_as_the_tool_writes_it():
    text = kernel_cycles.FILE.read_text(encoding="utf-8")
    assert list(json.loads(text)) == list(kernel_cycles.CORES)
    assert kernel_cycles.text_of(json.loads(text)) == text


@pytest.mark.qemu
@pytest.mark.complete
@pytest.mark.parametrize(
    "cpu", ["cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"]
)
@pytest.mark.parametrize("network", ["kws", "autoencoder"])
def test_predictions_are_as_far_from_the_model_as_stated(cpu, network):
    code, keys = kernel_cycles.CORES[cpu]
    module = dict(kernel_cycles.compared())[network]
    lowered = driver.lower(module, TARGET, options=CortexMOptions(cpu=code)).module
    program = kernel_cycles.traced(lowered, code)
    rates = core_rates(cpu)
    flashes = [Flash(), *(flash_of(part(key), None) for key in keys)]
    for row in kernel_cycles.comparisons(network, program, rates, flashes):
        bound = rates.error if row.memory == str(Flash()) else rates.wait_error
        assert abs(row.error) <= bound, f"python tools/kernel_cycles.py {cpu}: {row}"
