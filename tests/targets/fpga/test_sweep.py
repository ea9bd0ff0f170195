"""The comparison over devices: what is tried, what a row holds, and when a rate is missed.

``tests/cli/test_sweep_option.py`` runs it as a command.
"""

from __future__ import annotations

import re

import pytest

import rlx
from rlx.support.errors import DoesNotFitError
from rlx_fpga import TARGET, FpgaOptions
from rlx_fpga.devices import boards, devices
from rlx_fpga.sweep import SWEEP
from support.networks.dense_designs import dense


def tried(options, *given):
    found = SWEEP.attempts(options, frozenset(given))
    return [(one.architecture, one.weights) for one in found]


def test_the_engine_is_tried_after_the_options_themselves():
    wanted = [("dataflow", "mem"), ("engine", "mem"), ("engine", "stream")]
    assert tried(FpgaOptions()) == tried(FpgaOptions(dsp=4, fps=9.0), "dsp", "fps") == wanted


@pytest.mark.parametrize(
    ("name", "value"),
    [("architecture", "parallel"), ("weights", "inline"), ("fold", (("n0_dense", 1, 1),))],
)
def test_a_style_that_was_chosen_is_the_only_one(name, value):
    options = FpgaOptions(**{name: value})
    assert SWEEP.attempts(options, frozenset({name, "dsp"})) == (options,)


def test_other_options_are_kept_in_every_attempt():
    options = FpgaOptions(device="ecp5-45k", clock=1e6, io="uint8")
    for one in SWEEP.attempts(options, frozenset({"clock"})):
        assert (one.device, one.clock, one.io) == ("ecp5-45k", 1e6, "uint8")


def test_budgets_are_limits_on_every_device():
    found = SWEEP.with_value(FpgaOptions(device="ecp5-85k", dsp=30, bram=10), "ecp5-25k")
    assert (found.device, found.dsp, found.bram, found.lut) == ("ecp5-25k", 28, 10, None)


def test_networks_are_lowered_anew_only_for_another_architecture_or_other_ports():
    keys = [SWEEP.lowering_key(FpgaOptions(**changes)) for changes in (
        {}, {"device": "ice40-up5k", "dsp": 3}, {"architecture": "engine"}, {"io": "uint8"},
    )]  # fmt: skip
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_a_rate_that_is_missed_by_a_cycle_is_no_fit():
    # A rate of one cycle more than the fastest engine has needs the same lanes.
    options = {"architecture": "engine", "device": "ecp5-25k", "clock": 1e6}
    interval = SWEEP.estimate(dense(), FpgaOptions(**options))["interval"]
    for cycles, fits in ((interval, True), (interval - 1, False)):
        chosen = FpgaOptions(**options, fps=1e6 / (cycles + 0.5))
        found = SWEEP.estimate(dense(), chosen)
        assert found["fits"] is fits
        rate = f"{int(found['fps']):,} of {int(chosen.fps):,} frames/s"
        assert found["short"] == ("" if fits else rate)


def test_a_rate_out_of_reach_is_compared_with_the_best_of_each_device():
    rows = rlx.estimate_all(dense(), "fpga", ["ecp5-25k", "ice40-up5k"], fps=1e9)
    assert len(rows) == 2
    for row in rows:
        with pytest.raises(DoesNotFitError) as refusal:
            TARGET.estimate(dense(), FpgaOptions(device=row["device"], fps=1e9))
        maximum = re.search(r"the maximum within the budget is ([\d,]+)", str(refusal.value))
        assert row["reason"] == f"{maximum[1]} of 1,000,000,000 frames/s"
        assert (row["fits"], row["architecture"]) == (False, "dataflow")


def test_a_row_has_the_figures_and_says_how_weights_come():
    options = FpgaOptions(architecture="engine", device="ice40-up5k")
    report = TARGET.estimate(dense(), options)
    row = SWEEP.row(report, options)
    assert row["architecture"] == "engine"
    assert all(row[name] == report[name] for name in row if name != "architecture")
    assert row.keys() == SWEEP.columns.keys() | {"logic_cells_percent"}
    for weights in ("load", "stream"):
        sent = FpgaOptions(architecture="engine", device="ice40-up5k", weights=weights)
        assert SWEEP.row(report, sent)["architecture"] == "engine, streamed weights"
    del report["logic_cells_percent"]
    assert SWEEP.row(report, options).keys() == SWEEP.columns.keys()


def test_groups_are_all_devices_and_all_boards():
    assert SWEEP.groups == {"all": tuple(devices()), "boards": tuple(boards())}


@pytest.mark.parametrize(
    ("lut", "cells", "doubt"),
    [(80.0, None, ""), (80.1, None, "80.1 % of the LUTs"), (99.0, 92.0, "99 % of the LUTs"),
     (10.0, 92.1, "92.1 % of the logic cells"), (99.0, 95.0, "95 % of the logic cells")],
)  # fmt: skip
def test_doubt_begins_above_the_limits(lut, cells, doubt):
    figures = {"lut_percent": lut, **({} if cells is None else {"logic_cells_percent": cells})}
    assert SWEEP.caveat(figures).partition(",")[0] == doubt
