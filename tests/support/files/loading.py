"""Cost of loading files, measured in a process that does nothing else."""

from __future__ import annotations

import contextlib
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING

from rlx import frontends
from rlx.support.errors import FrontendError, UnsupportedOpError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def cost_of_loading(paths: Sequence[Path]) -> tuple[dict[str, float], int]:
    """Return processor seconds for each file, by its name, and the peak of memory in bytes.

    A file may be refused. The process is a new one: its peak is not that of earlier tests.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(_load, paths).result()


def _load(paths: Sequence[Path]) -> tuple[dict[str, float], int]:
    seconds = {}
    for path in (paths[0], *paths):  # the first one twice: it imports the frontend
        start = time.process_time()
        with contextlib.suppress(FrontendError, UnsupportedOpError):
            frontends.load(path)
        seconds[path.name] = time.process_time() - start
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
