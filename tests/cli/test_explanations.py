"""Each error code has a page with cause, cure and an example that is really produced."""

from __future__ import annotations

import inspect
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rlx
from rlx import f32
from rlx.cli import explanations, main
from rlx.ir.file import save
from rlx.ir.module import GraphModule
from rlx.support import errors
from rlx.support.errors import RlxError
from support import ROOT

ELSEWHERE = {"E083", "E900", "E901"}
"""Produced by ``tests/targets/wgpu/test_program.py`` and ``tests/cli/test_json_errors.py``.

They need a device that is lost, a fault, and a signal.
"""

CODES = {
    one.code.removeprefix("RLX-"): one
    for one in vars(errors).values()
    if inspect.isclass(one) and issubclass(one, RlxError) and one is not RlxError
}


def example(code: str) -> list[str]:
    text = explanations.page(code).partition("**Example.**")[2]
    return [line.removeprefix("    ") for line in text.strip("\n").splitlines()]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the examples name."""
    digits = ROOT / "examples" / "digits" / "digits.rlx"
    shutil.copy(digits, tmp_path)
    (tmp_path / "cut.rlx").write_bytes(digits.read_bytes()[:100])
    (tmp_path / "kws.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + b"keras_version")
    graph = rlx.trace("net", lambda x: x.cumsum(1), f32(1, 8)).graph
    save(GraphModule.hir(graph), tmp_path / "net.rlx")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "notes.txt").write_text("mine")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_code_has_a_page():
    assert explanations.error_codes() == sorted(CODES)


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_page_is_complete(code):
    text = explanations.page(code)
    assert text.startswith(f"# RLX-{code}: ")
    status = re.search(r"^Exit status (\d+)", text, re.MULTILINE)
    assert int(status[1]) == CODES[code].exit_status
    for part in ("Cause", "Cure"):
        assert len(re.search(rf"\*\*{part}\.\*\* ((?:.+\n)+)", text)[1].split()) >= 8
    assert (ROOT / "docs" / "reference" / "errors" / f"{code}.md").read_text() == (
        f"```{{include}} ../../../rlx/cli/explanations/{code}.md\n```\n"
    )


@pytest.mark.parametrize("code", sorted(CODES.keys() - ELSEWHERE))
def test_an_example_is_produced(code, folder, capsys):
    lines = example(code)
    if lines[0].startswith(">>> "):
        source = [line.removeprefix(">>> ") for line in lines[:-1]]
        with pytest.raises(CODES[code]) as caught:
            exec("\n".join(source), {})
        kind, _, message = lines[-1].partition(": ")
        assert kind == f"rlx.support.errors.{type(caught.value).__name__}"
        assert str(caught.value).splitlines()[0].endswith(message)
        return
    command, expected = lines
    words = shlex.split(command.removeprefix("$ rlx "))
    if ">" in words:
        if not Path(words[-1]).exists():
            pytest.skip(f"there is no {words[-1]}")
        done = subprocess.run(
            f"{shlex.quote(sys.executable)} -m rlx.cli {command.removeprefix('$ rlx ')}",
            shell=True, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        status, text = done.returncode, done.stderr
    else:
        status, text = main(words), capsys.readouterr().err
    assert status == CODES[code].exit_status
    assert expected in text.splitlines()


@pytest.mark.parametrize("typed", ["RLX-E001", "rlx-e001", "E001", "e1", "1", "001"])
def test_a_code_is_found_however_it_is_typed(typed, capsys):
    assert main(["explain", typed]) == 0
    out = capsys.readouterr().out
    assert out.startswith("RLX-E001: an option or argument makes no sense\n")
    assert "**" not in out


def test_without_a_code_all_are_listed(capsys):
    assert main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [f"RLX-{code}" for code in sorted(CODES)]


def test_an_unknown_code(capsys):
    assert main(["explain", "RLX-E113"]) == 2
    assert "did you mean 'E112'? error codes: E001, " in capsys.readouterr().err
