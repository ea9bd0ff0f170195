"""View of a design's report: each figure where it says something, with its meaning."""

from __future__ import annotations

import pytest

from rlx.support.text.tables import Column
from rlx_fpga.view import cell_columns, layers_table, plain_op, total, view

LAYERS = [
    {"name": "n0", "op": "q.conv2d", "cycles": 5, "lut": 4, "ff": 3, "dsp": None, "bram": 0},
    {"name": "n1", "op": "q.dense", "cycles": 90, "lut": 1, "ff": 1, "dsp": 2, "bram": 0.5},
    {"name": "n2", "op": "q.add", "cycles": 7, "lut": 9, "ff": 8, "dsp": 0, "bram": 0},
]  # fmt: skip
REPORT = {
    "architecture": "dataflow", "device": "ecp5-25k", "clock_mhz": 50.0, "interval": 1250,
    "fps": 40000.0, "slowest": "n1", "multipliers": 2, "memory_bits": 0, "layers": LAYERS,
    "lut": 14, "ff": 12, "dsp": 2, "bram": 0.5,
    "lut_percent": 1.5, "ff_percent": 0.5, "dsp_percent": 7.1, "bram_percent": 0.9,
}  # fmt: skip


def figures(**changes):
    """Return value, unit and note of each figure, by its label."""
    # The tables of layers are those of the architectures.
    _, found = view({**REPORT, "layers": [], **changes})
    return {one.label: (one.value, one.unit, one.note) for one in found.figures}


@pytest.mark.parametrize(
    ("device", "mhz", "limit"),
    [("ice40-up5k", 36, None), ("ice40-up5k", 100, 36), ("icebreaker", 37, 36),
     ("ecp5-25k", 112.5, None), ("ecp5-25k", 113, 112.5)],
)  # fmt: skip
def test_a_clock_above_what_routed_designs_reach_is_in_doubt(device, mhz, limit):
    shown = figures(device=device, clock_mhz=mhz).get("clock")
    note = f"above the {limit:g} MHz that routed designs reach: timing may fail" if limit else ""
    assert shown == ((mhz, "MHz", note) if limit else None)


def test_rate_and_cells_are_always_shown():
    found = figures()
    assert list(found) == ["rate", "LUT", "FF", "DSP", "BRAM"]
    note = "one frame in 1,250 cycles (the interval) at 50 MHz; n1 is slowest"
    assert found["rate"] == (40000.0, "frames/s", note)
    assert found["BRAM"] == (0.5, "", "0.9 % of ecp5-25k")
    assert figures(slowest="ports")["rate"][2].endswith("; the ports are slowest")


@pytest.mark.parametrize(
    ("changes", "label", "value", "note"),
    [
        ({"latency": 100}, "latency", 100, "2 µs from"),
        ({"fill": 3}, "frames in flight", 3, "kept in line buffers"),
        ({"busy": 0.12345, "lanes": 8}, "multipliers busy", 12.3, "the 8 lanes multiply"),
        ({"multipliers": 3}, "multipliers", 3, "LUTs implement those"),
        ({"memory_bits": 9}, "memory", 9, "weights, tables, line buffers and queues"),
        ({"memory_bits": 9, "weight_bits": 4000, "table_bits": 1}, "memory", 9,
         "weights 4,000, tables 1"),
        ({"weights": "stream"}, "weights loaded", "stream", ""),
        ({"spram": 4}, "SPRAM", 4, ""),
        ({"fits": False, "short": "needs 58 block RAMs"}, "fits", False, "needs 58 block RAMs"),
    ],
)  # fmt: skip
def test_other_figures_are_shown_where_they_say_something(changes, label, value, note):
    assert label not in figures()
    found = figures(**changes)
    assert found.keys() - figures() == {label}
    assert found[label][0] == value
    assert note in found[label][2]


@pytest.mark.parametrize(
    ("percent", "doubtful"), [(92.0, False), (92.1, True), (100.0, True), (100.1, False)]
)
def test_nearly_full_logic_cells_are_in_doubt(percent, doubtful):
    value, _, note = figures(logic_cells=7, logic_cells_percent=percent)["logic cells"]
    assert value == 7
    assert note.startswith(f"{percent:g} % of ecp5-25k; hold a LUT and a flip-flop")
    # What is in doubt is whether the design fits.
    assert "predicted" not in note
    cells = {"logic_cells": 7, "logic_cells_percent": percent}
    assert ("predicted to within 10 %" in figures(**cells, fits=True)["fits"][2]) == doubtful
    # The report of an emission does not say that it fits: what cannot is not emitted.
    emitted = figures(**cells).get("fits", (True, "", ""))
    assert ("predicted to within 10 %" in emitted[2]) == doubtful


def test_the_layer_that_weighs_most_is_emphasized():
    def table(layers, weight="cycles"):
        columns = [Column("layer")]
        return layers_table("t", {"layers": layers}, columns, lambda one: (one["name"],), weight)

    assert table(LAYERS).emphasis == 1
    assert table(LAYERS, "lut").emphasis == 2
    assert table(LAYERS).rows == (("n0",), ("n1",), ("n2",))
    assert table([]).emphasis is None


def test_columns_of_cells_have_the_totals_of_the_design():
    assert [(one.heading, one.total) for one in cell_columns(REPORT)] == [
        ("LUT", 14), ("FF", 12), ("DSP", 2), ("BRAM", 0.5),
    ]  # fmt: skip
    # Flip-flops are left out first where there is no space.
    assert max(cell_columns(REPORT), key=lambda one: one.priority).heading == "FF"


def test_totals_count_nothing_as_zero():
    assert total({"layers": LAYERS}, "dsp") == 2
    assert total({"layers": []}, "dsp") == 0


def test_names_of_ops_are_shown_without_their_dialect():
    assert [plain_op(name) for name in ("q.conv2d", "a.b.c", "add")] == ["conv2d", "c", "add"]
