"""Cost of loading files, measured in a process that does nothing else."""

from __future__ import annotations

import contextlib
import re
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from rlx import frontends
from rlx.support.errors import FrontendError, UnsupportedOpError

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    return seconds, _peak_bytes()


def _peak_bytes() -> int:
    # Of this program alone: ru_maxrss keeps the peak of the process that started it (exec(2)).
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024
