"""One weight: where it comes from, its array once it was read, and who holds it.

Tests: tests/unit/frontends/weights/test_store.py
"""

from __future__ import annotations

import mmap
import os
import threading
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rlx.support.errors import FrontendError, UsageError
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rlx.ir import Array, TensorType


def quoted(name: str) -> str:
    """Return a name of a file as messages show it."""
    return repr(shorten(printable(name)))


def shown(path: Path) -> str:
    """Return the name of a file as messages show it."""
    return shorten(printable(path.name))


@dataclass(eq=False, slots=True)
class Weight:
    """A weight, with one or more names.

    Attributes:
        type: Shape and element type.
        path: The file that it comes from; None for an array in memory.
        read: Reads it; None for an array in memory, which cannot be read again.
        array: The elements, read-only; None if they are not in memory.
        pins: Number of pins that hold the array in memory.
        lock: Held while any of this changes.
    """

    type: TensorType
    path: Path | None = None
    read: Callable[[], Array] | None = None
    array: Array | None = None
    pins: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def get(self, *, pin: bool = False) -> Array:
        """Return the elements, the same array until it is released.

        Args:
            pin: Whether one more holds it.

        Raises:
            FrontendError: The file is damaged, or was changed.
        """
        with self.lock:
            if self.array is None:
                assert self.read is not None
                array = self.read()
                array.flags.writeable = False
                self.array = array
            self.pins += pin
            return self.array

    def unpin(self, name: str) -> None:
        """Release one holder.

        Raises:
            UsageError: There is none.
        """
        with self.lock:
            if not self.pins:
                raise UsageError(
                    f"weight {quoted(name)} is not pinned", hint="call unpin() once for each pin()"
                )
            self.pins -= 1

    def release(self) -> int:
        """Forget the array if it can be read again and nobody holds it; return its bytes, or 0."""
        with self.lock:
            if self.array is None or self.read is None or self.pins:
                return 0
            self.array = None
            return self.type.nbytes


class MappedFile:
    """A file whose bytes are mapped into memory as long as somebody reads them.

    Attributes:
        path: The file.
        size: Its bytes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._identity = _identity(path.stat())
        self.size = self._identity[0]
        self._map: Callable[[], mmap.mmap | None] = lambda: None
        self._lock = threading.Lock()

    def view(self, start: int, nbytes: int) -> memoryview:
        """Return bytes of the file; it stays mapped as long as anything refers to them.

        Raises:
            FrontendError: The file was removed or replaced.
        """
        if not nbytes:
            return memoryview(b"")
        with self._lock:
            mapping = self._map()
            if mapping is None:
                mapping = self._mapped()
                self._map = weakref.ref(mapping)
            return memoryview(mapping)[start : start + nbytes]

    def _mapped(self) -> mmap.mmap:
        try:
            with self.path.open("rb") as file:
                if _identity(os.fstat(file.fileno())) != self._identity:
                    raise self._refused("has changed since it was opened")
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise self._refused(f"cannot be read any more: {error.strerror}") from None

    def _refused(self, message: str) -> FrontendError:
        return FrontendError(
            message, where=shown(self.path), hint="open the weights again with WeightStore.open"
        )


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    """Return the figures that differ between two files, or two contents of one."""
    return status.st_size, status.st_mtime_ns, status.st_ino
