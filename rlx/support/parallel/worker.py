"""Worker process of a pool: it ends when its parent says so, with all that it started.

A signal of the terminal reaches every process of a group. Workers ignore it: the parent ends them
with SIGTERM, at which a running task cleans up, as at an error.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from multiprocessing import parent_process
from typing import TYPE_CHECKING, TypeVar

from rlx.support.parallel.tasks import run_call

if TYPE_CHECKING:
    from types import FrameType

    from rlx.support.parallel.tasks import Call

T = TypeVar("T")
R = TypeVar("R")

BLOCKED = {signal.SIGINT}
"""Signals that a worker does not receive while it starts."""

STATUS = 128 + signal.SIGTERM
"""Exit status of a worker that its parent ended."""


class _Ended(BaseException):
    """The parent ends this process."""


_busy = threading.Event()
"""Whether a task is running, which cleans up."""


def initialize() -> None:
    """Prepare a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def run_in_process(call: Call[T, R]) -> R:
    """Run a task, and end this process if the parent says so meanwhile."""
    try:
        _busy.set()
        return run_call(call)
    except _Ended:
        pass
    finally:
        _busy.clear()
    # The exception is gone, and with it the frames that it held: a context whose ``with`` statement
    # the signal came before is closed by this. Exiting in the handler above would leave its folder.
    gc.collect()
    os._exit(STATUS)


def _end(number: int, frame: FrameType | None) -> None:
    del number, frame
    if _busy.is_set():
        raise _Ended
    os._exit(STATUS)


def _end_with_parent() -> None:
    """End this process when the parent has ended, however that happened."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
