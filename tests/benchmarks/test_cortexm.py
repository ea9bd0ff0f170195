"""Benchmarks of emitted C: the page is current, the counts are what is stored."""

import json

import pytest

from benchmarks import stored
from benchmarks.cortexm import networks, table
from support import ROOT


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


def peer_networks(name):
    return json.loads((table.PEERS / f"{name}.json").read_text())["networks"]


def test_instructions_are_fewer_than_those_of_cmsis_nn():
    rows = {row["network"]: row for row in stored.read(networks.STORED)}
    for name, peer in peer_networks("1_cmsis_nn").items():
        assert rows[name]["instructions"] < peer["instructions"]


def test_bytes_are_fewer_than_those_of_tflm_with_cmsis_nn():
    rows = {row["network"]: row for row in stored.read(networks.STORED)}
    for name, peer in peer_networks("2_tflm_cmsis_nn").items():
        flash = [r["text_bytes"] + r["const_bytes"] for r in (rows[name], peer)]
        assert flash[0] < flash[1]
        # TFLM's arena holds inputs and outputs too.
        assert rows[name]["arena_with_io_bytes"] < peer["arena_bytes"]


def test_estimates_of_every_layer_are_near_the_counts():
    wrong = [
        (row["network"], layer["name"], layer["estimate"], layer["instructions"])
        for row in stored.read(networks.STORED)
        for layer in row["layers"]
        if abs(layer["estimate"] - layer["instructions"]) > max(100, 0.1 * layer["instructions"])
    ]
    assert wrong == []


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
    assert stored.grown_costs([row], before, networks.KEY, networks.COSTS) == []
    assert json.loads(json.dumps(row)) == row
