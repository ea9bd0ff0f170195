"""``rlx verify --cycles``."""

import json

import pytest

import rlx
from rlx.cli import cycles, main
from rlx.reports.collect import FolderMeasurements, collect
from rlx.support.errors import UsageError
from rlx.targets.verifier import ModelledCycles
from support.messages import raises

MODELLED = ModelledCycles(
    layers=((10, 12, 20), (100, 110, 130)),
    instructions=(9, 0),
    core="cortex-m4",
    device="cortex-m4",
    memory="memory without wait states",
    note="a note",
    sources=("a manual",),
    clock_mhz=100.0,
)


@pytest.fixture
def folder(tmp_path, digits_model):
    rlx.emit(digits_model, "cortexm", tmp_path / "c", frames=2)
    return tmp_path / "c"


def verify(folder, *options):
    return main(["verify", str(folder), "--with", "host", "--frames", "1", *options])


@pytest.mark.qemu
@pytest.mark.complete
def test_text_and_json_have_the_cycles_of_each_layer(folder, capsys):
    options = ("--part", "nucleo-l4r5zi", "--clock", "80MHz", "--flash-wait", "2")
    assert verify(folder, *options, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    modelled = report["modelled"]
    assert sum(row["cycles"] for row in modelled["layers"]) == modelled["cycles"]
    assert modelled["cycles_min"] < modelled["cycles"] < modelled["cycles_max"]
    assert (modelled["clock_mhz"], modelled["is_published"]) == (80, True)
    assert modelled["memory"].startswith("flash with 2 wait states for 64 bits")
    time = report["milliseconds"]
    assert time["low"] == pytest.approx(modelled["cycles_min"] / 80e3, rel=1e-3)
    assert verify(folder, *options) == 0
    text = capsys.readouterr().out
    assert "Computed for NUCLEO-L4R5ZI" in text
    table = text[text.index("Modelled cycles on a NUCLEO-L4R5ZI (cortex-m4)") :]
    assert all(row["layer"] in table for row in modelled["layers"])
    assert f"{modelled['cycles']:,}" in table
    assert "modelled, not measured: flash with 2 wait states" in table


@pytest.mark.qemu
@pytest.mark.complete
def test_without_clock_there_are_no_milliseconds(folder, capsys):
    assert verify(folder, "--cycles", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["modelled"]["memory"] == "memory without wait states"
    assert report["modelled"]["clock_mhz"] is None
    assert "milliseconds" not in report


def test_totals_and_times_are_those_of_all_layers():
    assert MODELLED.total == (110, 122, 150)
    time = MODELLED.milliseconds
    assert (time.low, time.high, time.clock_mhz) == (0.0011, 0.0015, 100.0)
    assert time.source == "modelled cycles, Arm's timings, memory without wait states"


def test_a_layer_without_instructions_is_shown(capsys):
    names = ["first", "second"]
    cycles.show_modelled({"modelled": MODELLED.as_json(names)})
    text = capsys.readouterr().out
    assert "modelled, not measured: memory without wait states; a note; 110 to 150 cycles" in text
    assert "timings: a manual" in text


def test_reports_take_the_modelled_time(folder):
    modelled = MODELLED.as_json(["first", "second"])
    verification = {"inputs": 1, "equal": 1, "mismatches": [], "modelled": modelled,
                    "milliseconds": MODELLED.milliseconds.as_json()}  # fmt: skip
    report = collect(folder, FolderMeasurements(verification=verification))
    assert report.milliseconds == MODELLED.milliseconds


@pytest.mark.parametrize(
    "options",
    [
        ("--flash-wait", "4:48"),
        ("--flash-wait", "1000"),
        ("--flash-wait", ""),
        ("--clock", "fast"),
        ("--part", "nucleo-f746zg"),
        ("--part", "nothing"),
        ("--part", ""),
    ],
    ids=" ".join,
)
def test_options_that_do_not_fit_are_refused(folder, options):
    part, clock, flash_wait = (
        dict([options]).get(k) for k in ("--part", "--clock", "--flash-wait")
    )
    with raises(UsageError):
        cycles.modelled_figures(folder, part=part, clock=clock, flash_wait=flash_wait)


def test_a_clock_above_that_of_the_part_is_refused(folder):
    with raises(UsageError):
        cycles.modelled_figures(folder, part="nucleo-l4r5zi", clock="121MHz", flash_wait=None)


@pytest.mark.parametrize(
    "option", [("--cycles",), ("--part", ""), ("--clock", "8MHz")], ids=" ".join
)
def test_each_option_of_the_model_asks_for_it_within_the_time_limit(folder, monkeypatch, option):
    limits = []

    def modelled(*_, timeout_s, **__):
        limits.append(timeout_s)

    monkeypatch.setattr(cycles, "modelled_cycles", modelled)
    assert verify(folder, *option, "--timeout", "7") == 2
    assert limits == [7]


def test_cores_without_timings_or_trace_of_constants_are_refused(tmp_path, digits_model):
    for cpu, flash_wait in (("cortex-m85", None), ("cortex-m55", "2")):
        folder = tmp_path / cpu
        rlx.emit(digits_model, "cortexm", folder, frames=1, cpu=cpu)
        with raises(UsageError):
            cycles.modelled_figures(folder, part=None, clock=None, flash_wait=flash_wait)


def test_a_target_without_model_is_refused(folder, monkeypatch):
    monkeypatch.setattr(cycles, "modelled_cycles", lambda *_, **__: None)
    with raises(UsageError):
        cycles.modelled_figures(folder, part=None, clock=None, flash_wait=None)
