"""Steps with their times, on standard error.

On a terminal the running step is one line that is drawn again and again; in a pipe or a file each
step is a line when it ends, and a long one gives a sign of life from time to time.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

import click

from rlx.cli.quiet import is_quiet
from rlx.support.steps import Steps, length_text
from rlx.support.text.tables import printable, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIFE_S: Final = 30.0
"""Seconds between two signs of life where there is no terminal."""

_FRAME_S: Final = 0.1
"""Seconds between two drawings on a terminal."""
_LINE_AFTER_S: Final = 30.0
"""Seconds from which on a step gets a line although the output is for a program."""
_SHORT_S: Final = {True: 1.0, False: 10.0}
"""Seconds of short steps on a terminal (True), where a line does no harm, and elsewhere."""
_EXPECTED_S: Final = 20.0
"""Seconds from which on the expected time is worth a line."""
_SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_SPINNER: Final = "|/-\\"
_ERASE: Final = "\r\x1b[K"


class StepList(Steps):
    """Writes steps with their times to a stream, until it is closed.

    Args:
        stream: Stream to write to; nothing else should be written to it meanwhile.
        live: Whether it is a terminal, on which a line can be drawn again.
        minimum_s: Steps that take less are shown only while they run.
        life_s: Seconds between two signs of life where nothing is drawn again.
    """

    def __init__(
        self, stream: TextIO, *, live: bool, minimum_s: float = 0.0, life_s: float = LIFE_S
    ) -> None:
        self._stream = stream
        self._live = live
        self._minimum_s = minimum_s
        self._interval_s = _FRAME_S if live else life_s
        self._text = ""
        self._detail = ""
        self._started = 0.0
        self._frame = 0
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._repeat, daemon=True)
        self._thread.start()

    def __call__(self, text: str) -> None:
        """Begin a step; the one before has ended."""
        with self._lock:
            self._end(succeeded=True)
            self._text, self._detail, self._started = printable(text), "", time.monotonic()
            self._draw()

    def detail(self, text: str) -> None:
        """Set the text on the progress of the current step; it is shown at the next drawing."""
        self._detail = printable(text)

    def expect(self, seconds: float, advice: str = "") -> None:
        """Write the time that everything will take, if that is worth a line."""
        if seconds < max(_EXPECTED_S, self._minimum_s):
            return
        with self._lock:
            self._write(length_text(seconds) + (f"; {advice}" if advice else "") + "\n")
            self._draw()

    def close(self, *, succeeded: bool) -> None:
        """End the last step; ``succeeded`` is whether it did what it should."""
        self._closed.set()
        self._thread.join()
        with self._lock:
            self._end(succeeded=succeeded)
            if self._live:
                self._write("")

    def _repeat(self) -> None:
        while not self._closed.wait(self._pause_s()):
            with self._lock:
                if self._live:
                    self._frame += 1
                    self._draw()
                elif self._text and self._seconds() >= 0.95 * self._interval_s:
                    self._write(f"still {self._current()}\n")

    def _pause_s(self) -> float:
        """Return the time to the next drawing, or to the next multiple of the interval."""
        if self._live or not self._text:
            return self._interval_s
        return self._interval_s - self._seconds() % self._interval_s

    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _current(self) -> str:
        """Return the running step with its time and its detail."""
        detail = f" ({self._detail})" if self._detail else ""
        return f"{self._text}, {_time_text(self._seconds())}{detail}"

    def _draw(self) -> None:
        """Draw the line of the running step."""
        if not self._live or not self._text:
            return
        marks = _SPINNER if _can_show(self._stream, _SPINNER) else _PLAIN_SPINNER
        line = f"{marks[self._frame % len(marks)]} {self._text}"
        rest = f"  {_time_text(self._seconds())}"
        if self._detail:
            line += f"  {self._detail}"
        mark = "…" if _can_show(self._stream, "…") else ".."
        self._write(shortened(line, _width(self._stream) - len(rest) - 1, mark) + rest)

    def _end(self, *, succeeded: bool) -> None:
        """Write the line of the step that has ended."""
        seconds = self._seconds()
        if not self._text or seconds < self._minimum_s:
            self._text = ""
            return
        if self._live:
            self._write(f"{self._mark(succeeded=succeeded)} {self._text}  {_time_text(seconds)}\n")
        else:
            how = "" if succeeded else "failed after "
            self._write(f"{self._text}: {how}{_time_text(seconds)}\n")
        self._text = ""

    def _mark(self, *, succeeded: bool) -> str:
        signs = ("✓", "✗") if _can_show(self._stream, "✓✗") else ("ok", "failed:")
        text = signs[0] if succeeded else signs[1]
        return text if os.environ.get("NO_COLOR") else click.style(text, fg=_COLORS[succeeded])

    def _write(self, text: str) -> None:
        """Write over the line of the running step. A stream that is gone is no error."""
        with contextlib.suppress(OSError, ValueError):
            self._stream.write((_ERASE if self._live else "") + text)
            self._stream.flush()


_COLORS: Final = {True: "green", False: "red"}


def _time_text(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"


def _can_show(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _width(stream: TextIO) -> int:
    """Return the places in a line of a terminal."""
    with contextlib.suppress(OSError, ValueError):
        return max(20, int(os.environ.get("COLUMNS", "")))
    with contextlib.suppress(OSError, ValueError):
        return max(20, os.get_terminal_size(stream.fileno()).columns)
    return 80


@contextmanager
def progress(*, enabled: bool = True, minimum_s: float | None = None) -> Iterator[Steps]:
    """Yield the object that reports the steps of a command on standard error.

    ``rlx --quiet`` turns it off.

    Args:
        enabled: False where the output is for a program: only steps that take long are lines.
        minimum_s: Steps that take less leave no line; None for a command that seldom takes long.
    """
    stream = sys.stderr
    if stream is None or is_quiet():
        yield Steps()
        return
    live = stream.isatty() and os.environ.get("TERM") != "dumb"
    if not enabled:
        minimum_s = _LINE_AFTER_S
    elif minimum_s is None:
        minimum_s = _SHORT_S[live]
    steps = StepList(stream, live=live, minimum_s=minimum_s)
    succeeded = False
    try:
        yield steps
        succeeded = True
    finally:
        steps.close(succeeded=succeeded)


@contextmanager
def progress_bar(*, enabled: bool = True) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function for a text, what is done and what there is to do.

    Each new text is a step; arguments as :func:`progress`.
    """
    with progress(enabled=enabled) as steps:
        current = ""

        def show(text: str, count: int, total: int) -> None:
            nonlocal current
            if text != current:
                current = text
                steps(text)
            steps.detail(f"{count:,} of {total:,}" if total > 1 else "")

        yield show
