"""Networks with PReLUs that exporters wrote as several ops: one layer each, with equal results."""

from __future__ import annotations

import pytest

from rlx.driver import driver
from rlx.ops.q import QChain, QPrelu
from rlx_cortexm import TARGET
from rlx_cortexm.options import CortexMOptions
from rlx_sim.firmware.host_c import HostC
from rlx_sim.protocol import compare
from support.networks.landmarks import landmarks
from support.networks.prelu_chains import FORMS, halves, maximum, product, relu

ACTIVATIONS = 6


def lowered(form, size=32, **options):
    return driver.lower(landmarks(size, (4, 8), form), TARGET, options=CortexMOptions(**options))


def lowered_ops(form, size=32, **options):
    graph = lowered(form, size, **options).module.graph
    return [type(node.op) for node in graph.op_nodes]


def flash(form, size, **options):
    report = TARGET.estimate(lowered(form, size, **options).module, CortexMOptions(**options))
    return report["constant_bytes"] + report["code_bytes"]


@pytest.mark.parametrize("form", [maximum, relu, halves], ids=lambda f: f.__name__)
def test_products_that_are_rounded_by_themselves_become_chains(form):
    ops = lowered_ops(form, size=64)
    assert ops.count(QChain) == ACTIVATIONS


def test_products_in_the_scale_of_the_operand_become_prelus():
    assert lowered_ops(product).count(QPrelu) == ACTIVATIONS


def test_layers_of_few_elements_keep_the_ops_of_a_chain():
    ops = lowered_ops(maximum, size=16)
    assert QChain not in ops


def test_speed_has_tables_for_fewer_elements():
    assert QChain in lowered_ops(maximum, size=16, optimize="speed")


def test_smallest_flash_has_the_ops_of_chains():
    without_pass = [type(n.op) for n in landmarks(64, (4, 8), relu).graph.op_nodes]
    ops = lowered_ops(relu, size=64, optimize="size")
    assert QChain not in ops
    assert len(ops) == len(without_pass)


@pytest.mark.parametrize("form", [maximum, relu, halves], ids=lambda f: f.__name__)
def test_tables_that_exceed_a_limit_on_flash_become_ops(form):
    assert QChain not in lowered_ops(form, 64, flash=12_000)
    assert flash(form, 64) > 16_000


def test_tables_that_leave_too_little_for_fast_kernels_become_ops():
    # Tables and the smallest kernels need 15,410 bytes with a margin: slower than ops of
    # max(x, alpha * x), but not than those of relu(x) - alpha * relu(-x).
    assert QChain not in lowered_ops(maximum, 64, flash=15_430)
    assert QChain in lowered_ops(relu, 64, flash=15_430)


def test_a_limit_on_flash_that_tables_fit_changes_nothing():
    assert flash(maximum, 64, flash=20_000) == flash(maximum, 64)
    assert QChain in lowered_ops(maximum, 64, flash=20_000)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_host_c_equals_the_network_before_the_pass(form, tmp_path):
    module = landmarks(32, (4, 8), form)
    golden = driver.golden_for(module.graph, TARGET, frames=2)
    driver.emit(module, TARGET, tmp_path / "net", golden=golden)
    simulator = HostC("gcc", "-O2")
    simulation = simulator.simulate(tmp_path / "net", golden, timeout_s=120)
    assert compare(simulator.name, simulation, golden) == []
