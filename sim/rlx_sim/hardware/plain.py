"""Folders whose paths make can handle.

Tests: tests/sim/hardware/test_waves.py
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rlx.support.errors import OutputError
from rlx.support.files.scratch import is_plain, work_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LEFT_OUT: Final = ("sim_build", "__pycache__")


@contextmanager
def plain_folder(folder: Path) -> Iterator[Path]:
    """Yield ``folder`` under an absolute path without spaces and other characters special to make.

    That is the folder itself, or a copy in a temporary folder: a link is not enough, because make
    and Verilator ask the system for the path of their working folder.

    Raises:
        OutputError: It cannot be copied.
    """
    resolved = folder.resolve()
    if is_plain(resolved):
        yield resolved
        return
    with work_folder("copy") as work:
        copy = work / "design"
        try:
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        except OSError as error:
            raise OutputError(
                "cannot be copied to a temporary folder, to be built under a path without special"
                f" characters: {error}",
                where=str(folder),
                hint="move the folder to a path of letters and digits",
            ) from None
        yield copy
