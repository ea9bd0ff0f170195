"""``rlx estimate --devices`` and ``--cpu`` with several values: one table, the best first."""

import json
from dataclasses import replace

import numpy as np
import pytest

import rlx
from rlx import f32
from rlx.cli import main
from rlx.support.errors import UnsupportedOpError, UsageError
from rlx_cortexm.parts import boards, parts
from rlx_fpga.sweep import SWEEP
from support.messages import raises
from support.networks.mlperf_like import file


def run(capsys, *arguments):
    status = main(["estimate", *(str(a) for a in arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def rows(capsys, *arguments, status=0):
    found, out, err = run(capsys, *arguments, "--json")
    assert (found, err) == (status, "")
    return json.loads(out)["rows"]


def test_devices_are_one_table_without_a_target(digits_model, capsys):
    status, out, _ = run(capsys, digits_model, "--devices", "icebreaker,ulx3s-85f")
    assert status == 0
    title, heading, *lines = out.splitlines()
    assert title == "fpga: 2 of 2 fit, predicted"
    assert heading.split()[:3] == ["device", "fits", "frames/s"]
    assert [line.split()[:2] for line in lines[:2]] == [["ulx3s-85f", "yes"], ["icebreaker", "yes"]]


@pytest.mark.parametrize("flag", [["--cpus", "all"], ["--cpu", "all"], ["--cpu=all"]])
def test_all_processors_by_instructions(digits_model, capsys, flag):
    found = rows(capsys, digits_model, *flag)
    assert {row["cpu"] for row in found} >= {"cortex-m0", "cortex-m4", "cortex-m55"}
    assert found[0]["cpu"] == "cortex-m55"
    assert [r["instructions"] for r in found] == sorted(r["instructions"] for r in found)
    one = rlx.estimate(digits_model, "cortexm", cpu="cortex-m0")
    row = next(row for row in found if row["cpu"] == "cortex-m0")
    assert row["instructions"] == one["instructions"]
    assert row["flash_bytes"] == one["constant_bytes"] + one["code_bytes"]
    assert row["ram_bytes"] == one["arena_bytes"]


@pytest.mark.parametrize("flag", [["--parts", "all"], ["--part", "all"]])
def test_all_parts_by_the_longest_time(digits_model, capsys, flag):
    table = rows(capsys, digits_model, *flag)
    assert {row["part"] for row in table} == set(parts())
    assert all(row["fits"] and 0 < row["ms_low"] < row["ms_high"] for row in table)
    ranks = [(row["wait_states"] is None, row["ms_high"]) for row in table]
    assert ranks == sorted(ranks)
    assert {unknown for unknown, _ in ranks} == {False, True}
    alone = rlx.estimate(digits_model, "cortexm", part="stm32f072")
    row = next(row for row in table if row["part"] == "stm32f072xb")
    assert (row["ms_low"], row["ms_high"]) == tuple(
        alone["milliseconds"][end] for end in ("low", "high")
    )
    assert row["flash_percent"] == alone["part"]["flash_percent"]
    assert (row["core"], row["wait_states"], row["clock_mhz"]) == ("cortex-m0", 1, 48)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["--cpus", "all"], 0),
        (["--devices", "ice40-up5k,ecp5-25k,arty-a7-100t", "--fps", "50000"], 0),
        (["--cpu", "cortex-m4,cortex-m0", "--ram", "8"], 3),
    ],
)
def test_the_number_of_workers_changes_no_row(digits_model, capsys, options, status):
    alone = rows(capsys, digits_model, *options, status=status)
    for executor in (1, 3):
        assert alone == rows(capsys, digits_model, *options, "--executor", executor, status=status)


