"""Figures of a design on its device: rate, cells and shares."""

from __future__ import annotations

import pytest

from rlx_fpga import FpgaOptions
from rlx_fpga.cost.costs import Resources
from rlx_fpga.report import cells_of, device_report


def test_rate_is_that_of_the_clock_to_two_places():
    found = device_report(Resources(), 700, FpgaOptions(device="ecp5-25k", clock=12.5e6))
    assert (found["device"], found["clock_mhz"], found["fps"]) == ("ecp5-25k", 12.5, 17857.14)
    assert device_report(Resources(), 1, FpgaOptions(device="icebreaker"))["fps"] == 12e6


@pytest.mark.parametrize(("bram", "shown"), [(0, 0), (1.0, 1), (1.5, 1.5)])
def test_block_rams_are_whole_unless_there_is_a_half(bram, shown):
    found = cells_of(Resources(bram=bram))["bram"]
    assert (found, type(found)) == (shown, type(shown))


def test_shares_are_those_of_each_resource():
    found = device_report(
        Resources(lut=2429, ff=12144, dsp=14, bram=14), 1, FpgaOptions(device="ecp5-25k")
    )
    shares = [found[f"{name}_percent"] for name in ("lut", "ff", "dsp", "bram")]
    assert shares == [10.0, 50.0, 50.0, 25.0]
    assert "logic_cells" not in found


def test_a_design_for_ice40_has_shares_of_logic_cells_and_of_no_dsp():
    cells = Resources(lut=768, ff=768, dsp=3)
    found = device_report(cells, 1, FpgaOptions(device="ice40-hx8k"))
    assert found["logic_cells"] == cells.logic_cells
    assert found["logic_cells_percent"] == round(100 * cells.logic_cells / 7680, 1)
    # Of something that the device lacks the share is 0 or beyond all that there could be.
    assert found["dsp_percent"] >= 100
    assert device_report(Resources(), 1, FpgaOptions(device="ice40-hx8k"))["dsp_percent"] == 0
