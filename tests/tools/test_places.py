"""Tests of a module stand where its path says, or where the last line of its docstring says."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from support import ROOT

PLACES = {
    "rlx/cli": "tests/cli",
    "rlx": "tests/unit",
    "targets/c/rlx_c": "tests/targets/c",
    "targets/cortexm/rlx_cortexm": "tests/targets/cortexm",
    "targets/fpga/rlx_fpga": "tests/targets/fpga",
    "targets/host/rlx_host": "tests/targets/host",
    "targets/xla/rlx_xla": "tests/targets/xla",
    "targets/wgpu/rlx_wgpu": "tests/targets/wgpu",
    "sim/rlx_sim": "tests/sim",
}
"""Folders of modules, each with that of its tests; the first one that holds a module counts."""

MIN_LINES = 25
"""Lines of a module that must have tests of its own."""

STEPS = 4
"""Imports from a test to what it tests, at most, if it imports nothing of the same package."""

ROOTS = {
    ".": "rlx",
    "targets/c": "rlx_c",
    "targets/cortexm": "rlx_cortexm",
    "targets/fpga": "rlx_fpga",
    "targets/host": "rlx_host",
    "targets/xla": "rlx_xla",
    "targets/wgpu": "rlx_wgpu",
    "sim": "rlx_sim",
    "tests": "*",
}
"""Folders that Python searches, with the packages there."""

_LATER = re.compile(r"^rlx\w*(?:\.\w+)+(?::\w+)?$")
_TESTS = re.compile(r"\n\nTests: (\S+)\n?$")


def place(module: str) -> tuple[Path, Path]:
    """Return the file and the folder in which tests of a module are looked for."""
    source = next(source for source in PLACES if module.startswith(f"{source}/"))
    path = (ROOT / PLACES[source] / Path(module).relative_to(source)).with_suffix("")
    return path.with_name(f"test_{path.name}.py"), path


def problem(module: str, text: str) -> str:
    """Return the problem with the tests of a module, "" if there is none."""
    stated = _TESTS.search(ast.get_docstring(ast.parse(text), clean=False) or "")
    mirrored = [path for path in place(module) if path.exists()]
    if stated is None:
        return "" if mirrored else f"{module}: no {place(module)[0].relative_to(ROOT)}"
    path = ROOT / stated[1]
    if mirrored:
        return f"{module}: names {stated[1]}, and {mirrored[0].relative_to(ROOT)} exists"
    if not path.exists() or not path.is_relative_to(ROOT / "tests"):
        return f"{module}: names {stated[1]}, which does not exist"
    files = sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
    name = next(name for name, file in _files().items() if file == ROOT / module)
    package = ".".join(name.split(".")[: 2 if name.startswith("rlx.") else 1])
    imported = {one for file in files for one in _imported(file)}
    if any(f"{one}.".startswith(f"{package}.") for one in imported):
        return ""
    if any(name in reached(file) for file in files):
        return ""
    return f"{module}: {stated[1]} has no import of {package}, nor leads to the module"


@cache
def reached(path: Path) -> set[str]:
    """Return the modules that a test imports, or that are at most ``STEPS`` imports away."""
    found, new = set(), _imported(path)
    for _ in range(STEPS):
        found |= new
        new = {one for name in new for one in _imported(_files()[name])} - found
    return found


@cache
def _files() -> dict[str, Path]:
    """Return the file of each module of the product and of the tests, by full name."""
    return {
        ".".join(path.relative_to(ROOT / root).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for root, pattern in ROOTS.items()
        for path in (ROOT / root).rglob(f"{pattern}/**/*.py")
    }


@cache
def _imported(path: Path) -> frozenset[str]:
    """Return the modules that a file imports, or names in a table of what is imported later."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= {name.partition(":")[0] for name in _LATER.findall(node.value)}
    return frozenset(names & _files().keys())


def modules() -> list[str]:
    """Return the paths of modules that must have tests."""
    return [
        path.relative_to(ROOT).as_posix()
        for source in ("rlx", "targets", "sim")
        for path in sorted((ROOT / source).rglob("*.py"))
        if path.name not in ("__init__.py", "__main__.py")
        and len(path.read_text(encoding="utf-8").splitlines()) >= MIN_LINES
    ]


def test_every_module_has_tests_that_its_path_or_its_docstring_names():
    found = modules()
    assert len(found) > 700
    problems = [problem(one, (ROOT / one).read_text(encoding="utf-8")) for one in found]
    assert not [line for line in problems if line]


@pytest.mark.parametrize(
    ("module", "tests", "expected"),
    [
        ("rlx/ir/graph.py", "", ""),
        ("rlx/ir/nothing.py", "", "no tests/unit/ir/test_nothing.py"),
        ("rlx/cli/commands/nothing.py", "", "no tests/cli/commands/test_nothing.py"),
        ("targets/c/rlx_c/nothing.py", "", "no tests/targets/c/test_nothing.py"),
        ("rlx/ir/parser.py", "tests/unit/ir/test_text.py", ""),
        ("rlx/ir/parser.py", "tests/unit/ir", ""),
        ("rlx/ir/nothing.py", "tests/gone.py", "tests/gone.py, which does not exist"),
        ("rlx/ir/nothing.py", "docs/index.md", "docs/index.md, which does not exist"),
        (
            "rlx/ir/parser.py",
            "tests/tools/test_words.py",
            "tests/tools/test_words.py has no import of rlx.ir",
        ),
        ("rlx/ir/graph.py", "tests/unit/ir/test_text.py", "tests/unit/ir/test_graph.py exists"),
    ],
)
def test_places_that_are_wrong_are_found(module, tests, expected):
    line = f"\n\nTests: {tests}\n" if tests else ""
    found = problem(module, f'"""Text.{line}"""\n')
    assert expected in found
    assert bool(found) == bool(expected)