@pytest.mark.slow
def test_workers_refuse_as_this_process_does(tmp_path, capsys, digits_model):
    model = file(tmp_path, "kws")
    alone = run(capsys, model, "--cpus", "all", "--weight-bits", "8", "--progress", "none")
    assert alone[0] != 0
    assert alone == run(
        capsys, model, "--cpus", "all", "--weight-bits", "8", "--progress", "none", "--executor", 2
    )
    status, _, err = run(capsys, digits_model, "--target", "cortexm", "--executor", "2")
    assert status == 2
    assert "--executor: a single estimate has no parts" in err


def test_the_memory_that_a_part_lacks_is_set_off(tmp_path, capsys):
    weights = np.ones((400, 400), np.float32)
    net = rlx.trace("net", lambda x: x @ weights, f32(1, 400))
    model = tmp_path / "net.rlx"
    rlx.save(net.module, model)
    (row,) = rows(capsys, model, "--parts", "stm32f072xb,", "--weight-bits", "8", status=3)
    assert row["reason"].startswith("it does not fit STM32F072xB: flash: up to ")


def test_parts_that_do_not_fit_or_are_too_slow(digits_model, capsys):
    table = rows(capsys, digits_model, "--parts", "nrf52840,samd21", "--clock", "50MHz")
    assert [(row["part"], row["fits"]) for row in table] == [("nrf52840", True), ("samd21", False)]
    assert table[1]["reason"] == "it runs at 48 MHz at most"
    table = rows(capsys, digits_model, "--part", "rp2040,nrf52840", "--ram", "8", status=3)
    assert "the arena needs" in table[0]["reason"]
    status, _, err = run(capsys, digits_model, "--parts", "all", "--cpu", "cortex-m4")
    assert status == 2
    assert "--cpu: the part sets the core" in err
    assert {
        r["part"] for r in rlx.estimate_all(digits_model, "cortexm", "boards", over="part")
    } == (set(boards()))
    with raises(UsageError):
        rlx.estimate_all(digits_model, "cortexm", over="parts")


def test_one_value_is_an_ordinary_estimate(digits_model, capsys):
    _, out, _ = run(capsys, digits_model, "--target", "cortexm", "--cpu", "cortex-m0")
    assert "Layers on a cortex-m0" in out
    status, _, err = run(capsys, digits_model, "--cpu", "cortex-m0")
    assert status != 0
    assert "--target" in err or "--cpu" in err


def test_what_does_not_fit_says_why_and_sets_the_status(digits_model, capsys):
    found = rows(capsys, digits_model, "--cpu", "cortex-m4,cortex-m0", "--ram", "8", status=3)
    assert [row["fits"] for row in found] == [False, False]
    assert "--ram is 8 bytes" in found[0]["reason"]
    found = rows(capsys, digits_model, "--devices", "ice40-up5k,ecp5-25k", "--fps", "50000")
    assert [(row["device"], row["fits"]) for row in found] == [
        ("ecp5-25k", True), ("ice40-up5k", False),
    ]  # fmt: skip
    assert found[1]["reason"]


def test_a_device_too_small_for_every_architecture_is_a_row_without_figures(digits_model, capsys):
    (row,) = rows(capsys, digits_model, "--devices", "ice40-hx8k", status=3)
    assert row["fits"] is False
    assert "needs 1 DSP slice, the device has 0" in row["reason"]
    status, out, _ = run(capsys, digits_model, "--devices", "ice40-hx8k")
    assert (status, out.splitlines()[0]) == (3, "fpga: 0 of 1 fit, predicted")
    assert out.splitlines()[-1] == f"ice40-hx8k: {row['reason']}"
    in_python = row["reason"].replace("--dsp", "dsp")
    assert in_python in rlx.estimate_all(digits_model, "fpga", "ice40-hx8k")._repr_html_()


def test_a_nearly_full_device_is_in_doubt():
    assert SWEEP.caveat({"lut_percent": 80.0}) == ""
    assert SWEEP.caveat({"lut_percent": 98.6}).startswith("98.6 % of the LUTs, predicted to within")
    cells = {"lut_percent": 61.6, "logic_cells_percent": 92.0}
    assert SWEEP.caveat(cells) == ""
    cells["logic_cells_percent"] = 97.7
    assert SWEEP.caveat(cells).startswith("97.7 % of the logic cells, predicted to within 10 %")


