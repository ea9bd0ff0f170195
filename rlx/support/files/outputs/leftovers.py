"""Temporary files next to an output, and those that a killed writer left.

For an output ``NAME`` there may be, in the same folder:

- ``.NAME.tmp-<hexadecimal digits>``: a file or folder that is being written. A folder replaces the
  old one by exchange, so that after it the old one bears this name, until it is
  removed.
- ``.NAME.old-<hexadecimal digits>``: where the system cannot exchange two folders, the old one
  while the new one is moved into its place.

The writer holds a lock on each (:mod:`rlx.support.files.locks`). One without a lock was left by a
killed writer: :func:`sweep` puts an old folder back if its place is free, and removes the rest.

Tests: tests/unit/support/files/outputs/test_killed.py
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import stat
from typing import TYPE_CHECKING, Final

from rlx.support.errors import OutputError
from rlx.support.files.locks import abandoned
from rlx.support.files.outputs.manifest import MANIFEST, Manifest, holds, load_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DIGITS: Final = 12
"""Hexadecimal digits at the end of temporary names."""

_STEM_BYTES: Final = 200
"""Bytes of the output's name in temporary names: with the suffix they have at most 255."""
_HASH_DIGITS: Final = 16
"""Hexadecimal digits of the hash that ends a shortened name."""


def prefix(final: Path, kind: str) -> str:
    """Return the beginning of the names of temporary files of ``final``.

    A name may have 255 bytes on most systems: of a longer one a part and a hash are used.

    Args:
        final: The output.
        kind: ``tmp`` or ``old``.
    """
    return f".{_stem(final.name)}.{kind}-"


def _stem(name: str) -> str:
    encoded = os.fsencode(name)
    if len(encoded) <= _STEM_BYTES:
        return name
    part = encoded[: _STEM_BYTES - _HASH_DIGITS].decode("utf-8", errors="ignore")
    return f"{part}-{hashlib.sha256(encoded).hexdigest()[:_HASH_DIGITS]}"


def sweep(final: Path) -> None:
    """Restore and remove leftovers of dead writers of ``final``; errors are left for later."""
    restore(final)
    for path in [*_temporary_paths(final, "tmp"), *_temporary_paths(final, "old")]:
        with contextlib.suppress(OSError), abandoned(path) as free:
            if free and (os.path.lexists(final) or ".tmp-" in path.name):
                discard(path, final)


def restore(final: Path) -> None:
    """Put the old folder back if its writer died before the new one was in its place."""
    if os.path.lexists(final):
        return
    for path in _temporary_paths(final, "old"):
        with contextlib.suppress(OSError), abandoned(path) as free:
            if free and (path / MANIFEST).is_file():
                os.rename(path, final)  # noqa: PTH104 (fails if the path exists by now)
                return


def discard(path: Path, final: Path) -> None:
    """Remove a temporary file, a half-written folder, or an old one if it is ours.

    A folder with a manifest is complete: an old one, or a new one that was not used. Of such a
    folder files of the manifest are removed, and those that ``final`` has too; anything else is a
    user's work that came into it late, and stays under a visible name, ``NAME.kept-<digits>``.

    Raises:
        OSError: Something could not be removed.
    """
    if not stat.S_ISDIR(path.lstat().st_mode):
        os.unlink(path)  # noqa: PTH108
        return
    try:
        manifest = load_manifest(path)
    except OutputError:
        shutil.rmtree(path)
        return
    _remove_proven(path, manifest, final)
    files = (name for name, entry in walk(path) if not entry.is_dir(follow_symlinks=False))
    if set(files) <= {MANIFEST}:
        shutil.rmtree(path)
        return
    visible_name = f"{_stem(final.name)}.kept-{secrets.token_hex(DIGITS // 2)}"
    os.rename(path, final.parent / visible_name)  # noqa: PTH104


def walk(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield all that is in a folder, each folder before its content; links are not followed.

    Yields:
        Path relative to the folder, with slashes, and the entry.
    """
    waiting = [""]
    while waiting:
        base = waiting.pop()
        with os.scandir(folder / base) as entries:
            for entry in sorted(entries, key=lambda child: child.name):
                name = f"{base}{entry.name}"
                yield name, entry
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{name}/")


def is_ours(path: Path, name: str, manifest: Manifest) -> bool:
    """Return whether a file is as the manifest says: written by rlx and not edited since."""
    entry = manifest.files.get(name)
    return entry is not None and not path.is_symlink() and holds(path, entry)


def _temporary_paths(final: Path, kind: str) -> list[Path]:
    """Return the paths next to ``final`` with a temporary name, in order of names."""
    pattern = re.compile(re.escape(prefix(final, kind)) + rf"[0-9a-f]{{{DIGITS}}}")
    try:
        names = [path.name for path in final.parent.iterdir()]
    except OSError:
        return []
    return [final.parent / name for name in sorted(names) if pattern.fullmatch(name)]


def _remove_proven(folder: Path, manifest: Manifest, final: Path) -> None:
    """Remove every file that is ours, or in ``final`` too, and the folders that are empty then."""
    folders = []
    folder.chmod(folder.stat().st_mode | stat.S_IRWXU)  # else its files cannot be removed
    for name, entry in list(walk(folder)):
        path = folder / name
        if entry.is_dir(follow_symlinks=False):
            folders.append(path)
            path.chmod(path.stat().st_mode | stat.S_IRWXU)
        elif name != MANIFEST and (is_ours(path, name, manifest) or same(path, final / name)):
            os.unlink(path)  # noqa: PTH108
    for path in reversed(folders):
        with contextlib.suppress(OSError):  # not empty
            os.rmdir(path)  # noqa: PTH106


def same(path: Path, other: Path) -> bool:
    """Return whether two paths are one file, or links or files with the same content."""
    try:
        path_stat, other_stat = path.lstat(), other.lstat()
        if os.path.samestat(path_stat, other_stat):
            return True
        if stat.S_ISLNK(path_stat.st_mode) and stat.S_ISLNK(other_stat.st_mode):
            return path.readlink() == other.readlink()
        if not (stat.S_ISREG(path_stat.st_mode) and stat.S_ISREG(other_stat.st_mode)):
            return False
        return path_stat.st_size == other_stat.st_size and path.read_bytes() == other.read_bytes()
    except FileNotFoundError:
        return False
