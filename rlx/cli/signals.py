"""Signals that end the command line: TERM and HUP clean up as INT does."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from typing import TYPE_CHECKING, Final

from rlx.support.signals import ENDING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_REPEATED_S: Final = 2.0
"""Seconds in which further signals count as the first one."""


class Ended(BaseException):
    """A signal asked the command to end. Not an error: only the command line may catch it.

    The exit status is 128 plus the number of the signal, as in a shell.

    Attributes:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def exit_status(self) -> int:
        """128 plus the number of the signal."""
        return 128 + self.number

    def __str__(self) -> str:
        if self.number == signal.SIGINT:
            return "interrupted"
        return f"ended by {signal.Signals(self.number).name}"


@contextlib.contextmanager
def raised(*, at_end_of_program: bool = False) -> Iterator[None]:
    """Raise :class:`Ended` for each signal that ends a program, so that all is cleaned up.

    Ignored signals stay ignored (``nohup``, a shell's background). Handlers belong to the main
    thread: in other threads nothing changes.

    Args:
        at_end_of_program: The program ends after this: further signals after the first are ignored,
            because they would change the program's exit status.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    first: list[float] = []

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        # ``timeout`` and terminals send a signal twice; the second must not stop the cleanup.
        now = time.monotonic()
        if not first or now - first[0] > _REPEATED_S:
            first[:] = [now]
            raise Ended(number)

    before = {number: signal.getsignal(number) for number in ENDING}
    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, handle)
        yield
    finally:
        ending = at_end_of_program and first
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if ending else handler)
