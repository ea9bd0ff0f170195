"""Temporary files and folders that show whether their writer is alive.

Whoever writes a temporary file or folder holds a lock on it (``flock``). The system releases the
lock when the process ends, in any way, so a file that can be locked was left by a dead process, and
may be removed. A process id in the name would say less: ids are used again, and two containers that
share a volume do not see each other's processes.

Where there is no ``flock`` (Windows) nothing is held and nothing is swept: a writer that is killed
there leaves its temporary files for the user to remove.

Tests: tests/unit/support/files/outputs/test_killed.py
"""

from __future__ import annotations

import contextlib
import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None  # type: ignore[assignment]

from rlx.support.signals import signals_deferred

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Held:
    """A file or folder that this process holds.

    Attributes:
        path: Path at which it was made.
        descriptor: Open and locked; None where files cannot be locked, because there a folder
            cannot be opened and an open file cannot be moved.
    """

    path: Path
    descriptor: int | None


@contextlib.contextmanager
def held(create: Callable[[], Held], discard: Callable[[Path], None]) -> Iterator[Path]:
    """Hold something temporary while the context lasts, then discard it.

    A signal's handler may raise anywhere: before the new file is known, or while it is discarded.
    So signals wait while it is made, and it is discarded twice.

    Args:
        create: Makes it: :func:`create_folder` or :func:`create_file` with arguments.
        discard: Removes the file or folder at a path, if there is one; raises no error.

    Raises:
        OSError: It cannot be made.
    """
    temporary: Held | None = None
    try:
        try:
            with signals_deferred():
                temporary = create()
            yield temporary.path
        finally:
            if temporary is not None:
                discard(temporary.path)
    finally:
        if temporary is not None:
            discard(temporary.path)
            if temporary.descriptor is not None:
                os.close(temporary.descriptor)


def create_folder(parent: Path, prefix: str, digits: int, mode: int = 0o777) -> Held:
    """Make and hold a folder ``<prefix><hexadecimal digits>`` in ``parent``.

    Raises:
        OSError: It cannot be made.
    """

    def make(path: Path) -> int | None:
        os.mkdir(path, mode)  # noqa: PTH102 (tests make the N-th call of os fail)
        if fcntl is None:  # not POSIX, where a folder cannot be opened
            return None
        try:
            return os.open(path, os.O_RDONLY)
        except FileNotFoundError:  # removed by a sweep before we locked it
            return None

    return _create(parent, prefix, digits, make)


def create_file(parent: Path, prefix: str, digits: int) -> Held:
    """Make and hold an empty file ``<prefix><hexadecimal digits>`` in ``parent``.

    Raises:
        OSError: It cannot be made.
    """

    def make(path: Path) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)

    return _create(parent, prefix, digits, make)


def _create(parent: Path, prefix: str, digits: int, make: Callable[[Path], int | None]) -> Held:
    """Create and lock something; try again if it was removed before the lock was taken."""
    while True:
        path = parent / (prefix + secrets.token_hex(digits // 2))
        descriptor = make(path)
        if fcntl is None:
            if descriptor is not None:
                os.close(descriptor)
            return Held(path, None)
        if descriptor is None:
            continue
        _lock(descriptor, wait=True)
        if _is_at(path, descriptor):
            return Held(path, descriptor)
        os.close(descriptor)


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a file or folder that exists, or continue without a lock where it cannot be locked.

    Args:
        path: File or folder to hold.
        wait: Wait for another holder to end; if not, continue without the lock.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        yield
        return
    try:
        _lock(descriptor, wait=wait)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def abandoned(path: Path) -> Iterator[bool]:
    """Yield whether no process holds ``path``; if so, we hold it while the context lasts."""
    if fcntl is None:
        yield False
        return
    try:
        # The file may be anybody's: a link is not followed, a pipe does not block.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        yield False
        return
    try:
        yield _lock(descriptor, wait=False) and _is_at(path, descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file; False if another holds it, or if nothing can be locked there."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
