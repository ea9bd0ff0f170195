"""The examples that ship with rlx: a list, their places, a copy of one.

Each example is a folder; ``index.toml`` next to them has its description and its requirements.
"""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from rlx.support.errors import OutputError, UsageError
from rlx.support.files.paths import example_root
from rlx.support.text.suggest import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

_LEFT_BEHIND = ("__pycache__", ".*")
"""Files that remain when an example runs in its own folder."""


@dataclass(frozen=True, slots=True)
class Example:
    """A folder that ships.

    Attributes:
        name: Name of the folder.
        summary: Description, one line.
        needs: Packages and programs that rlx does not bring; empty for none.
        companions: Examples that its files refer to, as folders next to it.
        omitted: Files that only work in the repository of rlx.
    """

    name: str
    summary: str
    needs: str = ""
    companions: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Folder of it in this installation. Nothing may be written there."""
        return example_root() / self.name


@cache
def examples() -> dict[str, Example]:
    """Return all examples by name, in reading order."""
    index = tomllib.loads((example_root() / "index.toml").read_text(encoding="utf-8"))
    return {
        name: Example(
            name,
            entry["summary"],
            entry.get("needs", ""),
            tuple(entry.get("with", ())),
            tuple(entry.get("omit", ())),
        )
        for name, entry in index.items()
    }


def example(name: str) -> Example:
    """Return the example of that name.

    Raises:
        UsageError: There is none.
    """
    found = examples()
    if name not in found:
        hint = did_you_mean(name, found, what="examples")
        raise UsageError(f"no example is called {name!r}", hint=hint)
    return found[name]


def copy(name: str, folder: Path) -> list[Path]:
    """Copy an example, and those that it refers to, into ``folder``.

    Args:
        name: Of the example.
        folder: Gets a folder of that name; made if it does not exist.

    Returns:
        The folders that were made: the example's own first. One that it refers to is left unchanged
            where it exists.

    Raises:
        UsageError: There is no such example.
        OutputError: The example's folder exists, or cannot be written.
    """
    shipped_example = example(name)
    target = folder / name
    if target.exists():
        raise OutputError(
            "exists already", where=str(target), hint="name another folder as the last argument"
        )
    folders = [target]
    try:
        _copy(shipped_example, target)
        for companion in shipped_example.companions:
            if not (folder / companion).exists():
                _copy(example(companion), folder / companion)
                folders.append(folder / companion)
    except OSError as e:
        raise OutputError(
            f"cannot be written: {(e.strerror or str(e)).lower()}",
            where=str(folder),
            hint="name a folder that you may write to, or make space",
        ) from e
    return folders


def _copy(shipped_example: Example, target: Path) -> None:
    """Copy the files of one example."""
    ignore = shutil.ignore_patterns(*_LEFT_BEHIND, *shipped_example.omitted)
    shutil.copytree(shipped_example.folder, target, ignore=ignore)
