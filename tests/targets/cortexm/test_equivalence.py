"""Emitted C computes the reference's codes: every op on random shapes and parameters."""

from __future__ import annotations

import pytest
from cortexm_batch import Batch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from strategies import STRATEGIES, random_graphs

from rlx.ops.q import Q_OPS
from rlx_sim.firmware import FirmwareBuild
from rlx_sim.host_c import HostC
from rlx_sim.qemu import Qemu

CASES = 8

# A failing batch names the graph that differs; shrinking it would compile hundreds of times.
few = settings(
    max_examples=2,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


def batches(strategy):
    """Lists of cases, compiled together."""
    return st.lists(strategy, min_size=CASES, max_size=CASES)


@pytest.mark.parametrize("op", Q_OPS, ids=lambda op: op.name)
def test_host_c_equals_the_reference(op, tmp_path_factory):
    @few
    @given(batches(STRATEGIES[op](batch=2)))
    def run(cases):
        Batch(cases).check(tmp_path_factory.mktemp("op"), HostC(optimization="-O1"))

    run()
