"""Cells of each layer after synthesis: their sums are the design's."""

from __future__ import annotations

import json

import msgspec
import pytest

from rlx import api
from rlx.cli import main
from rlx.cli.schemas import SCHEMAS
from rlx.driver import driver
from rlx.targets import target
from rlx_fpga import FpgaOptions
from rlx_sim.hardware.layers import PREDICTED, REST, layer_rows
from rlx_sim.synthesis.build import FPGA
from support.networks.dense_designs import DESIGNS, dense


@pytest.fixture(scope="module")
def designs(tmp_path_factory):
    root = tmp_path_factory.mktemp("layers")
    for name in ("files", "netlist", "engine"):
        options = FpgaOptions(**DESIGNS[name])
        driver.emit(dense(), target.load("fpga"), root / name, options=options)
    return root


def check_sums(build):
    """Check that the rows add up to the totals, for all kinds of cells."""
    for row in build["resources"]:
        kind = row["resource"]
        parts = [one["synthesis"][kind] for one in build["layers"] if kind in one["synthesis"]]
        assert min(parts) >= 0
        assert sum(parts) == row["synthesis"]
        if kind in PREDICTED:
            assert sum(one["estimate"][kind] for one in build["layers"]) == row["estimate"]


@pytest.mark.synth
def test_cells_of_each_layer_add_up_and_are_shown(designs, tmp_path, capsys):
    folder, kept = designs / "files", tmp_path / "kept"
    assert main(["build", str(folder), "--seeds", "1", "-o", str(kept)]) == 0
    out = capsys.readouterr().out
    found = json.loads((kept / "build.json").read_text())
    assert msgspec.to_builtins(msgspec.convert(found, SCHEMAS["build"])) == found
    assert [row["layer"] for row in found["layers"]] == ["dense", "dense_2", REST]
    assert [row["op"] for row in found["layers"]] == ["q.dense", "q.dense", None]
    check_sums(found)
    # Multipliers are instances of their layers, whose number is exact.
    assert [row["synthesis"]["dsp"] for row in found["layers"]] == [3, 1, 0]
    first, second, rest = (row["synthesis"] for row in found["layers"])
    # Nearly everything has a name inside of its layer: the last layer's output register has the
    # port's, a bit for each of its 8, and a beat counter is at the port.
    assert rest["ff"] < 40 < second["ff"] < first["ff"]
    line = next(one for one in out.splitlines() if one.startswith(REST))
    assert line.split()[3:] == ["-", *line.split()[4:]]
    assert f"{rest['lut']:,}" in line
    report = api.report(folder, run=False, build=kept)
    assert [one.name for one in report.layer_cells] == ["dense", "dense_2", REST]
    assert report.placement == (kept / "placement.svg").read_text()
    assert "dense: " in report.placement
    assert 'src="data:image/svg+xml;base64,' in report.to_html()
    assert f"| dense | {first['lut']:,} (" in report.to_markdown()


@pytest.mark.synth
def test_a_family_whose_netlist_has_no_names_gets_some(designs):
    found = FPGA.build(designs / "netlist").as_json()
    check_sums({**found, "resources": [r for r in found["resources"] if r["resource"] != "bram"]})
    assert [row["synthesis"]["dsp"] for row in found["layers"]] == [3, 1, 0]
    first, second, _ = (row["synthesis"] for row in found["layers"])
    assert first["ff"] > second["ff"] > 300
    assert found["placement"] is None


@pytest.mark.synth
def test_another_device_has_no_predictions(designs):
    found = FPGA.build(designs / "files", device="ice40-hx8k", seeds=0).as_json()
    assert [row["estimate"] for row in found["layers"]] == [None, None, None]
    for row in found["resources"]:
        parts = [one["synthesis"].get(row["resource"], 0) for one in found["layers"]]
        assert sum(parts) == row["synthesis"]


@pytest.mark.synth
def test_what_layers_of_an_engine_share_has_rows_in_their_place(designs):
    found = FPGA.build(designs / "engine", seeds=0).as_json()
    check_sums(
        {**found, "resources": [r for r in found["resources"] if r["resource"] == "lut_ram"]}
    )
    rows = {row["layer"]: row["synthesis"] for row in found["layers"]}
    assert list(rows) == ["sequencer", "array", "scale", "o_buffer", f"memory, {REST}"]
    assert {row["estimate"] for row in found["layers"]} == {None}
    for row in found["resources"]:
        assert sum(one.get(row["resource"], 0) for one in rows.values()) == row["synthesis"]
    assert rows["array"]["dsp"] > 0 == rows["sequencer"]["dsp"]


def test_half_block_rams_are_counted():
    kinds = {"lut": 4, "ff": 0, "dsp": 0, "bram": 0.5}
    report = {"device": "artix7-35t", "lut": 5, "ff": 0, "dsp": 0, "bram": 1,
              "layers": [{"name": "n0_a", "op": "q.a", **kinds}]}  # fmt: skip
    found = {"device": "artix7-35t", "lut": 6, "ff": 1, "dsp": 0, "bram": 1.5, "lut_ram": 0,
             "layers": {"n0_a": {"LUT6": 4, "RAMB18E1": 1}}}  # fmt: skip
    one, rest = layer_rows(report, found, "xc7")
    assert one["synthesis"] == {**kinds, "lut_ram": 0}
    assert rest["synthesis"] == {"lut": 2, "ff": 1, "dsp": 0, "bram": 1, "lut_ram": 0}
    assert rest["estimate"] == {"lut": 1, "ff": 0, "dsp": 0, "bram": 0.5}
