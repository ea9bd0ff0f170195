"""Every public name of rlx stands in the documentation, by an ``auto...`` directive of Sphinx."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any

import pytest

import rlx
from rlx.cli import COMMANDS
from support import ROOT

DIRECTIVE = re.compile(
    r"^\.\. auto(module|class|function|data):: (\S+)\n((?:   :.*\n)*)", re.MULTILINE
)
MEMBERS = re.compile(r"^   :members:(.*)", re.MULTILINE)

PACKAGES = (
    "rlx",
    "rlx.ir",
    "rlx.ops.control",
    "rlx.ops.fused",
    "rlx.passes",
    "rlx.passes.fusion",
    "rlx.runtime",
    "rlx.tracing",
    "rlx.frontends.weights",
)


def found(path: str) -> Any:
    """Return a module, or what it has of this name."""
    try:
        return import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(found(module), name)


def members(module: str, options: str) -> list[Any]:
    """Return the members that ``automodule`` documents: the named ones, or those of ``__all__``."""
    whole, listed = found(module), MEMBERS.search(options)
    if listed is None:
        return []
    names = [name.strip() for name in listed[1].split(",") if name.strip()]
    imported = ":imported-members:" in options
    every = getattr(whole, "__all__", [n for n in vars(whole) if not n.startswith("_")])
    of_its_own = [
        n for n in every if imported or getattr(vars(whole)[n], "__module__", "") == module
    ]
    return [getattr(whole, name) for name in names or of_its_own]


@cache
def documented() -> dict[int, Any]:
    """Return the objects that the directives name, by identity."""
    objects: list[Any] = []
    for page in (ROOT / "docs").rglob("*.md"):
        for kind, path, options in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            objects += members(path, options) if kind == "module" else [found(path)]
    return {id(one): one for one in objects}


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_documented(package):
    module = import_module(package)
    missing = [n for n in module.__all__ if id(getattr(module, n)) not in documented()]
    assert not missing


def test_settings_are_documented():
    module = import_module("rlx.support.config")
    assert id(module.override) in documented()
    page = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
    for name in module.Config.__dataclass_fields__:
        assert f"| `{name}` | `RLX_{name.upper()}` |" in page


def test_the_page_on_python_names_commands_and_functions_that_exist():
    text = (ROOT / "docs" / "guide" / "python.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| (`rlx .*) \| (`rlx\..*) \|$", text)
    commands = {name for row, _ in rows for name in re.findall(r"`(?:rlx )?([a-z]+)`", row)}
    functions = {name for _, row in rows for name in re.findall(r"`rlx\.(\w+)`", row)}
    assert commands <= set(COMMANDS)
    assert functions <= set(rlx.__all__)
    same = {name for name in set(COMMANDS) & set(rlx.__all__) if callable(getattr(rlx, name))}
    assert same <= commands
