"""Open a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.errors import FrontendError, UsageError
from rlx.frontends.limits import DEFAULT_LIMITS, MIB, Limits
from rlx.frontends.text import printable, shorten

if TYPE_CHECKING:
    from pathlib import Path


def read_bytes(path: Path, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """Return the content of a file that is not larger than the limit.

    Raises:
        UsageError: It cannot be opened or read.
        FrontendError: It is too large.
    """
    # One byte more than allowed tells a file that is too large, whatever its metadata says.
    data = read_start(path, limits.file_bytes + 1)
    if len(data) > limits.file_bytes:
        raise FrontendError(
            f"the file has more than {limits.file_bytes} bytes, the limit",
            where=shorten(printable(path.name)),
        )
    return data


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
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot be read: {reason}", where=shorten(printable(path.name))) from None
