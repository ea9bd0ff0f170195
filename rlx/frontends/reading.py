"""Open a model file.

Tests: tests/unit/frontends/test_registry.py
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rlx.support.errors import FrontendError, UsageError
from rlx.support.files.missing import missing_file
from rlx.support.limits import DEFAULT_LIMITS, MIB, Limits, raise_hint
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from pathlib import Path


def read_bytes(path: Path, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """Return the content of a file that is not larger than the limit.

    Raises:
        UsageError: It cannot be opened or read.
        FrontendError: It is too large.
    """
    # One byte beyond the limit shows that a file is too large, even if its metadata are wrong.
    data = read_start(path, limits.file_bytes + 1)
    if len(data) > limits.file_bytes:
        raise _too_large(path, limits)
    return data


def check_size(path: Path, limits: Limits = DEFAULT_LIMITS) -> None:
    """Check a file that another reader opens.

    Raises:
        UsageError: It cannot be found.
        FrontendError: It is too large.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise _unreadable(path, error) from None
    if size > limits.file_bytes:
        raise _too_large(path, limits)


def read_start(path: Path, size: int) -> bytes:
    """Return at most the first ``size`` bytes of a file.

    Raises:
        UsageError: It cannot be opened or read.
    """
    try:
        with path.open("rb") as file:
            # In pieces: one read of the limit's size would allocate all of it beforehand.
            pieces = []
            while size > 0 and (piece := file.read(min(size, MIB))):
                pieces.append(piece)
                size -= len(piece)
            return b"".join(pieces)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def read_end(path: Path, size: int) -> bytes:
    """Return at most the last ``size`` bytes of a file.

    Raises:
        UsageError: It cannot be opened or read.
    """
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - size))
            return file.read(size)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError | ValueError) -> UsageError:
    if isinstance(error, FileNotFoundError):
        return missing_file(path, "give the path of a model file")
    reason = error.strerror if isinstance(error, OSError) else error
    return UsageError(
        f"cannot be read: {reason}",
        where=shorten(printable(path.name)),
        hint="give the path of a model file that you may read",
    )


def _too_large(path: Path, limits: Limits) -> FrontendError:
    return FrontendError(
        f"the file has more than {limits.file_bytes} bytes, the limit",
        where=shorten(printable(path.name)),
        hint=raise_hint("file_bytes"),
    )
