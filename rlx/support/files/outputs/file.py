"""Single files that appear whole or not at all.

Tests: tests/unit/support/files/outputs/test_killed.py
"""

from __future__ import annotations

import contextlib
import os
import stat
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rlx.support.errors import OutputError
from rlx.support.files.locks import create_file, held
from rlx.support.files.outputs.leftovers import DIGITS, prefix, sweep

if TYPE_CHECKING:
    from collections.abc import Iterator


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file that appears at ``path`` by one rename, and replaces an existing one.

    A device or a pipe is written to directly, because it cannot be replaced.

    Raises:
        OutputError: It cannot be written; an existing file is unchanged.
    """
    with new_file(path) as temporary, temporary.open("wb", buffering=0) as file:
        write_all(file.fileno(), content)


@contextlib.contextmanager
def new_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of an empty file that replaces ``path`` if the block succeeds.

    A device or a pipe cannot be replaced: its own path is yielded.

    Raises:
        OutputError: It cannot be written; an existing file is unchanged.
    """
    typed_path, final = Path(path), Path(os.path.realpath(path))
    with reported(str(path), "file"):
        mode = _mode(typed_path)
        if mode is not None and not stat.S_ISREG(mode):
            yield typed_path
            return
        sweep(final)
        create = partial(create_file, final.parent, prefix(final, "tmp"), DIGITS)
        with held(create, _remove) as path:
            if mode is not None:
                os.chmod(path, stat.S_IMODE(mode))  # noqa: PTH101
            yield path
            os.replace(path, final)  # noqa: PTH105
        with contextlib.suppress(OSError):
            sync_folder(final.parent)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)  # noqa: PTH108


def write_all(descriptor: int, content: bytes) -> None:
    """Write ``content`` and flush it to the disk."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    """Flush a folder's entries to the disk, where the system lets folders be opened."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def reported(name: str, what: str) -> Iterator[None]:
    """Turn a system error into one that names the output and its kind, ``what``."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write the {what}: {(error.strerror or str(error)).lower()}",
            where=name,
            hint="check free space, permissions and the path; nothing was changed",
        ) from error


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None
