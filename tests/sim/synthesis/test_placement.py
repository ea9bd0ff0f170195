"""The picture of a placement: tiles in the colour of their layer, the same bytes again."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from rlx_fpga.devices import device, devices
from rlx_sim.synthesis.placement import WRAPPER, PlacedCell, owner_of, placement_svg, read_placed

LAYERS = ("n1_add", "n1_add_relu")
REST = "ports and control"
SVG = "{http://www.w3.org/2000/svg}"


def cells(name, type_, count, x, y):
    return [PlacedCell(f"{name}{k}", type_, x, y) for k in range(count)]


def drawn(placed, name="ecp5-25k", title="t"):
    return placement_svg(placed, device(name), title=title, layers=LAYERS, rest=REST)


def paths(text):
    """Return the layers of a picture: their paths, and the opacity of each."""
    return {
        group.find(f"{SVG}title").text: {
            path.get("stroke-opacity"): path.get("d") for path in group.iter(f"{SVG}path")
        }
        for group in ET.fromstring(text).iter(f"{SVG}g")
        if group.find(f"{SVG}title") is not None
    }


def test_cells_and_their_places_are_read_from_a_netlist(tmp_path):
    name = 'u_top.u_core."odd\\ \u00fc'
    netlist = {"modules": {"top": {
        "attributes": {"NEXTPNR": "X"},
        "cells": {
            name: {"hide_name": 0, "type": "TRELLIS_FF", "parameters": {"A": "0"},
                   "attributes": {"hdlname": "x", "NEXTPNR_BEL": "X31/Y0/SLICEA.FF0"}},
            "unplaced": {"hide_name": 0, "type": "LUT4", "attributes": {}},
            "b": {"hide_name": 1, "type": "ICESTORM_LC",
                  "attributes": {"NEXTPNR_BEL": "X2/Y13/lc3"}},
        },
        "netnames": {"n": {"hide_name": 0, "bits": [2], "attributes": {}}},
    }}}  # fmt: skip
    path = tmp_path / "w.json"
    path.write_text(json.dumps(netlist, indent=2))
    assert list(read_placed(path)) == [
        PlacedCell(name, "TRELLIS_FF", 31, 0), PlacedCell("b", "ICESTORM_LC", 2, 13),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("u_top.u_core.u_n1_add.x_LUT4_Z", "n1_add"),
        ("u_top.u_core.u_n1_add_relu.x", "n1_add_relu"),
        ("u_top.u_core.n1_add_relu_out_data_LUT4_Z", "n1_add_relu"),
        ("u_top.u_core.u_i_register.x", REST),
        ("u_top.m_axis_tdata_TRELLIS_FF_Q", REST),
        ("u_top.u_core.rst_LUT4_Z", REST),
        ("out_q_TRELLIS_FF_Q_9", WRAPPER),
        ("$nextpnr_CCU2C_88$CCU2_COMB1", WRAPPER),
    ],
)
def test_a_cell_belongs_to_the_layer_in_its_name(name, owner):
    assert owner_of(name, LAYERS, REST) == owner


def test_runs_of_tiles_are_one_line_and_fullness_is_shown():
    one, two = "u_top.u_core.u_n1_add.a", "u_top.u_core.u_n1_add_relu.a"
    placed = [
        *cells(one, "TRELLIS_FF", 8, 3, 2), *cells(one, "TRELLIS_FF", 8, 4, 2),
        *cells(one, "TRELLIS_FF", 7, 9, 2), *cells(one, "TRELLIS_FF", 9, 1, 5),
        *cells(one, "TRELLIS_FF", 4, 7, 7), *cells(two, "TRELLIS_FF", 5, 7, 7),
        *cells(two, "DP16KD", 1, 8, 8),
    ]  # fmt: skip
    text = drawn(placed)
    assert paths(text) == {
        "n1_add": {None: "M0 .5m3 2h2m-4 3h1", ".5": "M0 .5m9 2h1"},
        "n1_add_relu": {None: "M0 .5m7 7h1"},
    }
    assert "n1_add: 36 cells" in text
    assert '<rect x="8.08" y="8.08"' in text
    assert drawn(reversed(placed)) == text


def test_row_0_of_ice40_is_the_lowest():
    placed = cells("u_top.u_core.u_n1_add.a", "ICESTORM_LC", 4, 0, 1)
    assert paths(drawn(placed, "ice40-up5k"))["n1_add"] == {None: "M0 .5m0 30h1"}


def test_titles_are_escaped():
    ET.fromstring(drawn([], title="<script>&"))


@pytest.mark.parametrize("name", devices())
def test_devices_that_are_placed_have_a_grid(name):
    chosen = device(name)
    assert (chosen.grid > (0, 0)) == bool(chosen.pnr)


def test_the_largest_device_stays_small():
    chosen = device("ecp5-85k")
    placed = [
        PlacedCell(f"u_top.u_core.u_{LAYERS[(x + y) % 2]}.a", "TRELLIS_FF", x, y)
        for x in range(chosen.grid[0])
        for y in range(chosen.grid[1])
    ]
    assert len(drawn(placed, chosen.name)) < 150_000
