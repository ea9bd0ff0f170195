"""Output folders: written next to their final place, moved there in one step."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from rlx.support.errors import OutputError
from rlx.support.files.locks import create_folder, held, locked
from rlx.support.files.outputs.file import reported, sync_folder, write_all
from rlx.support.files.outputs.leftovers import DIGITS, discard, prefix, restore, sweep
from rlx.support.files.outputs.manifest import (
    MANIFEST,
    Manifest,
    check_paths,
    file_entry,
    holds,
    load_manifest,
    manifest_text,
)
from rlx.support.files.outputs.old_folder import (
    carry_over,
    check_place,
    exists,
    keep_times,
    mounted,
)
from rlx.support.files.outputs.rename import exchange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rlx.support.files.outputs.manifest import FileEntry, Producer

# Windows changes line ends in text written to a file that is not opened as binary.
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_TAKEN: Final = frozenset({errno.ENOTEMPTY, errno.EEXIST})


def write_folder(
    path: str | os.PathLike[str],
    files: Mapping[str, str | bytes],
    *,
    producer: Producer,
    force: bool = False,
) -> Manifest:
    """Write ``files`` and a manifest into a new folder that appears at ``path`` in one step.

    Without ``force`` nothing at ``path`` is replaced except an empty folder: of several writers
    one succeeds.

    With ``force`` a folder of ours is replaced. Files that match its manifest are removed; an
    edited one makes the call fail; files that the manifest does not list (a build, a user's own
    files) are carried over into the new folder. A file whose bytes stay keeps its time stamp.

    Args:
        path: The folder; the old one stays in place until the new one is complete.
        files: Relative path with slashes to content; text is written as UTF-8, unchanged.
        producer: Producer of the folder, and its inputs.
        force: Replace a folder that rlx wrote.

    Returns:
        The manifest that was written.

    Raises:
        OutputError: The folder cannot be written, or is not ours to replace.
        ValueError: A name in ``files`` leaves the folder or is not portable.
    """
    check_paths(files)
    contents = {
        name: content.encode() if isinstance(content, str) else content
        for name, content in sorted(files.items())
    }
    manifest = Manifest(producer, {name: file_entry(content) for name, content in contents.items()})
    final, user_path = Path(os.path.realpath(path)), str(path)
    with reported(user_path, "output folder"):
        sweep(final)
        with locked(final.parent):  # not while another writer moves its folder into place
            check_place(final, user_path, contents, force=force)
        final.parent.mkdir(parents=True, exist_ok=True)
        with _temporary_folder(final) as temporary:
            _write_tree(temporary, {**contents, MANIFEST: manifest_text(manifest).encode()})
            with _move_errors(user_path):
                _move(temporary, final, user_path, contents, force=force)
        # The new folder is in place; do not fail because its name is not yet on the disk.
        with contextlib.suppress(OSError):
            sync_folder(final.parent)
    return manifest


def check_folder(path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Refuse a path now at which ``write_folder`` could write nothing, before work is lost.

    Args:
        path: The folder.
        force: Whether a folder of ours may be replaced.

    Raises:
        OutputError: There is something that is not ours, or without ``force`` anything.
    """
    with reported(str(path), "output folder"):
        check_place(Path(os.path.realpath(path)), str(path), {}, force=force)


def read_manifest(path: str | os.PathLike[str], *, check_files: bool = True) -> Manifest:
    """Read the manifest of the output folder ``path`` and check the files it lists.

    Files that the manifest does not list (a user's build) are left alone. A folder that a killed
    writer had put aside is put back first.

    Args:
        path: The folder.
        check_files: Compare size and hash of every listed file.

    Raises:
        OutputError: There is no manifest, it is malformed or of another schema, or a file that it
            lists is missing or changed.
    """
    folder = Path(path)
    restore(Path(os.path.realpath(folder)))
    manifest = load_manifest(folder)
    if check_files:
        for name, entry in manifest.files.items():
            _check_file(folder / name, entry)
    return manifest


