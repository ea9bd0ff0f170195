"""The manifest of an output folder: its generator and sources, and each file with its hash.

It holds no date, host or path, so the same input results in the same bytes.

Tests: tests/unit/support/files/outputs/test_folder.py
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import OutputError
from rlx.support.files.missing import similar_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MANIFEST: Final = "manifest.json"
"""Name of the manifest in every output folder."""

SCHEMA: Final = 1
"""Version of the manifest's form that this rlx writes and reads."""

MAX_MANIFEST_BYTES: Final = 16 << 20
"""Bytes of a manifest that are read."""

_GENERATOR: Final = "rlx"
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_AGAIN: Final = "emit the model again, into a new folder"
_OURS: Final = "name a folder that rlx emit wrote"
_OWN_KEYS: Final = frozenset(
    {"files", "generator", "input_sha256", "options", "rlx_version", "schema", "target"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Producer:
    """Producer of a folder, and its inputs: the part of a manifest that the emitter knows.

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
    """Contents of ``manifest.json``.

    Attributes:
        producer: Producer of the folder, and its inputs.
        files: Path relative to the folder, with slashes, to hash and size; the manifest left out.
    """

    producer: Producer
    files: Mapping[str, FileEntry]


def load_manifest(folder: Path) -> Manifest:
    """Return the manifest of ``folder``; the files that it lists are not looked at.

    Raises:
        OutputError: There is none, or it is malformed or of another schema.
    """
    return _parse(_load(folder), folder)


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
    names_by_case: dict[str, str] = {MANIFEST: "the manifest"}
    for name in sorted(files):
        _check_path(name)
        other = names_by_case.setdefault(name.casefold(), name)
        if other != name:
            msg = f"file name {name!r} collides with {other!r}"
            raise ValueError(msg)
    for name in files:
        for parent in PurePosixPath(name).parents:
            if str(parent).casefold() in names_by_case:
                msg = f"file name {name!r} needs a folder where there is a file"
                raise ValueError(msg)


def _check_path(name: str) -> None:
    parts = name.split("/")
    unsafe = any(ord(character) < 32 or character in '\\:\x7f"<>|?*' for character in name)
    if unsafe or any(part in ("", ".", "..") or part != part.strip() for part in parts):
        msg = f"file name {name!r} is not a plain relative path"
        raise ValueError(msg)


def file_entry(content: bytes) -> FileEntry:
    """Return the entry of a file that holds ``content``."""
    return FileEntry(hashlib.sha256(content).hexdigest(), len(content))


def holds(path: Path, entry: FileEntry) -> bool:
    """Return whether ``path`` is a file with the content of ``entry``.

    Raises:
        OSError: The file does not exist or cannot be read.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size != entry.bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == entry.sha256


def _load(folder: Path) -> dict[str, Any]:
    """Return the raw manifest of a folder that rlx wrote."""
    where = str(folder / MANIFEST)
    if not folder.exists():
        raise OutputError(f"no folder {str(folder)!r}", hint=similar_name(folder, _OURS))
    try:
        with (folder / MANIFEST).open("rb") as file:
            content = file.read(MAX_MANIFEST_BYTES + 1)
    except OSError as error:
        raise OutputError(
            f"cannot be read: {(error.strerror or str(error)).lower()}",
            where=where,
            hint=_OURS,
        ) from None
    if len(content) > MAX_MANIFEST_BYTES:
        raise OutputError(f"is larger than {MAX_MANIFEST_BYTES} bytes", where=where, hint=_AGAIN)
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or values.get("generator") != _GENERATOR:
        raise OutputError("is not a manifest of rlx", where=where, hint=_OURS)
    if values.get("schema") != SCHEMA:
        raise OutputError(
            f"has schema {values.get('schema')!r}, this rlx reads {SCHEMA}",
            where=where,
            hint=_AGAIN,
        )
    return values


def _parse(values: dict[str, Any], folder: Path) -> Manifest:
    wrong = OutputError("is malformed", where=str(folder / MANIFEST), hint=_AGAIN)
    files, options = values.get("files"), values.get("options")
    if not isinstance(files, dict) or not isinstance(options, dict):
        raise wrong
    for key, kinds in {"rlx_version": str, "target": str, "input_sha256": str | None}.items():
        if not isinstance(values.get(key), kinds):
            raise wrong
    try:
        check_paths(files)
        entries = {name: _file_entry(value) for name, value in sorted(files.items())}
    except ValueError:
        raise wrong from None
    producer = Producer(
        rlx_version=values["rlx_version"],
        target=values["target"],
        input_sha256=values.get("input_sha256"),
        options=options,
        facts={key: value for key, value in values.items() if key not in _OWN_KEYS},
    )
    return Manifest(producer, entries)


def _file_entry(value: object) -> FileEntry:
    """Return one value of ``files``.

    Raises:
        ValueError: It is not an object with a hash and a size.
    """
    match value:
        case {"sha256": str(sha256), "bytes": int(size)} if (
            isinstance(value, dict) and len(value) == 2
        ):
            if _SHA256.fullmatch(sha256) and size >= 0 and not isinstance(size, bool):
                return FileEntry(sha256, size)
    msg = f"expected hash and size, got {value!r}"
    raise ValueError(msg)