def test_a_style_that_is_given_is_the_only_one_tried(digits_model):
    found = rlx.estimate_all(digits_model, "fpga", "ulx3s-85f,icebreaker", architecture="engine")
    assert {row["architecture"] for row in found} == {"engine"}
    assert found.best is found[0]
    assert repr(found) == "<Estimates for fpga: 2 of 2 fit, best ulx3s-85f>"
    assert "<table" in found._repr_html_()


def test_refusals(digits_model, capsys, monkeypatch):
    for arguments, text in (
        (["--devices", "ulx3s-85"], "no device is called 'ulx3s-85'"),
        (["--devices", ","], "no device is given"),
        (["--devices"], "no device is given"),
        (["--devices", "boards", "--device", "ecp5-25k"], "--device has one value here"),
        (["--devices", "all", "--cpu", "all"], "--devices and --cpu both list several values"),
    ):
        status, _, err = run(capsys, digits_model, *arguments)
        assert status == 2
        assert text in err
    with pytest.raises(UsageError, match=r"^device has one value here"):
        rlx.estimate_all(digits_model, "fpga", device="ecp5-25k")
    monkeypatch.delattr("rlx_fpga.target.Fpga.sweep")
    with raises(UsageError):
        rlx.estimate_all(digits_model, "fpga")


def test_what_no_value_can_lower_is_refused_as_always(digits_model, capsys):
    status, out, err = run(capsys, digits_model, "--devices", "all", "--architecture", "parallel")
    assert (status, out) == (5, "")
    assert "not supported by the parallel architecture" in err


def test_each_distinct_refusal_is_shown_once(digits_model, capsys, monkeypatch):
    def refuse(module, options):
        del module
        raise UnsupportedOpError(
            f"{options.architecture} lacks it",
            where="q.dense",
            hint=f"leave {options.architecture}",
        )

    monkeypatch.setattr("rlx_fpga.target.Fpga.sweep", replace(SWEEP, estimate=refuse))
    status, out, err = run(capsys, digits_model, "--devices", "icebreaker,ulx3s-85f")
    assert (status, out) == (5, "")
    assert err.splitlines() == [
        "error[RLX-E041]: refused for 2 reasons:",
        "  q.dense: dataflow lacks it",
        "  q.dense: engine lacks it",
        "  try: leave dataflow; or leave engine",
    ]


def test_a_refused_model_is_lowered_once_for_an_architecture(digits_model, capsys, monkeypatch):
    lowered = []

    def refuse(module, target, options, policies):
        del module, target, policies
        lowered.append(options.architecture)
        raise UnsupportedOpError("no", hint="none")

    monkeypatch.setattr("rlx.driver.driver.lower", refuse)
    assert run(capsys, digits_model, "--devices", "all")[0] == 5
    assert sorted(lowered) == ["dataflow", "engine"]


def test_help_names_the_comparisons(capsys):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "100")
        _, out, _ = run(capsys, "--help")
    assert "--devices all|boards|NAME,..." in out
    assert "--cpus all|NAME,..." in out


@pytest.mark.slow
def test_keyword_spotting_on_all_devices(tmp_path):
    found = rlx.estimate_all(file(tmp_path, "kws"), "fpga")
    assert len(found) == 10
    fits = {row["device"]: row["fits"] for row in found}
    assert fits.pop("ice40-hx8k") is False
    assert set(fits.values()) == {True}
    small = next(row for row in found if row["device"] == "ice40-up5k")
    assert small["architecture"] == "engine, streamed weights"
    assert all(row[key] <= 100 for row in found[:-1] for key in row if key.endswith("_percent"))