@contextlib.contextmanager
def _temporary_folder(final: Path) -> Iterator[Path]:
    """Make a folder next to ``final``; an entry with its name is discarded at the end.

    An old folder that was put aside when a signal came is put back first, or discarded too.
    """

    def remove(path: Path) -> None:
        with contextlib.suppress(OSError, OutputError):
            restore(final)
            discard(path, final)
        sweep(final)

    with held(partial(create_folder, final.parent, prefix(final, "tmp"), DIGITS), remove) as path:
        yield path


def _write_tree(root: Path, contents: Mapping[str, bytes]) -> None:
    """Write every file, the manifest last, then flush the files and each folder to the disk."""
    folders = {parent for name in contents for parent in PurePosixPath(name).parents}
    for folder in sorted(folders - {PurePosixPath(".")}):
        os.mkdir(root / folder)  # noqa: PTH102
    for name, content in contents.items():
        descriptor = os.open(root / name, _NEW_FILE, 0o666)
        try:
            write_all(descriptor, content)
        finally:
            os.close(descriptor)
    # Deepest first: a folder is on the disk after its contents.
    for folder in sorted(folders, reverse=True):
        sync_folder(root / folder)


def _move(
    temporary: Path, final: Path, name: str, contents: Mapping[str, bytes], *, force: bool
) -> None:
    """Move the complete folder into its place; the old one, if any, gets the temporary name.

    A lock serializes writers to one folder, so that each replaces the folder that it checked.
    """
    with locked(final.parent):
        old = check_place(final, name, contents, force=force)
        if old is None:
            _rename_new(temporary, final)
            return
        checked = final.lstat()
        carry_over(final, temporary, old)
        keep_times(final, temporary, contents, old)
        aside = _replace(temporary, final)
        same = os.path.samestat(checked, aside.lstat())
        rest = aside if same else _replace(aside, final)
        if rest != temporary:
            with contextlib.suppress(OSError):  # the next writer tries again
                discard(rest, final)
        if not same:
            raise OutputError(
                "the folder was replaced while it was written", where=name, hint="try it again"
            )


def _rename_new(new: Path, final: Path) -> None:
    """Move a folder to a place where there is none, or an empty one.

    Raises:
        OSError: There is something else.
    """
    try:
        os.rename(new, final)  # noqa: PTH104
    except FileExistsError:
        # POSIX replaces an empty folder, Windows none; one that is not empty cannot be removed.
        os.rmdir(final)  # noqa: PTH106
        os.rename(new, final)  # noqa: PTH104


def _replace(new: Path, final: Path) -> Path:
    """Replace a folder by another, in one step, or in two if the system cannot.

    Returns:
        Path of the other one now.
    """
    if exchange(new, final):
        return new
    aside = final.parent / (prefix(final, "old") + secrets.token_hex(DIGITS // 2))
    with locked(final, wait=False):
        os.rename(final, aside)  # noqa: PTH104
        try:
            os.rename(new, final)  # noqa: PTH104
        except BaseException:
            with contextlib.suppress(OSError):  # a signal came when the new one was there
                os.rename(aside, final)  # noqa: PTH104
            raise
    return aside


@contextlib.contextmanager
def _move_errors(name: str) -> Iterator[None]:
    """Raise the error for a path to which the folder cannot be moved."""
    try:
        yield
    except OSError as error:
        if error.errno in _TAKEN:
            raise exists(name) from error
        if error.errno == errno.EBUSY:
            raise mounted(name) from error
        raise


def _check_file(path: Path, entry: FileEntry) -> None:
    hint = "emit the model again, into a new folder or with --force"
    try:
        same = holds(path, entry)
    except OSError as error:
        raise OutputError(
            f"a file of the manifest cannot be read: {(error.strerror or str(error)).lower()}",
            where=str(path),
            hint=hint,
        ) from None
    if not same:
        raise OutputError(
            f"the file differs from the manifest, which lists {entry.bytes} bytes with SHA-256 "
            f"{entry.sha256[:16]}...",
            where=str(path),
            hint="put the file back, or emit the model again into a new folder",
        )
