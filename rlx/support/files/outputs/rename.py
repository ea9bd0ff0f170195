"""Exchange of two folders in one step, if the system supports it.

Tests: tests/unit/support/files/outputs/test_killed.py
"""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
_UNKNOWN: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP})


def exchange(path: Path, other: Path) -> bool:
    """Exchange two paths in one step (Linux, ``renameat2``).

    Returns:
        False if the system or the file system does not support it; nothing was changed then.

    Raises:
        OSError: It failed for another reason.
    """
    call = _renameat2()
    if call is None:
        return False
    status = call(
        _AT_FDCWD, os.fsencode(path), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE
    )  # fmt: skip
    if status == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNKNOWN:
        return False
    raise OSError(number, os.strerror(number), str(path), None, str(other))


@cache
def _renameat2() -> Any:  # noqa: ANN401 - a function of the C library, or None
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None
    call.argtypes = (
        ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint,
    )  # fmt: skip
    return call
