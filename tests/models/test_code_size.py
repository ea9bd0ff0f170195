"""The estimate of machine code of the MLPerf Tiny networks, beside what GCC made of them."""

import pytest

from benchmarks import stored
from benchmarks.cortexm import networks
from rlx import frontends
from rlx.driver import driver
from rlx.targets import target

pytestmark = pytest.mark.models

TOLERANCE = 0.12


def test_estimates_of_the_code_are_near_the_measured_sizes(shared_models):
    measured = {row["network"]: row for row in stored.read(networks.STORED)}
    cortexm = target.load("cortexm")
    code, constants = {}, {}
    for name, file in networks.NETWORKS.items():
        lowered = driver.lower(frontends.load(shared_models / file), cortexm).module
        report = cortexm.estimate(lowered, cortexm.options())
        code[name], constants[name] = report["code_bytes"], report["constant_bytes"]
    wanted = {name: measured[name]["text_bytes"] for name in networks.NETWORKS}
    assert code == pytest.approx(wanted, rel=TOLERANCE)
    assert constants == {name: measured[name]["const_bytes"] for name in networks.NETWORKS}
