"""A report as data and as text: predicted beside measured, changes, accuracy, refusals."""

import csv
import io
import json
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rlx
from rlx.reports import gather
from rlx.reports.collect import FolderMeasurements, collect
from rlx.reports.difference import changes_of
from rlx.reports.model import error_of
from rlx.reports.tables import VELA_COLUMNS, figure_rows, origin_text
from rlx.support.errors import OutputError, RlxError, UsageError
from rlx_sim import toolchain
from support.messages import raises, said

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.rlx"
COUNTS = (21395, 2331, 35568, 2, 5807, 614)
VERIFIED = {
    "inputs": 2, "equal": 2, "mismatches": [], "target": "cortexm", "tools": {"cc": "12.2"},
    "notes": [], "instructions": 65725, "text_bytes": 2536, "const_bytes": 4716, "ram_bytes": 640,
    "stack_bytes": 132, "runs": [{"simulator": "host", "equal": 2}, {"simulator": "qemu"}],
}  # fmt: skip
BUILD = {
    "tools": {"yosys": "0.60"}, "problems": [], "notes": [], "fmax_mhz": 91.5,
    "frames_per_second": 347900.0,
    "seeds": [{"seed": 1, "fmax_mhz": 90.0}, {"seed": 2, "fmax_mhz": 91.5}],
    "resources": [{"resource": "lut", "estimate": 8781, "synthesis": 8800, "placed": 8900,
                   "available": 83640}],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("emitted") / "c"
    rlx.emit(DIGITS, "cortexm", path, frames=2, ram="1K", cpu="cortex-m7")
    return path


@pytest.fixture(scope="module")
def hardware(tmp_path_factory):
    path = tmp_path_factory.mktemp("emitted") / "f"
    rlx.emit(DIGITS, "fpga", path, frames=2)
    return path


@pytest.fixture
def measured(folder):
    return collect(folder, FolderMeasurements(verification=VERIFIED, layers=COUNTS))


def test_predicted_stands_beside_measured(measured):
    figures = {one.name: one for one in measured.figures}
    assert list(figures) == ["instructions", "flash", "RAM", "stack"]
    assert figures["flash"].measured == 4716 + 2536
    assert (figures["RAM"].predicted, figures["RAM"].limit) == (640, 1024)
    assert figures["stack"].predicted is None
    assert figures["instructions"].error == pytest.approx(
        (figures["instructions"].predicted - 65725) / 65725
    )
    assert [one.measured for one in measured.layers] == list(COUNTS)
    assert sum(one.share for one in measured.layers) == pytest.approx(1)
    assert measured.layers[2].share == pytest.approx(35568 / sum(COUNTS))
    assert measured.verification.text == "2 of 2 outputs equal (host, qemu)"


def test_without_a_run_there_are_predictions_alone(folder):
    report = collect(folder)
    assert report.verification is None
    assert all(one.measured is None for one in (*report.figures, *report.layers))
    assert report.layers[0].ram == 524
    assert "not verified" in repr(report)


def test_time_on_a_part_is_a_range_that_nothing_measured(tmp_path):
    rlx.emit(DIGITS, "cortexm", tmp_path / "c", frames=2, part="nrf52840", ram="1K")
    report = collect(tmp_path / "c")
    assert report.device == "cortex-m4 (nRF52840)"
    figures = {figure.name: figure for figure in report.figures}
    assert (figures["flash"].limit, figures["RAM"].limit) == (1 << 20, 1024)
    low = report.milliseconds.low
    assert low == pytest.approx(figures["instructions"].predicted / 64e3, rel=1e-3)
    verified = collect(tmp_path / "c", FolderMeasurements(verification=VERIFIED))
    assert verified.milliseconds.low == pytest.approx(65725 / 64e3, rel=1e-3)
    line = str(verified.milliseconds)
    assert line.endswith("; not measured)")
    assert f"\n{line}\n" in verified.to_markdown()
    page = verified.to_html()
    assert f'<p class="big">{verified.milliseconds.range_text} <small>ms</small></p>' in page
    assert "; not measured)</p>" in page
    assert json.loads(json.dumps(verified.as_json()))["milliseconds"]["clock_mhz"] == 64
    assert "--part nrf52840" in report.command


def test_without_a_clock_there_is_no_time(folder):
    assert collect(folder).milliseconds is None


def test_counts_of_another_number_of_layers_are_left_out(folder):
    report = collect(folder, FolderMeasurements(layers=COUNTS[:3]))
    assert all(one.measured is None for one in report.layers)


def test_hardware_shows_cells_clock_and_interval(hardware):
    report = collect(hardware, FolderMeasurements(build=BUILD))
    assert (report.unit, report.pipelined, report.device) == ("cycles", True, "ecp5-85k")
    lut = report.resources[0]
    assert (lut.name, lut.synthesis, lut.placed, lut.percent) == ("lut", 8800, 8900, 10.6)
    assert report.clock.seeds == ((1, 90.0), (2, 91.5))
    assert report.clock.median == 91.5
    assert report.warnings == ()
    slow = collect(hardware, FolderMeasurements(build={**BUILD, "fmax_mhz": 70.0}))
    assert slow.warnings == ("place and route reached 70 MHz, predictions assume 75 MHz",)
    assert max(one.share for one in report.layers) == 1


def figures_of(report):
    return {one.name: one for one in report.figures}


def test_only_what_was_measured_is_called_measured(hardware):
    report = collect(hardware)
    clock, rate = (figures_of(report)[name] for name in ("clock", "rate"))
    assert (clock.kind, clock.assumed, origin_text(clock)) == ("assumed", 75.0, "assumed")
    assert origin_text(rate) == "predicted at the assumed 75 MHz"
    assert ("clock", "-", "-", "-", "-", "75 MHz assumed") in figure_rows(report)

    built = collect(hardware, FolderMeasurements(build=BUILD))
    clock, rate = (figures_of(built)[name] for name in ("clock", "rate"))
    assert (clock.kind, clock.best, clock.error) == ("computed", 91.5, None)
    assert origin_text(clock) == "timing analysis after place and route; assumed 75"
    assert (rate.kind, rate.measured, rate.error) == ("computed", None, None)
    assert rate.best == round(91.5e6 / figures_of(built)["interval"].predicted, 1)
    assert rate.basis == "predicted interval at 91.5 MHz"
    assert "measured" not in built.to_html().partition('aria-label="Figures">')[2][:2000]


def test_a_rate_follows_from_the_measured_interval(hardware):
    verified = {**VERIFIED, "interval": 500, "stack_bytes": None}
    report = collect(hardware, FolderMeasurements(verification=verified))
    rate = figures_of(report)["rate"]
    assert (rate.best, rate.basis) == (150000.0, "measured interval at the assumed 75 MHz")
    report = collect(hardware, FolderMeasurements(verification=verified, build=BUILD))
    rate = figures_of(report)["rate"]
    assert (rate.best, rate.basis) == (183000.0, "measured interval at 91.5 MHz")


def test_a_stack_above_what_was_measured_is_the_compiler_s_bound(folder):
    verified = {**VERIFIED, "stack_measured_bytes": 100}
    stack = figures_of(collect(folder, FolderMeasurements(verification=verified)))["stack"]
    assert (stack.best, stack.measured) == (132, None)
    assert origin_text(stack) == "bound from the compiler; measured 100 B"
    verified = {**VERIFIED, "stack_measured_bytes": 132}
    stack = figures_of(collect(folder, FolderMeasurements(verification=verified)))["stack"]
    assert origin_text(stack) == "measured"


def test_a_bound_is_a_figure_of_its_own(folder):
    verified = {
        **VERIFIED,
        "bound": {"instructions": 65801, "tools": {"gcc": "12.2.1"}, "layers": []},
    }
    report = collect(folder, FolderMeasurements(verification=verified))
    counted, bound = report.figures[:2]
    assert (counted.name, counted.measured) == ("instructions", 65725)
    assert (bound.name, bound.best, bound.measured) == ("instructions, at most", 65801, None)
    assert origin_text(bound) == "bound for every input, built by gcc 12.2.1"
    assert '<p class="big">65,801' in report.to_html()
    none = {**VERIFIED, "bound": {"instructions": None, "reason": "a loop", "layers": []}}
    names = figures_of(collect(folder, FolderMeasurements(verification=none)))
    assert "instructions, at most" not in names


def test_conversions_and_steps_left_out_are_notes(hardware, tmp_path):
    shutil.copytree(hardware, tmp_path / "f")
    manifest = json.loads((tmp_path / "f/manifest.json").read_text())
    manifest["ports"] = ["input 'x' is int8"]
    (tmp_path / "f/manifest.json").write_text(json.dumps(manifest))
    verified = {**VERIFIED, "notes": ["qemu was left out"]}
    build = {**BUILD, "notes": ["not simulated"], "problems": ["a latch"]}
    report = collect(tmp_path / "f", FolderMeasurements(verification=verified, build=build))
    assert report.notes == ("input 'x' is int8", "qemu was left out", "not simulated")
    assert report.warnings == ("a latch",)
    lines = report.to_markdown().splitlines()
    assert "- warning: a latch" in lines
    assert "- note: not simulated" in lines


def test_what_is_wrong_is_said(folder):
    wrong = {**VERIFIED, "equal": 1, "mismatches": [{"frame": 0}], "ram_bytes": 2000}
    report = collect(
        folder, FolderMeasurements(verification=wrong, layers=(9, *COUNTS[1:3], 2, 5807, 614))
    )
    assert not report.verification.passed
    assert report.warnings[0] == "outputs differ from the reference: 1 mismatch"
    assert "RAM exceeds its limit: 2,000 of 1,024 B" in report.warnings
    report = collect(folder, FolderMeasurements(layers=(90000, *COUNTS[1:])))
    assert re.match(r"conv1: predicted [\d,]+, measured 90,000 instructions", report.warnings[0])


def test_the_command_names_what_is_not_the_default(folder, hardware):
    text = collect(folder).command
    assert text == "rlx emit MODEL --target cortexm --cpu cortex-m7 --ram 1024 -o FOLDER"
    assert collect(hardware).command == "rlx emit MODEL --target fpga -o FOLDER"


@pytest.mark.parametrize("target", ["cortexm", pytest.param("fpga", marks=pytest.mark.slow)])
def test_the_command_emits_the_same(tmp_path, target):
    from rlx.cli import main

    given = {"cortexm": ["--cpu", "cortex-m33", "--package", "cmake,zephyr", "--io", "uint8",
                         "--labels", '"zero, none",1,2,3,4,5,6,7,8,nine %'],
             "fpga": ["--clock", "50MHz", "--fold", "conv1=2x3,dense=1x1", "--control",
                      "axi-lite"]}[target]  # fmt: skip
    start = ["emit", str(DIGITS), "--target", target, "--frames", "1"]
    assert main([*start, *given, "-o", str(tmp_path / "a")]) == 0
    words = shlex.split(collect(tmp_path / "a").command)[5:-2]
    assert main([*start, *words, "-o", str(tmp_path / "b")]) == 0
    first, second = ((tmp_path / name / "manifest.json").read_bytes() for name in "ab")
    assert first == second


def test_csv_has_the_columns_of_vela(measured):
    rows = list(csv.DictReader(io.StringIO(measured.to_csv())))
    assert tuple(rows[0])[: len(VELA_COLUMNS)] == VELA_COLUMNS
    assert [row["Name"] for row in rows][:2] == ["conv1", "pool"]
    assert rows[0]["Op Cycles"] == "21395"
    assert rows[0]["Unit"] == "instructions"
    assert float(rows[2]["Network% (MAC)"]) == 72.0
    assert rows[1]["Peak% (Staging)"] == "100.0"


def test_csv_is_text_for_a_spreadsheet(measured):
    layer = replace(measured.layers[0], name="=1+1", kernel="@x")
    text = replace(measured, layers=(layer,)).to_csv()
    row = next(csv.DictReader(io.StringIO(text)))
    assert (row["Name"], row["Kernel"]) == ("'=1+1", "'@x")


def test_csv_says_how_busy_multipliers_are(hardware):
    rows = list(csv.DictReader(io.StringIO(collect(hardware).to_csv())))
    assert [row["Util% (MAC)"] for row in rows][:3] == ["90.57", "", "100.0"]


def test_markdown_is_short_and_escaped(measured):
    text = replace(measured, title="a|b<script>").to_markdown()
    assert text.startswith("### a\\|b&lt;script>: cortexm cortex-m7\n\n✅ 2 of 2 outputs equal")
    assert "| RAM | 640 B | 640 B | +0.0 % | 1,024 B |" in text
    assert "| conv2 | q.conv2d | i8 1 x 4 x 4 x 16 | 18,432 |" in text


def test_changes_are_per_layer(folder, tmp_path):
    rlx.emit(DIGITS, "cortexm", tmp_path / "new", frames=2, cpu="cortex-m0")
    old, new = collect(folder), collect(tmp_path / "new")
    assert changes_of(old, old).count == 0
    changes = changes_of(old, new)
    assert changes.count > 0
    assert changes.ports == ()
    conv = changes.layers[0]
    assert "time" in conv.changed
    assert "weights" not in conv.changed
    gone = replace(new, layers=new.layers[:-1], inputs=())
    changes = changes_of(old, gone)
    assert (changes.layers[-1].name, changes.layers[-1].new) == ("probabilities", None)
    assert changes.ports[0].startswith("input 0: image i8 1 x 8 x 8 x 1, scale 0.00392157")
    text = replace(gone, changes=changes).to_markdown()
    assert re.search(r"\| probabilities \| [\d,]+ \| - \| removed \|", text)


def test_an_older_folder_without_pictures_of_weights_has_the_same_weights(folder):
    new = collect(folder)
    layers = [
        one if one.weights is None else replace(one, weights=replace(one.weights, picture=None))
        for one in new.layers
    ]
    old = replace(new, layers=tuple(layers))
    assert changes_of(old, new).count == changes_of(new, old).count == 0
    first = new.layers[0]
    picture = replace(first.weights.picture, cells="8" * len(first.weights.picture.cells))
    other = replace(first, weights=replace(first.weights, picture=picture))
    changes = changes_of(new, replace(new, layers=(other, *new.layers[1:])))
    assert [one.changed for one in changes.layers if one.changed] == [("weights",)]


def test_another_assumed_clock_is_a_change(hardware):
    old = collect(hardware)
    figures = [replace(one, assumed=50.0) if one.assumed else one for one in old.figures]
    pairs = {a.name: (a.best, b.best) for a, b in
             changes_of(old, replace(old, figures=tuple(figures))).figures}  # fmt: skip
    assert pairs["clock"] == (75.0, 50.0)


def test_the_report_of_two_equal_folders_says_so(folder):
    report = rlx.report(folder, run=False, old=folder)
    assert "Nothing changed." in report.to_markdown()


@pytest.mark.parametrize(
    ("name", "text"),
    [("b.json", '{"conv2": 40000}'), ("b.csv", "layer,cycles\nconv2,40000\n")],
)
def test_times_of_a_board(folder, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    report = rlx.report(folder, run=False, board=tmp_path / name)
    assert [one.board for one in report.layers] == [None, None, 40000, None, None, None]
    assert "board" in report.to_html()


@pytest.mark.parametrize(
    ("name", "text"),
    [("b.json", '{"x": 1}'), ("b.json", "[1]"), ("b.csv", "conv2")],
)
def test_times_that_do_not_fit_are_refused(folder, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with raises(UsageError):
        rlx.report(folder, run=False, board=tmp_path / name)


@pytest.mark.parametrize(
    "number", ["NaN", "-1", "Infinity", "1e300", "9" * 400, "[" * 10**5], ids=lambda text: text[:9]
)
def test_times_out_of_range_and_damaged_files_are_refused(folder, tmp_path, number):
    for file, text in (("b.json", f'{{"conv2": {number}}}'), ("b.csv", f"conv2,{number}")):
        (tmp_path / file).write_text(text)
        with pytest.raises(UsageError, match="expected rows of a layer and a number"):
            rlx.report(folder, run=False, board=tmp_path / file)


def test_a_name_without_an_end_is_refused(folder, tmp_path):
    (tmp_path / "b.csv").write_text(f'"{"x" * 2**18}')
    with pytest.raises(UsageError, match="expected rows of a layer and a number"):
        rlx.report(folder, run=False, board=tmp_path / "b.csv")


def test_a_damaged_verification_is_refused(folder, tmp_path):
    (tmp_path / "v.json").write_text("[" * 10**5)
    with pytest.raises(UsageError, match="is not what 'rlx verify --json' prints"):
        rlx.report(folder, verified=tmp_path / "v.json")


def test_a_kept_verification_and_build_are_read(hardware, tmp_path):
    (tmp_path / "v.json").write_text(json.dumps({**VERIFIED, "interval": 263}))
    (tmp_path / "build.json").write_text(json.dumps(BUILD))
    report = rlx.report(hardware, verified=tmp_path / "v.json", build=tmp_path)
    assert report.verification.passed
    assert report.clock.median == 91.5
    with raises(UsageError):
        rlx.report(hardware, verified=tmp_path / "build.json")


def test_a_folder_of_an_older_version_is_named(tmp_path, folder):
    from rlx.support.files.outputs import Producer, write_folder

    producer = Producer(rlx_version="0", target="cortexm")
    write_folder(tmp_path / "old", {"a.c": ""}, producer=producer)
    with raises(OutputError):
        rlx.report(tmp_path / "old", run=False)


def test_labels_that_are_missing_are_named(folder):
    with raises(UsageError):
        rlx.report(folder, run=False, data=np.zeros((2, 8, 8, 1), np.int8))


def test_labels_without_samples_are_refused(folder):
    with raises(UsageError):
        rlx.report(folder, run=False, labels=list("abcdefghij"))


def test_inputs_are_checked_before_anything_runs(folder, tmp_path):
    steps = []
    for given in (
        {"data": tmp_path / "missing.npz"},
        {"data": np.zeros((2, 8, 8, 1), np.int8)},
        {"old": tmp_path / "missing"},
        {"build": tmp_path / "missing"},
        {"board": tmp_path / "missing.csv"},
        {"quantization": tmp_path / "missing.json"},
    ):
        with pytest.raises(RlxError):
            rlx.report(folder, **given, progress=steps.append)
    assert steps == []


def test_missing_tools_are_named_with_both_ways_to_install_them(folder, monkeypatch):
    monkeypatch.setattr(toolchain, "_search", lambda name: None)
    steps = []
    notes = rlx.report(folder, verified=None, progress=steps.append).notes
    assert steps == []
    said(notes[-1])
    monkeypatch.setattr(gather, "_verification", lambda request, notes: None)
    said(rlx.report(folder, progress=steps.append).notes[-1])
    assert steps == []


@pytest.mark.slow
def test_accuracy_of_the_emitted_code(folder):
    with np.load(DIGITS.parent / "samples.npz") as samples:
        data = {name: samples[name] for name in ("image", "labels")}
    report = rlx.report(folder, run=False, data=data, model=DIGITS, labels=list("abcdefghij"))
    found = report.accuracy
    assert found.samples == len(data["labels"])
    assert found.correct["reference"] == found.correct["host-c"] > 0.9 * found.samples
    assert sum(map(sum, found.confusion)) == found.samples
    assert [sum(row) for row in found.confusion] == np.bincount(
        data["labels"], minlength=10
    ).tolist()
    assert '<th scope="col">j</th>' in report.to_html()


def test_errors_are_relative_to_what_was_measured():
    assert error_of(110, 100) == pytest.approx(0.1)
    assert error_of(None, 100) is None
    assert error_of(1, 0) is None
