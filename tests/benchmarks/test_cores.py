"""Benchmarks of emitted C on other cores: the page is current, the vectors pay."""

import json

import pytest

from benchmarks import stored
from benchmarks.cortexm import cores, networks


def rows_of(cpu):
    return {row["network"]: row for row in stored.read(cores.STORED) if row["cpu"] == cpu}


def test_page_is_current():
    advice = "python -m benchmarks cores --update"
    assert cores.PAGE.read_text(encoding="utf-8") == cores.page(), advice


@pytest.mark.parametrize("cpu", cores.CORES)
def test_every_network_is_stored(cpu):
    rows = rows_of(cpu)
    assert set(rows) == {*networks.NETWORKS, "digits"}
    assert all(set(networks.COSTS) <= set(row) for row in rows.values())


@pytest.mark.parametrize(("cpu", "most"), [("cortex-m33", 0.8), ("cortex-m55", 0.55)])
def test_instructions_are_below_those_of_cmsis_nn(cpu, most):
    peer = json.loads(cores.PEER.read_text(encoding="utf-8"))["cores"][cpu]
    for name, row in rows_of(cpu).items():
        if name in peer:
            assert row["instructions"] < most * peer[name]
