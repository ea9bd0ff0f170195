"""Checks of an existing folder before it is replaced, and the files kept from it.

Tests: tests/unit/support/files/outputs/test_folder.py
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from rlx.support.errors import OutputError
from rlx.support.files.outputs.leftovers import is_ours, walk
from rlx.support.files.outputs.manifest import MANIFEST, file_entry, holds, load_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rlx.support.files.outputs.manifest import Manifest

_MAX_LISTED_NAMES: Final = 3
"""Names of files in one message."""
_NEW: Final = "name a new folder"


def check_place(
    final: Path, typed_path: str, contents: Mapping[str, bytes], *, force: bool
) -> Manifest | None:
    """Refuse a path that exists and is not ours to replace.

    Args:
        final: The place, without links.
        typed_path: The place as the user wrote it.
        contents: Files of the new folder.
        force: Whether a folder of ours may be replaced.

    Returns:
        The manifest of the folder that is there; None if there is none, or an empty one.

    Raises:
        OutputError: There is something that is not ours, or without ``force`` anything.
        OSError: It cannot be looked at.
    """
    if final == Path.cwd() or final in Path.cwd().parents:
        raise OutputError("the working folder cannot be replaced", where=typed_path, hint=_NEW)
    if final.exists() and not final.is_dir():
        raise OutputError("there is a file, not a folder", where=typed_path, hint=_NEW)
    if os.path.ismount(final):
        raise mounted(typed_path)
    if not final.is_dir() or not any(final.iterdir()):
        return None
    if not (final / MANIFEST).is_file():
        raise OutputError(
            f"the folder is not empty and holds no {MANIFEST} of rlx",
            where=typed_path,
            hint=f"{_NEW}; rlx replaces only what it wrote itself",
        )
    manifest = _manifest(final, typed_path)
    if not force:
        raise exists(typed_path)
    _refuse_loss(final, typed_path, manifest, contents)
    return manifest


def mounted(path: str) -> OutputError:
    """Return the error for a path that is a mount point, as a container's volume is."""
    return OutputError(
        "is a mount point, which cannot be replaced in one step",
        where=path,
        hint=f"name a folder inside it, for example {Path(path) / 'model'}",
    )


def exists(path: str) -> OutputError:
    """Return the error for an existing folder."""
    return OutputError(
        "the folder exists", where=path, hint="use --force to replace it, or name a new folder"
    )


def carry_over(old: Path, new: Path, manifest: Manifest) -> None:
    """Link into folder ``new`` the files of ``old`` that its manifest does not list.

    A link (or a copy, where the file system has no links) leaves the old folder unchanged, until
    the new one has taken its place.

    Raises:
        OSError: Something can neither be linked nor copied.
    """
    folders = []
    shutil.copymode(old, new)
    for name, entry in walk(old):
        if entry.is_dir(follow_symlinks=False):
            if not (new / name).is_dir():
                os.mkdir(new / name)  # noqa: PTH102
                folders.append(name)
        elif name != MANIFEST and name not in manifest.files and not os.path.lexists(new / name):
            _link(old / name, new / name)
    for name in reversed(folders):
        if any(listed.startswith(f"{name}/") for listed in manifest.files) and not any(
            (new / name).iterdir()
        ):
            os.rmdir(new / name)  # noqa: PTH106 (held files of ours only)
        else:
            shutil.copystat(old / name, new / name)


def keep_times(old: Path, new: Path, contents: Mapping[str, bytes], manifest: Manifest) -> None:
    """Give files of ``new`` whose bytes are those of ``old`` the times that they have there.

    So a build that uses time stamps does not repeat unchanged steps.

    Args:
        old: The folder that is replaced.
        new: The complete new one.
        contents: The files of the new one, its manifest left out.
        manifest: Manifest of the old one, whose files are as it lists them.
    """
    same = [name for name in contents if manifest.files.get(name) == file_entry(contents[name])]
    if (old / MANIFEST).read_bytes() == (new / MANIFEST).read_bytes():
        same.append(MANIFEST)
    for name in same:
        times = (old / name).stat()
        with contextlib.suppress(OSError):  # file systems without times of their own
            os.utime(new / name, ns=(times.st_atime_ns, times.st_mtime_ns))


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except (OSError, NotImplementedError):
        shutil.copy2(source, target, follow_symlinks=False)


def _manifest(final: Path, path: str) -> Manifest:
    try:
        return load_manifest(final)
    except OutputError as error:
        raise OutputError(
            f"the folder holds a {MANIFEST} that {error.message}",
            where=path,
            hint=f"{_NEW}; rlx replaces only what it wrote itself",
        ) from None


def _refuse_loss(final: Path, path: str, manifest: Manifest, contents: Mapping[str, bytes]) -> None:
    """Refuse to replace a folder with edited files of ours or files in the way of new ones."""
    entries = [(name, entry) for name, entry in walk(final) if name != MANIFEST]
    files = [name for name, entry in entries if not entry.is_dir(follow_symlinks=False)]
    ours = [name for name in files if name in manifest.files]
    edited = [name for name in ours if not is_ours(final / name, name, manifest)]
    blocking = [name for name, entry in entries if entry.is_dir(follow_symlinks=False)
              and name in contents]  # fmt: skip
    blocking += [name for name in files if name not in manifest.files
               and _collides(final / name, name, contents)]  # fmt: skip
    for names, what in (
        (edited, "files that were edited after rlx wrote them"),
        (blocking, "files that rlx did not write where new ones come"),
    ):
        if names:
            raise OutputError(
                f"the folder holds {what}: {_some(names)}",
                where=path,
                hint=f"{_NEW}, or move these files out of this one first",
            )


def _collides(path: Path, name: str, contents: Mapping[str, bytes]) -> bool:
    """Return whether a file of the user is in the way of a new file or folder."""
    if name in contents:
        return path.is_symlink() or not holds(path, file_entry(contents[name]))
    return any(str(parent) == name for new in contents for parent in PurePosixPath(new).parents)


def _some(names: Iterable[str]) -> str:
    """Return the first few names, and their number."""
    every = sorted(names)
    shown = ", ".join(every[:_MAX_LISTED_NAMES])
    return shown if len(every) <= _MAX_LISTED_NAMES else f"{shown} ... ({len(every)} in all)"
