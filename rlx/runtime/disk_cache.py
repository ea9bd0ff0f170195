"""Compiled code on disk, kept from one process to the next.

Backends store the bytes that a compiler returned under a key of all its inputs. An entry holds its
key and a hash of its content: one that is damaged, of another version or of another key is a miss
with a warning, never content. It is written next to its place and renamed, so a process that is
killed leaves no half entry under a key. Several processes and threads may use one folder.

The folder belongs to the user alone (mode 0700). Whoever can write there can run code as the user,
so a folder or entry that others own or may write is not used. The settings ``compile_cache``
(``RLX_COMPILE_CACHE``) and ``compile_cache_mib`` choose the folder and its size; entries unused for
longest are removed first.

::

    cache = disk_cache()
    key = entry_key("native", {"source": text, "compiler": "gcc 14.2", "flags": "-O3 -mavx2"})
    if (content := cache.get(key)) is None:
        content = compiled(text)
        cache.put(key, content)
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import stat
import threading
import warnings
from typing import TYPE_CHECKING, BinaryIO, Final

from rlx.support.config import current
from rlx.support.errors import CacheWarning, OutputError
from rlx.support.files.cache import cache_folder
from rlx.support.files.locks import abandoned
from rlx.support.files.outputs import new_file
from rlx.support.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_FORMAT: Final = b"rlx compiled 1\n"
"""First bytes of an entry, with the version of the format."""

_HASH_BYTES: Final = 32
_HEADER_BYTES: Final = len(_FORMAT) + 2 * _HASH_BYTES
"""Format, key, and hash of key and content; the content follows to the end of the file."""

_KEY: Final = re.compile(r"[0-9a-f]{64}")
_TEMPORARY: Final = re.compile(r"\.[0-9a-f]{64}\.tmp-[0-9a-f]+")


class DiskCache:
    """Entries of bytes in a folder. No method raises an error if the folder cannot be used.

    Attributes:
        folder: The folder, which is made with the first entry; None for a cache that is off.
        max_bytes: Maximum size of all entries; a larger one is not stored.
    """

    def __init__(self, folder: Path | None, max_bytes: int) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self._warned: set[str] = set()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<DiskCache {self.folder or 'off'}>"

    def get(self, key: str) -> bytes | None:
        """Return the content stored under a key, or None.

        Args:
            key: From :func:`entry_key`.
        """
        _check(key)
        if self.folder is None or not self.folder.is_dir() or not self._usable(self.folder):
            return None
        path = self.folder / key
        try:
            with _opened(path) as file:
                content = _content(file, key)
            with contextlib.suppress(OSError):  # a folder that can only be read
                os.utime(path)  # entries unused for longest are removed first
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            self._warn(path.name, f"ignored {path}: {_reason(error)}; it is compiled again")
            return None
        return content

    def put(self, key: str, content: bytes) -> None:
        """Store content under a key, in place of an earlier entry; nothing if it cannot be stored.

        Args:
            key: From :func:`entry_key`.
            content: Bytes to store.
        """
        _check(key)
        if self.folder is None or _HEADER_BYTES + len(content) > self.max_bytes:
            return
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
            if not self._usable(self.folder):
                return
            self._write(self.folder / key, b"".join((_FORMAT, *_sealed(key, content), content)))
            _remove_old(self.folder, self.max_bytes)
        except (OSError, OutputError) as error:
            reason = error.message if isinstance(error, OutputError) else _reason(error)
            self._warn_unused(reason)

    def _write(self, path: Path, entry: bytes) -> None:
        with new_file(path) as temporary:
            temporary.chmod(stat.S_IRUSR | stat.S_IWUSR)
            with temporary.open("wb", buffering=0) as file:
                view = memoryview(entry)
                while view:
                    view = view[file.write(view) :]
                os.fsync(file.fileno())

    def _usable(self, folder: Path) -> bool:
        """Whether only the user can write to the folder; else warn."""
        try:
            reason = _distrust(folder.stat())
        except OSError as error:
            reason = _reason(error)
        if reason:
            self._warn_unused(reason)
        return not reason

    def _warn_unused(self, reason: str) -> None:
        hint = "set RLX_COMPILE_CACHE to a folder of your own, or to off"
        self._warn("", f"compiled code is not kept in {self.folder}: {reason}; {hint}")

    def _warn(self, subject: str, text: str) -> None:
        """Warn once about the folder, and once about each entry."""
        with self._lock:
            if subject in self._warned:
                return
            self._warned.add(subject)
        warnings.warn(text, CacheWarning, stacklevel=2)


def disk_cache() -> DiskCache:
    """Return the cache of the settings, the same object for the same folder and size."""
    settings = current()
    folder: Path | bool | None = settings.compile_cache
    if isinstance(folder, bool):
        base = cache_folder() if folder else None
        folder = None if base is None else base / "compiled"
    return _cache_at(folder, settings.compile_cache_mib << 20)


@functools.lru_cache(maxsize=16)
def _cache_at(folder: Path | None, max_bytes: int) -> DiskCache:
    return DiskCache(folder, max_bytes)


def entry_key(backend: str, parts: Mapping[str, str | bytes]) -> str:
    """Return the key of compiled code, a SHA-256 in hexadecimal digits.

    The version of rlx is always part of it.

    Args:
        backend: Name of the backend.
        parts: All that the code depends on, by name: the graph or source text, options, and the
            versions of the backend and its compiler. A long text may be replaced by its hash.
    """
    digest = hashlib.sha256()
    facts = {"rlx": __version__, "backend": backend, **{f"part {k}": v for k, v in parts.items()}}
    for name, value in sorted(facts.items()):
        for text in (name, value):
            data = text.encode() if isinstance(text, str) else text
            digest.update(b"%s %d\n" % (b"t" if isinstance(text, str) else b"b", len(data)))
            digest.update(data)
    return digest.hexdigest()


def _check(key: str) -> None:
    if not _KEY.fullmatch(key):
        raise ValueError(f"expected a key of entry_key(), got {key!r}")


def _sealed(key: str, content: bytes) -> tuple[bytes, bytes]:
    """Return the key and the hash of an entry as its header holds them."""
    name = bytes.fromhex(key)
    return name, hashlib.sha256(name + content).digest()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open an entry: a regular file of the user, to which nobody else can write.

    Raises:
        OSError: It cannot be opened.
        ValueError: It is something else.
    """
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
        flags |= getattr(os, name, 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a regular file")
        if reason := _distrust(status):
            raise ValueError(reason)
        yield file


def _content(file: BinaryIO, key: str) -> bytes:
    """Return the content of an entry.

    Raises:
        ValueError: It is damaged, or not the entry of this key.
    """
    header = file.read(_HEADER_BYTES)
    if not header.startswith(_FORMAT):
        raise ValueError("it is not an entry of this version of rlx")
    content = file.read()
    if header[len(_FORMAT) :] != b"".join(_sealed(key, content)):
        raise ValueError("it is damaged")
    return content


def _distrust(status: os.stat_result) -> str:
    """Return the reason that others can change a file or folder; empty if they cannot."""
    if not hasattr(os, "geteuid"):  # Windows: the user's folders are private
        return ""
    if status.st_uid != os.geteuid():
        return f"it belongs to user {status.st_uid}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to it (mode {stat.S_IMODE(status.st_mode):04o})"
    return ""


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:1].lower() + text[1:]


def _remove_old(folder: Path, max_bytes: int) -> None:
    """Remove entries unused for longest, and temporary files of dead processes."""
    entries: list[tuple[int, int, Path]] = []
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # removed by another process
            if _KEY.fullmatch(path.name):
                status = path.lstat()
                entries.append((status.st_mtime_ns, status.st_size, path))
            elif _TEMPORARY.fullmatch(path.name):
                with abandoned(path) as free:
                    if free:
                        path.unlink()
    excess = sum(size for _, size, _ in entries) - max_bytes
    for _, size, path in sorted(entries):
        if excess <= 0:
            break
        path.unlink(missing_ok=True)
        excess -= size
