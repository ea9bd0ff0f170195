"""Functions that tests import: missing tools and data, golden files."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from rlx.support.errors import ToolMissingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT = Path(__file__).parents[2]
"""The root of the repository."""

TOOL_MARKS = frozenset({"sim", "qemu", "synth"})
"""Marks of tests that need a program which pip or the system may lack."""


def in_ci() -> bool:
    """Whether everything a test needs must be there (``CI=true``)."""
    return os.environ.get("CI", "").lower() in ("1", "true", "yes")


def missing(what: str) -> NoReturn:
    """Skip the running test because something it needs is missing; in CI let it fail."""
    if in_ci():
        pytest.fail(f"CI must have everything: {what}", pytrace=False)
    pytest.skip(what)


@contextmanager
def excused(marks: Iterable[str]) -> Iterator[None]:
    """Skip a marked test that lacks its tool, or let it fail where tools must be there (CI)."""
    try:
        yield
    except ToolMissingError as e:
        if TOOL_MARKS & set(marks):
            missing(str(e).replace("\n  hint:", ";"))
        raise


def require_program(*names: str) -> str:
    """Return the path of the first program of ``names`` that is installed, or skip or fail.

    Programs of this Python's environment count too, whether it is activated or not.
    """
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    for name in names:
        if path := shutil.which(name, path=folders):
            return path
    missing(f"none of these programs is installed: {', '.join(names)}")


def shared_folder(part: str = "") -> Path:
    """Return ``part`` of the folder with models and data, or skip or fail.

    The folder is ``RLX_SHARED``; without that, ``shared`` beside the repository.
    """
    root = Path(os.environ.get("RLX_SHARED") or ROOT.parent / "shared")
    folder = root / part
    if not folder.is_dir():
        missing(f"there is no {part or 'data'} under {root}; set RLX_SHARED")
    return folder


class GoldenFolder:
    """A folder of expected files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Make the folder hold exactly ``files``."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_bytes(content))

    def check(self, files: Mapping[str, str | bytes]) -> None:
        """Fail unless the folder holds exactly ``files``, byte for byte."""
        advice = "pytest --update-golden, then read the difference"
        # Benches in Python are run where they lie, and leave their bytecode there.
        found = {p.relative_to(self.folder).as_posix() for p in self.folder.rglob("*")
                 if p.is_file() and "__pycache__" not in p.parts}  # fmt: skip
        assert found == set(files), f"other files in {self.folder.name}: {advice}"
        for name, content in files.items():
            expected = (self.folder / name).read_bytes()
            if isinstance(content, str):
                assert content == expected.decode(), f"{name} changed: {advice}"
            assert _bytes(content) == expected, f"{name} changed: {advice}"


def _bytes(content: str | bytes) -> bytes:
    """Return text as UTF-8."""
    return content.encode() if isinstance(content, str) else content
