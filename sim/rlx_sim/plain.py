"""Paths that make can build from."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rlx.scratch import is_plain, work_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def plain_path(folder: Path) -> Iterator[Path]:
    """Yield an absolute path to ``folder`` without spaces and other characters special to make.

    That is the folder's own path, or a link to it in a temporary folder. It must not be resolved.
    """
    absolute = folder.absolute()
    if is_plain(absolute):
        yield absolute
        return
    with work_folder("link") as work:
        link = work / "design"
        link.symlink_to(absolute, target_is_directory=True)
        yield link
