"""Budget files: what they may say, and how limits are compared with what is measured."""

import json
from types import SimpleNamespace

import pytest

import rlx
from rlx.driver.verification import budget
from rlx.driver.verification.budget import Quantity
from rlx.support.errors import OutputError, RlxError, UsageError
from rlx.support.files.outputs import read_manifest, write_folder
from support.messages import raises

pytestmark = pytest.mark.slow

FIGURES = {
    "flash_bytes": 7000,
    "ram_bytes": 640,
    "stack_bytes": 132,
    "instructions": 65_725,
    "runs": [{"simulator": "host"}, {"simulator": "qemu", "instructions": 65_725}],
}
CYCLES = {"latency": 1121, "interval": 263}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The demo's network, emitted for both targets."""
    root = tmp_path_factory.mktemp("budget")
    network = rlx.load("examples/digits/digits.rlx")
    for target in ("cortexm", "fpga"):
        rlx.emit(network, target, root / target, frames=1, prefix="digits")
    return root


def limits(folders, tmp_path, text, figures=FIGURES, *, target="cortexm", build=None):
    file = tmp_path / "rlx.toml"
    file.write_text(text, encoding="utf-8")
    found = budget.load(file, folders / target)
    return {
        row.name: row
        for row in found.rows(folders / target, SimpleNamespace(figures=figures), build)
    }


def test_limits_are_compared_with_what_was_measured(folders, tmp_path):
    text = """
    [digits.cortexm]
    flash = "7K"
    ram = 640
    stack = 100
    instructions = "0.07M"

    [other.fpga]
    clock = "50MHz"
    """
    rows = limits(folders, tmp_path, text)
    assert [(row.limit, row.value, row.margin, row.kept) for row in rows.values()] == [
        (7168, 7000, 168, True),
        (640, 640, 0, True),
        (100, 132, -32, False),
        (70_000, 65_725, 4275, True),
    ]
    assert {row.source for row in rows.values()} == {"measured by qemu"}


def test_a_limit_of_something_not_measured_is_not_kept(folders, tmp_path):
    rows = limits(folders, tmp_path, "[digits.cortexm]\nram = 9999", {"runs": []})
    row = rows["ram"]
    assert (row.value, row.margin, row.kept) == (None, None, False)
    assert row.source == "not measured: no firmware was run"


def test_cells_and_clock_are_estimates_unless_built(folders, tmp_path):
    text = "[digits.fpga]\nlatency = 1200\nlut = 9000\nclock = '80MHz'"
    rows = limits(folders, tmp_path, text, CYCLES, target="fpga")
    report = json.loads((folders / "fpga" / "report.json").read_text(encoding="utf-8"))
    assert rows["latency"].source == "measured by verilator"
    assert (rows["lut"].value, rows["lut"].source) == (report["lut"], "estimate, not built")
    assert rows["clock"].source == "assumed for the device, not built"
    build = {
        "fmax_mhz": 81.25,
        "seeds": [{}, {}, {}],
        "resources": [{"resource": "lut", "estimate": 1, "synthesis": 9001}],
    }
    rows = limits(folders, tmp_path, text, CYCLES, target="fpga", build=build)
    assert (rows["lut"].value, rows["lut"].source, rows["lut"].kept) == (9001, "synthesis", False)
    clock = rows["clock"]
    assert (clock.limit, clock.value, clock.margin, clock.kept) == (80e6, 81.25e6, 1.25e6, True)
    assert clock.source == "place and route, median of 3"


def test_only_the_build_of_the_folder_is_taken(folders, tmp_path):
    kept, other = tmp_path / "build", tmp_path / "other"
    text = json.dumps({"fmax_mhz": 1.0})
    producer = read_manifest(folders / "fpga").producer
    write_folder(kept, {"build.json": text}, producer=producer)
    assert budget.read_build(kept, folders / "fpga") == {"fmax_mhz": 1.0}
    with raises(UsageError):
        budget.read_build(kept, folders / "cortexm")
    write_folder(other, {"notes.txt": ""}, producer=producer)
    with raises(OutputError):
        budget.read_build(other, folders / "fpga")


@pytest.mark.parametrize(
    "text",
    [
        "[digits.cortexm]\nflsh = 1",
        "[digits.cortexm]\nlut = 1",
        "[digits.cortxm]\nflash = 1",
        "[other.cortexm]\nflash = 1",
        "",
        "flash = 1",
        "[digits]\nflash = 1",
        "[digits.cortexm]\nflash = 'lots'",
        "[digits.cortexm]\nflash = -1",
        "[digits.cortexm]\nflash = true",
        "[digits.cortexm]\nflash = [1]",
        "[digits.cortexm]\ninstructions = nan",
        "[digits.fpga]\nclock = 50",
        "[digits.cortexm",
    ],
)
def test_refused_files(folders, tmp_path, text):
    with raises(UsageError):
        limits(folders, tmp_path, text)


def test_a_hint_names_what_was_meant(folders, tmp_path):
    with raises(UsageError):
        limits(folders, tmp_path, "[digits.cortexm]\ninstrctions = 1")
    with raises(UsageError):
        limits(folders, tmp_path, "[digitz.cortexm]\nram = 1")


def test_a_missing_file_and_a_folder_that_is_not_ours(folders, tmp_path):
    with raises(UsageError):
        budget.load(tmp_path / "rlx.toml", folders / "cortexm")
    with pytest.raises(RlxError):
        budget.load(tmp_path / "rlx.toml", tmp_path)


def test_values_have_units():
    assert budget.value_text(Quantity.BYTES, 7252) == "7,252 B"
    assert budget.value_text(Quantity.COUNT, 2_778_470) == "2,778,470"
    assert budget.value_text(Quantity.CLOCK, 80.5e6) == "80.50 MHz"
