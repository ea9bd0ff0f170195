"""Benchmarks of emitted C: the page is current, the counts are what is stored."""

import json

import pytest
from support import ROOT

from benchmarks import stored
from benchmarks.cortexm import networks, table


def test_page_is_current():
    advice = "python -m benchmarks cortexm --update"
    assert table.PAGE.read_text(encoding="utf-8") == table.page(), advice


def test_every_network_is_stored():
    rows = {row["network"]: row for row in stored.read(networks.STORED)}
    assert set(rows) == {*networks.NETWORKS, "digits"}
    for row in rows.values():
        assert set(networks.COSTS) <= set(row)
        counted = sum(layer["instructions"] for layer in row["layers"])
        assert counted == pytest.approx(row["instructions"], rel=0.01)


def test_instructions_and_bytes_are_below_those_of_cmsis_nn():
    rows = {row["network"]: row for row in stored.read(networks.STORED)}
    peer = json.loads((table.PEERS / "1_cmsis_nn.json").read_text())["networks"]
    for name in networks.NETWORKS:
        assert rows[name]["instructions"] < peer[name]["instructions"]
        flash = [r["text_bytes"] + r["const_bytes"] for r in (rows[name], peer[name])]
        assert flash[0] < flash[1]


@pytest.mark.parametrize("path", sorted(table.PEERS.glob("*.json")), ids=lambda p: p.stem)
def test_peers_name_their_source(path):
    peer = json.loads(path.read_text())
    assert set(peer) == {"name", "source", "networks"}
    assert set(peer["networks"]) == set(networks.NETWORKS)
    assert "GCC 12.2 -O3" in peer["source"]


@pytest.mark.qemu
def test_digits_cost_what_is_stored():
    row = networks.row("digits", ROOT / "examples" / "digits" / "digits.rlx")
    before = stored.read(networks.STORED)
    if stored.unmatched([row], before, networks.KEY):
        pytest.skip(f"nothing is stored for {row['compiler']}")
    assert stored.grown([row], before, networks.KEY, networks.COSTS) == []
    assert json.loads(json.dumps(row)) == row
