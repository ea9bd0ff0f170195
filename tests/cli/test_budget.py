"""``rlx verify --budget --junit``: exit status, table, JSON and XML."""

import json
from xml.etree import ElementTree as ET

import pytest

import rlx
from rlx.cli import main

pytestmark = [pytest.mark.qemu, pytest.mark.slow]

TIGHT = '[digits.cortexm]\nflash = "8K"\nram = 100\ninstructions = "1M"\n'
LOOSE = '[digits.cortexm]\nflash = "8K"\nram = "1K"\ninstructions = "1M"\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory, digits_model):
    out = tmp_path_factory.mktemp("budget") / "c"
    rlx.emit(digits_model, "cortexm", out, frames=2)
    return out


@pytest.fixture
def verify(folder, tmp_path, capsys):
    def run(limits, *arguments):
        (tmp_path / "rlx.toml").write_text(limits, encoding="utf-8")
        budget = ["--budget", str(tmp_path / "rlx.toml")]
        status = main(["verify", str(folder), *budget, *map(str, arguments)])
        return status, capsys.readouterr()

    return run


def test_limits_that_are_kept(verify, tmp_path):
    status, printed = verify(LOOSE, "--json", "--junit", tmp_path / "results.xml")
    assert status == 0
    rows = {row["name"]: row for row in json.loads(printed.out)["budget"]}
    assert list(rows) == ["flash", "ram", "instructions"]
    assert rows["ram"]["limit"] == 1024
    assert rows["ram"]["quantity"] == "bytes"
    assert rows["ram"]["value"] + rows["ram"]["margin"] == 1024
    suite = ET.parse(tmp_path / "results.xml").getroot()[0]
    names = [case.get("name") for case in suite.iter("testcase")]
    assert names[0] == "host"
    assert names[2:] == ["flash", "ram", "instructions"]
    assert suite.get("name") == "digits.cortexm"
    assert suite.get("failures") == "0"


def test_a_limit_that_is_passed_is_status_3(verify, tmp_path):
    status, printed = verify(TIGHT, "--junit", tmp_path / "results.xml")
    assert status == 3
    assert "over budget: ram" in printed.out
    assert "all equal" in printed.out
    (failure,) = ET.parse(tmp_path / "results.xml").getroot().iter("failure")
    assert failure.get("message").startswith("ram: ")


def test_a_limit_that_was_not_measured_is_status_3(verify):
    status, printed = verify(LOOSE, "--with", "host", "--json")
    assert status == 3
    sources = {row["source"] for row in json.loads(printed.out)["budget"]}
    assert sources == {"not measured: no firmware was run"}
    status, printed = verify(TIGHT, "--with", "host")
    assert status == 3
    assert "budget: not measured: flash, ram, instructions" in printed.out
    assert "over budget" not in printed.out


def test_mistakes_are_found_before_anything_runs(verify, folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("rlx.api.verify", None)
    status, printed = verify(LOOSE.replace("flash", "flahs"))
    assert status == 2
    assert "did you mean 'flash'" in printed.err
    status, printed = verify(LOOSE, "--build", tmp_path / "none")
    assert status == 2
    assert main(["verify", str(folder), "--build", str(tmp_path)]) == 2
    assert "--build: is for the limits of a budget" in capsys.readouterr().err


def test_what_cannot_run_is_in_the_junit_file_too(verify, tmp_path):
    status, _ = verify(LOOSE, "--with", "hst", "--junit", tmp_path / "results.xml")
    assert status == 2
    (error,) = ET.parse(tmp_path / "results.xml").getroot().iter("error")
    assert "no simulator is called 'hst'" in error.get("message")
