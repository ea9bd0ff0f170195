"""Networks with PReLUs that exporters wrote as several ops: one layer each, with equal results."""

from __future__ import annotations

import pytest

from rlx.driver import driver
from rlx.ops.q import QChain, QPrelu
from rlx_cortexm import TARGET
from rlx_sim.firmware.host_c import HostC
from rlx_sim.protocol import compare
from support.networks.landmarks import landmarks
from support.networks.prelu_chains import FORMS, halves, maximum, product, relu

ACTIVATIONS = 6


def lowered_ops(form, size=32):
    graph = driver.lower(landmarks(size, (4, 8), form), TARGET).module.graph
    return [type(node.op) for node in graph.op_nodes]


@pytest.mark.parametrize("form", [maximum, relu, halves], ids=lambda f: f.__name__)
def test_products_that_are_rounded_by_themselves_become_chains(form):
    ops = lowered_ops(form, size=64)
    assert ops.count(QChain) == ACTIVATIONS


def test_products_in_the_scale_of_the_operand_become_prelus():
    assert lowered_ops(product).count(QPrelu) == ACTIVATIONS


def test_layers_of_few_elements_keep_the_ops_of_a_chain():
    ops = lowered_ops(maximum, size=16)
    assert QChain not in ops


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_host_c_equals_the_network_before_the_pass(form, tmp_path):
    module = landmarks(32, (4, 8), form)
    golden = driver.golden_for(module.graph, TARGET, frames=2)
    driver.emit(module, TARGET, tmp_path / "net", golden=golden)
    simulator = HostC("gcc", "-O2")
    simulation = simulator.simulate(tmp_path / "net", golden, timeout_s=120)
    assert compare(simulator.name, simulation, golden) == []
