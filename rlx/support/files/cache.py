"""A folder of results that need not be computed again, in the user's cache folder.

An entry is found by the hash of its inputs. It is written in one step, checked when it is read, and
ignored if anything is wrong with it; a folder that cannot be written is not an error. The entries
that were not used for longest are removed when there are too many.

The setting ``cache`` (``RLX_CACHE``) chooses another folder, or none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rlx.support.config import current
from rlx.support.errors import OutputError
from rlx.support.files.outputs import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_ENTRIES: Final = 256
"""Entries of each kind that are kept."""

MAX_ENTRY_BYTES: Final = 1 << 20
"""Bytes of an entry; a larger result is not kept."""

_SCHEMA: Final = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """A result from the cache.

    Attributes:
        result: Result that was stored.
        computed_at: Time at which it was computed, as ``2026-11-23 07:41 UTC``.
    """

    result: Mapping[str, Any]
    computed_at: str


def cache_folder() -> Path | None:
    """Return the folder of the cache, whether it exists or not; None if it is switched off.

    That of the settings, or ``rlx`` in the system's place for caches: ``XDG_CACHE_HOME`` or
    ``~/.cache``, ``~/Library/Caches`` on macOS, ``LOCALAPPDATA`` on Windows.
    """
    setting = current().cache
    if isinstance(setting, Path):
        return setting
    if not setting:
        return None
    system_folder = os.environ.get(
        "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", ""
    )
    if system_folder and Path(system_folder).is_absolute():
        return Path(system_folder) / "rlx"
    try:
        home = Path.home()
    except RuntimeError:  # no home folder is known
        return None
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "rlx"


def key_of(facts: Mapping[str, Any]) -> str:
    """Return the key of a result that depends on ``facts`` (JSON values): a SHA-256 in hex."""
    return _hash({"schema": _SCHEMA, **facts})


def recall(kind: str, key: str) -> Entry | None:
    """Return an entry, or None if there is none that is whole.

    Args:
        kind: A folder's name, such as ``verify``.
        key: From :func:`key_of`.
    """
    path = _path(kind, key)
    if path is None:
        return None
    with contextlib.suppress(OSError, ValueError, RecursionError):
        content = json.loads(_bytes(path))
        match content:
            case {"key": str(found), "made": str(made), "result": dict(result), "hash": str(check)}:
                if found == key and check == _hash([found, made, result]):
                    # The time of the last use decides which entries are removed.
                    os.utime(path)
                    return Entry(result, made)
    return None


def keep(kind: str, key: str, result: Mapping[str, Any]) -> None:
    """Store a result (JSON values); do nothing where that is not possible."""
    path = _path(kind, key)
    time = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    text = json.dumps({"key": key, "made": time, "result": result,
                       "hash": _hash([key, time, result])})  # fmt: skip
    if path is None or len(text) > MAX_ENTRY_BYTES:
        return
    with contextlib.suppress(OSError, OutputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, text.encode())
        _remove_old(path.parent)


def _path(kind: str, key: str) -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / kind / f"{key}.json"


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        # Bounded: a longer file is cut, and then invalid JSON.
        return file.read(MAX_ENTRY_BYTES + 1)


def _hash(values: object) -> str:
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _remove_old(folder: Path) -> None:
    """Remove the entries that were not used for longest."""
    entries = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    for path in entries[:-MAX_ENTRIES]:
        path.unlink(missing_ok=True)
