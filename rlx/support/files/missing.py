"""Errors for files and folders that do not exist, with the name of a similar one."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from rlx.support.errors import UsageError
from rlx.support.text.suggest import closest

if TYPE_CHECKING:
    from pathlib import Path

_MIN_SIMILARITY: Final = 0.8
"""Ratio of ``difflib`` from which another name of the same folder is suggested."""
_MAX_ENTRIES: Final = 1000
"""Names of a folder that are compared with the given one."""


def missing_file(path: Path, hint: str, *, where: str | None = None) -> UsageError:
    """Return (not raise) the error for a file that does not exist.

    Args:
        path: The file.
        hint: Advice, unless the folder has a file with a similar name.
        where: Name of the argument in messages, if it needs one.
    """
    return UsageError(f"no file {str(path)!r}", where=where, hint=similar_name(path, hint))


def similar_name(path: Path, otherwise: str) -> str:
    """Return a hint that names the most similar path of the same folder, or ``otherwise``."""
    try:
        names = sorted(p.name for p in itertools.islice(path.parent.iterdir(), _MAX_ENTRIES))
    except (OSError, ValueError):
        names = []
    guess = closest(path.name, names, alike=_MIN_SIMILARITY)
    return otherwise if guess is None else f"did you mean {str(path.with_name(guess))!r}?"
