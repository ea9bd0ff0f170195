"""Benchmarks in cycles: the page is current and names what is modelled and what is measured."""

import json

import pytest

from benchmarks import stored
from benchmarks.cortexm import cycles, networks


def rows_of(cpu):
    rows = [row for row in stored.read(cycles.STORED) if row["cpu"] == cpu]
    return {(row["part"], row["network"]): row for row in rows}


def test_page_is_current():
    advice = "python -m benchmarks cortexm/cycles --update"
    assert cycles.PAGE.read_text(encoding="utf-8") == cycles.page(), advice


@pytest.mark.parametrize("cpu", cycles.PARTS)
def test_every_network_is_stored_for_every_part(cpu):
    names = {*networks.NETWORKS, "digits"}
    assert set(rows_of(cpu)) == {(part, name) for part in cycles.PARTS[cpu] for name in names}
    for row in rows_of(cpu).values():
        assert row["cycles_min"] <= row["cycles"] <= row["cycles_max"]


@pytest.mark.parametrize("cpu", cycles.PARTS)
def test_flash_with_wait_states_is_slower(cpu):
    rows = rows_of(cpu)
    _, part = cycles.PARTS[cpu]
    for name in networks.NETWORKS:
        assert rows[part, name]["cycles"] > rows["", name]["cycles"]
        assert rows[part, name]["instructions"] == rows["", name]["instructions"]


def test_a_cortex_m7_needs_fewer_cycles():
    m4, m7 = rows_of("cortex-m4"), rows_of("cortex-m7")
    for name in networks.NETWORKS:
        assert m7["", name]["cycles"] < 0.8 * m4["", name]["cycles"]


def test_every_line_says_modelled_or_measured():
    lines = [line for line in cycles.page().splitlines() if line.startswith("| ")]
    figures = [line for line in lines if "ms" not in line and any(c.isdigit() for c in line)]
    named = [line for line in figures if "modelled" in line or "measured" in line]
    assert len(named) == len(figures) - len(cycles.PARTS)  # one line of instructions for each core
    peer = json.loads(cycles.PEER.read_text(encoding="utf-8"))
    assert all(system["board"] in cycles.page() for system in peer["systems"])
