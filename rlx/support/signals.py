"""Signals that end a program, and steps that they must not cut in two.

Tests: tests/unit/support/files/outputs/test_killed.py
"""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

ENDING: Final = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    if hasattr(signal, name)
)
"""Signals that end a program; the last one is that of Ctrl-Break on Windows."""


@contextlib.contextmanager
def signals_deferred() -> Iterator[None]:
    """Call the handlers of signals that come now at the end of the context.

    A signal mask would not do: the system delivers a signal to any thread that does not block it,
    and Python then runs its handler in the main thread.
    """
    came: list[int] = []
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
    try:
        with contextlib.ExitStack() as restored:
            if threading.current_thread() is threading.main_thread():
                for number in ENDING:
                    handler = signal.getsignal(number)
                    if callable(handler):
                        handlers[number] = handler
                        restored.callback(signal.signal, number, handler)
                        signal.signal(number, lambda number, _: came.append(number))
            yield
    finally:
        for number in came:
            handlers[number](number, None)
