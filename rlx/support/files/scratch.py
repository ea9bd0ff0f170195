"""Temporary folders in which tools work: removed at the end, or by a later run after a kill.

Tests: tests/cli/test_signals.py
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rlx.support.errors import OutputError
from rlx.support.files.locks import Held, abandoned, create_folder, held

if TYPE_CHECKING:
    from collections.abc import Iterator

_DIGITS: Final = 16
"""Hexadecimal digits at the end of a folder's name."""
_NAME: Final = re.compile(rf"rlx-[a-z]+-[0-9a-f]{{{_DIGITS}}}")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./+,@=-]*")
_OTHERS: Final = ("/tmp", "/var/tmp", "/dev/shm")
"""Folders in place of a ``TMPDIR`` that make cannot build under."""


@contextlib.contextmanager
def work_folder(purpose: str) -> Iterator[Path]:
    """Make a folder ``rlx-<purpose>-<digits>`` for temporary files, and remove it at the end.

    It is in ``TMPDIR`` (or another folder that Python's ``tempfile`` chooses), unless that path
    holds a space or another character that make cannot build under: then in ``/tmp``, ``/var/tmp``
    or ``/dev/shm``. Leftovers of killed runs are removed first.

    Args:
        purpose: Lower-case letters.

    Yields:
        Absolute path of letters, digits and ``_./+,@=-``.

    Raises:
        OutputError: There is no place for it.
    """
    parent = _parent_folder()
    _sweep_once(parent)

    def create() -> Held:
        try:
            return create_folder(parent, f"rlx-{purpose}-", _DIGITS, mode=0o700)
        except OSError as error:
            raise _no_folder(str(parent), (error.strerror or str(error)).lower()) from None

    with held(create, partial(shutil.rmtree, ignore_errors=True)) as path:
        yield path


def is_plain(path: Path) -> bool:
    """Return whether make can build under ``path``: no space, no other special character."""
    return _PLAIN.fullmatch(path.as_posix().removeprefix(path.drive)) is not None


def sweep(parent: Path) -> None:
    """Remove temporary folders of ours whose process is dead."""
    with contextlib.suppress(OSError):
        for path in list(parent.iterdir()):
            if _NAME.fullmatch(path.name):
                with contextlib.suppress(OSError), abandoned(path) as free:
                    if free and _is_ours(path):
                        shutil.rmtree(path, ignore_errors=True)


def _is_ours(path: Path) -> bool:
    return not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()


def _parent_folder() -> Path:
    try:
        usual = Path(tempfile.gettempdir()).absolute()
    except OSError as error:
        raise _no_folder("TMPDIR", (error.strerror or str(error)).lower()) from None
    candidates = [usual, *map(Path, _OTHERS)]
    for candidate in candidates:
        if is_plain(candidate) and os.access(candidate, os.W_OK | os.X_OK):
            return candidate
    raise _no_folder(str(usual), "make cannot build under a path with spaces or special characters")


def _no_folder(where: str, reason: str) -> OutputError:
    return OutputError(
        f"cannot make a temporary folder: {reason}",
        where=where,
        hint="set TMPDIR to a folder with free space and a name of letters and digits",
    )


@cache
def _sweep_once(parent: Path) -> None:
    sweep(parent)
