"""The estimate of machine code of the MLPerf Tiny networks, beside what GCC made of them."""

import pytest

from benchmarks import stored
from benchmarks.cortexm import networks
from rlx import frontends
from rlx.driver import driver
from rlx.targets import target

pytestmark = pytest.mark.models

TOLERANCE = 0.12


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_estimate_of_the_code_is_near_the_measured_size(shared_models, name):
    measured = {row["network"]: row for row in stored.read(networks.STORED)}[name]
    cortexm = target.load("cortexm")
    module = frontends.load(shared_models / networks.NETWORKS[name])
    lowered = driver.lower(module, cortexm).module
    report = cortexm.estimate(lowered, cortexm.options())
    assert report["code_bytes"] == pytest.approx(measured["text_bytes"], rel=TOLERANCE)
    assert report["constant_bytes"] == measured["const_bytes"]
