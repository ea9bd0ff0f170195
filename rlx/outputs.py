"""Output folders that appear whole or not at all, with a manifest that proves what they hold.

A folder is written beside its final place and renamed: a full disk, an interrupt or a kill leaves
either the old folder or none under the final name, never half of a new one. ``manifest.json`` lists
every file with its hash. It holds no date, host or path, so the same input gives the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from rlx.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MANIFEST: Final = "manifest.json"
"""Name of the manifest in every output folder."""

SCHEMA: Final = 1
"""Version of the manifest's form that this rlx writes and reads."""

MANIFEST_LIMIT: Final = 16 << 20
"""Bytes of a manifest that are read."""

_GENERATOR: Final = "rlx"
_OWN_KEYS: Final = frozenset(
    {"files", "generator", "input_sha256", "options", "rlx_version", "schema", "target"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Producer:
    """Who made a folder, from what: the part of a manifest that the emitter knows.

    Attributes:
        rlx_version: ``rlx.__version__``.
        target: Name of the target, for example ``cortexm``.
        input_sha256: Hash of the model file, hex; None for a graph that came from no file.
        options: Options of the emitter as JSON values; no paths, no dates.
        facts: More top-level entries of the manifest as JSON values, for example ``golden``.
    """

    rlx_version: str
    target: str
    input_sha256: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        clash = _OWN_KEYS & self.facts.keys()
        if clash:
            msg = f"facts must not name the manifest's own entries: {', '.join(sorted(clash))}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of an output folder: its SHA-256 in hex and its size in bytes."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What ``manifest.json`` says.

    Attributes:
        producer: Who made the folder, from what.
        files: Path relative to the folder, with slashes, to hash and size; the manifest left out.
    """

    producer: Producer
    files: Mapping[str, FileEntry]


def write_folder(
    path: str | os.PathLike[str],
    files: Mapping[str, str | bytes],
    *,
    producer: Producer,
    force: bool = False,
) -> Manifest:
    """Write ``files`` and a manifest into a new folder that appears at ``path`` by one rename.

    Args:
        path: The folder. It must not exist, or be empty, or be one of ours with ``force``; the old
            folder stays in place until the new one is complete.
        files: Relative path with slashes to content; text is written as UTF-8, unchanged.
        producer: Who makes the folder, from what.
        force: Replace a folder that holds a manifest of ours, with everything in it.

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
    manifest = Manifest(producer, {name: _entry(content) for name, content in contents.items()})
    final = Path(os.path.realpath(path))
    _check_place(final, Path(path), force)
    temporary = final.parent / f".{final.name}.tmp-{secrets.token_hex(6)}"
    contents[MANIFEST] = manifest_text(manifest).encode()
    with _reported(Path(path)):
        final.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write_tree(temporary, contents)
            _move_into_place(temporary, final)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return manifest


def read_manifest(path: str | os.PathLike[str], *, check_files: bool = True) -> Manifest:
    """Read the manifest of the output folder ``path`` and check the files it lists.

    Files that the manifest does not list (a user's build) are left alone.

    Args:
        path: The folder.
        check_files: Compare size and hash of every listed file.

    Raises:
        OutputError: There is no manifest, it is malformed or of another schema, or a file that it
            lists is missing or changed.
    """
    folder = Path(path)
    manifest = _parse(_load(folder), folder)
    if check_files:
        for name, entry in manifest.files.items():
            _check_file(folder, name, entry)
    return manifest


def manifest_text(manifest: Manifest) -> str:
    """Return ``manifest`` as the text of ``manifest.json``: sorted keys, ASCII, one newline."""
    producer = manifest.producer
    values = {
        **producer.facts,
        "files": {
            name: {"bytes": entry.bytes, "sha256": entry.sha256}
            for name, entry in manifest.files.items()
        },
        "generator": _GENERATOR,
        "input_sha256": producer.input_sha256,
        "options": dict(producer.options),
        "rlx_version": producer.rlx_version,
        "schema": SCHEMA,
        "target": producer.target,
    }
    return json.dumps(values, indent=2, sort_keys=True, allow_nan=False) + "\n"


def check_paths(files: Mapping[str, object]) -> None:
    """Check that every name stays inside the folder and means the same file on every system.

    Raises:
        ValueError: A name is absolute, empty, climbs, holds a backslash, colon or control
            character, is the manifest's, is also a folder, or differs from another by case only.
    """
    seen: dict[str, str] = {MANIFEST: "the manifest"}
    for name in sorted(files):
        _check_path(name)
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            msg = f"file name {name!r} collides with {other!r}"
            raise ValueError(msg)
    for name in files:
        for parent in PurePosixPath(name).parents:
            if str(parent).casefold() in seen:
                msg = f"file name {name!r} needs a folder where there is a file"
                raise ValueError(msg)


def _check_path(name: str) -> None:
    parts = name.split("/")
    unsafe = any(ord(character) < 32 or character in '\\:\x7f"<>|?*' for character in name)
    if unsafe or any(part in ("", ".", "..") or part != part.strip() for part in parts):
        msg = f"file name {name!r} is not a plain relative path"
        raise ValueError(msg)


def _entry(content: bytes) -> FileEntry:
    return FileEntry(hashlib.sha256(content).hexdigest(), len(content))


def _check_place(final: Path, shown: Path, force: bool) -> None:
    """Refuse a place that is not free and not ours to replace."""
    where = str(shown)
    if final == Path.cwd() or final in Path.cwd().parents:
        raise OutputError(
            "the working folder cannot be replaced", where=where, hint="name a new folder"
        )
    if not final.exists():
        return
    if not final.is_dir():
        raise OutputError("there is a file, not a folder", where=where, hint="name a new folder")
    with _reported(shown):
        if not any(final.iterdir()):
            return
    if not _is_ours(final):
        raise OutputError(
            f"the folder is not empty and holds no {MANIFEST} of rlx",
            where=where,
            hint="name a new folder; rlx replaces only what it wrote itself",
        )
    if not force:
        raise OutputError(
            "the folder exists", where=where, hint="use --force to replace it, or name a new folder"
        )


def _is_ours(folder: Path) -> bool:
    try:
        _load(folder)
    except OutputError:
        return False
    return True


def _write_tree(root: Path, contents: Mapping[str, bytes]) -> None:
    """Write every file and force it, and then each folder, to the disk."""
    os.mkdir(root)  # noqa: PTH102 (every write goes through os: tests make the N-th one fail)
    folders = {parent for name in contents for parent in PurePosixPath(name).parents}
    for folder in sorted(folders - {PurePosixPath(".")}):
        os.mkdir(root / folder)  # noqa: PTH102
    for name, content in contents.items():
        _write_file(root / name, content)
    for folder in sorted(folders, reverse=True):
        _sync_folder(root / folder)


def _write_file(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _move_into_place(temporary: Path, final: Path) -> None:
    """Rename the complete folder; a folder that stands there is put aside, then removed."""
    aside = final.parent / f".{final.name}.old-{secrets.token_hex(6)}"
    try:
        if final.exists():
            os.rename(final, aside)  # noqa: PTH104
        os.rename(temporary, final)  # noqa: PTH104
    except BaseException:
        if aside.exists():
            aside.rename(final)
        raise
    shutil.rmtree(aside, ignore_errors=True)
    # The new folder stands; that its name is not yet forced to the disk is no reason to fail.
    with contextlib.suppress(OSError):
        _sync_folder(final.parent)


@contextlib.contextmanager
def _reported(shown: Path) -> Iterator[None]:
    """Turn an error of the operating system into one that names the folder."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write the output folder: {(error.strerror or str(error)).lower()}",
            where=str(shown),
            hint="check free space and permissions; nothing was changed",
        ) from error


def _load(folder: Path) -> dict[str, Any]:
    """Return the raw manifest of a folder that rlx wrote."""
    where = str(folder / MANIFEST)
    try:
        with (folder / MANIFEST).open("rb") as file:
            content = file.read(MANIFEST_LIMIT + 1)
    except OSError as error:
        raise OutputError(
            f"cannot be read: {(error.strerror or str(error)).lower()}",
            where=where,
            hint="name a folder that rlx emit wrote",
        ) from None
    if len(content) > MANIFEST_LIMIT:
        raise OutputError(f"is larger than {MANIFEST_LIMIT} bytes", where=where)
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or values.get("generator") != _GENERATOR:
        raise OutputError("is not a manifest of rlx", where=where)
    if values.get("schema") != SCHEMA:
        raise OutputError(
            f"has schema {values.get('schema')!r}, this rlx reads {SCHEMA}",
            where=where,
            hint="emit the folder again",
        )
    return values


def _parse(values: dict[str, Any], folder: Path) -> Manifest:
    wrong = OutputError(
        "is malformed", where=str(folder / MANIFEST), hint="emit the folder again (--force)"
    )
    files, options = values.get("files"), values.get("options")
    if not isinstance(files, dict) or not isinstance(options, dict):
        raise wrong
    for key, kinds in {"rlx_version": str, "target": str, "input_sha256": str | None}.items():
        if not isinstance(values.get(key), kinds):
            raise wrong
    try:
        check_paths(files)
        entries = {name: FileEntry(**entry) for name, entry in sorted(files.items())}
    except (TypeError, ValueError):
        raise wrong from None
    producer = Producer(
        rlx_version=values["rlx_version"],
        target=values["target"],
        input_sha256=values.get("input_sha256"),
        options=options,
        facts={key: value for key, value in values.items() if key not in _OWN_KEYS},
    )
    return Manifest(producer, entries)


def _check_file(folder: Path, name: str, entry: FileEntry) -> None:
    path = folder / name
    try:
        same_size = path.stat().st_size == entry.bytes
        same = same_size and hashlib.sha256(path.read_bytes()).hexdigest() == entry.sha256
    except OSError as error:
        raise OutputError(
            f"a file of the manifest cannot be read: {(error.strerror or str(error)).lower()}",
            where=str(path),
            hint="emit the folder again (--force)",
        ) from None
    if not same:
        raise OutputError(
            f"the file differs from the manifest, which wants {entry.bytes} bytes with SHA-256 "
            f"{entry.sha256[:16]}...",
            where=str(path),
            hint="emit the folder again (--force)",
        )
