"""Ops of installed packages: their graphs are read, written, verified and emitted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ACME = ROOT / "tests" / "packages" / "acme"

BUILD = """
import sys
from acme_ops import AcmeMeanPool, AcmeSquare
from rlx.ir import Graph, GraphModule, i8
from rlx.ir.file import save
graph = Graph("foreign")
x = graph.input("x", i8(1, 4, 4, 2))
y = graph.apply(AcmeSquare(shift=6), x, name="square")
graph.output(graph.apply(AcmeMeanPool(), y, name="mean"), names=["y"])
save(GraphModule.hir(graph), sys.argv[1])
"""
TEXT = """graph "g" {{
  %0 = core.input() : i8[4] name "x"
  %1 = {op} : i8[4]
  return %1 "y"
}}
"""
PARSE = """
import sys
from rlx.ir.parser import parse_graph
from rlx.ir.printer import format_graph
assert "acme_ops" not in sys.modules
print(format_graph(parse_graph(sys.argv[1])))
"""


def run(*arguments: str, package: Path | None = ACME) -> subprocess.CompletedProcess[str]:
    """Run Python where ``package`` is installed (or nothing is)."""
    path = os.pathsep.join(filter(None, (str(package or ""), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("foreign") / "model.rlx"
    made = run("-c", BUILD, str(path))
    assert made.returncode == 0, made.stderr
    return path


def test_text_form_finds_the_ops_of_a_dialect() -> None:
    found = run("-c", PARSE, TEXT.format(op="acme.square(%0) {shift=7}"))
    assert found.returncode == 0, found.stderr
    assert "acme.square(%0)" in found.stdout


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cortexm", "fpga"])
def test_file_loads_and_emits(model: Path, target: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    emitted = run("-m", "rlx.cli", "emit", str(model), "--target", target, "-o", str(out))
    assert emitted.returncode == 0, emitted.stderr
    assert (out / "manifest.json").exists()


def test_file_runs(model: Path) -> None:
    shown = run("-m", "rlx.cli", "inspect", str(model))
    assert shown.returncode == 0, shown.stderr
    assert "acme.square" in shown.stdout


def test_without_the_package_the_dialect_is_named(model: Path) -> None:
    shown = run("-m", "rlx.cli", "inspect", str(model), package=None)
    assert shown.returncode == 4
    assert "no op is called 'acme.square'" in shown.stderr
    assert "install the package that has the ops of dialect 'acme'" in shown.stderr


@pytest.mark.parametrize(
    ("op", "message", "hint"),
    [
        (
            "acme.cube",
            "no op is called 'acme.cube'",
            "install the package that has the ops of dialect",
        ),
        ("q.clmap", "no op is called 'q.clmap'", ""),
        (
            "broken.op",
            "dialect 'broken' of acme-ops 1.0: needs the package 'acme_missing_dependency',"
            " which is not installed",
            "pip install acme_missing_dependency",
        ),
    ],
)
def test_unknown_op_is_refused(op: str, message: str, hint: str) -> None:
    found = run("-c", PARSE, TEXT.format(op=f"{op}(%0)"))
    assert found.returncode == 1
    assert f"TextFormError: line 3, column 8: {message}" in found.stderr
    assert hint in found.stderr
