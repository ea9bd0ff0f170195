"""Steps with their times, on standard error.

On a terminal the running step is one line that is drawn again and again, with a bar, the rate and
the remaining time where work is counted; in a pipe or a file each step is a line when it ends, and
a long one gives a sign of life from time to time. ``--progress`` chooses otherwise.
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

from rlx.cli.progress_json import JsonSteps
from rlx.cli.quiet import is_quiet
from rlx.cli.running_step import RunningStep, time_text
from rlx.support.steps import Steps, length_text, reporting
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
        beginnings: Whether each step gets a line when it begins too, where nothing is drawn again.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        live: bool,
        minimum_s: float = 0.0,
        life_s: float = LIFE_S,
        beginnings: bool = False,
    ) -> None:
        self._stream = stream
        self._live = live
        self._minimum_s = minimum_s
        self._beginnings = beginnings
        self._interval_s = _FRAME_S if live else life_s
        self._step = RunningStep()
        self._end_expected = 0.0
        self._frame = 0
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._repeat, daemon=True)
        self._thread.start()

    def __call__(self, text: str) -> None:
        """Begin a step; the one before has ended."""
        with self._lock:
            self._end(succeeded=True)
            self._step = RunningStep(text)
            if self._beginnings and not self._live:
                self._write(f"{self._step.text} ...\n")
            self._draw()

    def detail(self, text: str) -> None:
        """Set the text on the progress of the current step; it is shown at the next drawing."""
        self._step.detail = printable(text)

    def count(self, completed: int, total: int) -> None:
        """Set how much of the current step is done; it is shown at the next drawing."""
        with self._lock:
            self._step.count(completed, total)

    def expect(self, seconds: float, advice: str = "") -> None:
        """Write the time that everything will take, if that is worth a line."""
        if seconds < max(_EXPECTED_S, self._minimum_s):
            return
        with self._lock:
            self._end_expected = time.monotonic() + seconds
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
                elif self._step.text and self._step.seconds >= 0.95 * self._interval_s:
                    self._write(f"still {self._current()}\n")

    def _pause_s(self) -> float:
        """Return the time to the next drawing, or to the next multiple of the interval."""
        if self._live or not self._step.text:
            return self._interval_s
        return self._interval_s - self._step.seconds % self._interval_s

    def _current(self) -> str:
        """Return the running step with its time and its figures."""
        figures = f" ({self._figures()})" if self._figures() else ""
        return f"{self._step.text}, {time_text(self._step.seconds)}{figures}"

    def _figures(self) -> str:
        """Return the figures of the running step, without a count the time of all steps left."""
        rest = self._end_expected - time.monotonic()
        whole = f"{length_text(rest)} left in all" if rest > 0 and not self._step.total else ""
        return ", ".join(filter(None, (self._step.figures, whole)))

    def _draw(self) -> None:
        """Draw the line of the running step."""
        step = self._step
        if not self._live or not step.text:
            return
        plain = not _can_show(self._stream, _SPINNER)
        marks = _PLAIN_SPINNER if plain else _SPINNER
        parts = [
            f"{marks[self._frame % len(marks)]} {step.text}",
            step.bar(plain=plain),
            self._figures(),
        ]
        rest = f"  {time_text(step.seconds)}"
        mark = "…" if _can_show(self._stream, "…") else ".."
        line = shortened("  ".join(filter(None, parts)), _width(self._stream) - len(rest) - 1, mark)
        self._write(line + rest)

    def _end(self, *, succeeded: bool) -> None:
        """Write the line of the step that has ended."""
        step, self._step = self._step, RunningStep()
        seconds = step.seconds
        if not step.text or seconds < self._minimum_s:
            return
        if self._live:
            self._write(f"{self._mark(succeeded=succeeded)} {step.text}  {time_text(seconds)}\n")
        else:
            how = "" if succeeded else "failed after "
            self._write(f"{step.text}: {how}{time_text(seconds)}\n")

    def _mark(self, *, succeeded: bool) -> str:
        signs = ("✓", "✗") if _can_show(self._stream, "✓✗") else ("ok", "failed:")
        text = signs[0] if succeeded else signs[1]
        return text if os.environ.get("NO_COLOR") else click.style(text, fg=_COLORS[succeeded])

    def _write(self, text: str) -> None:
        """Write over the line of the running step. A stream that is gone is not an error."""
        with contextlib.suppress(OSError, ValueError):
            self._stream.write((_ERASE if self._live else "") + text)
            self._stream.flush()


_COLORS: Final = {True: "green", False: "red"}


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


MODES: Final = ("auto", "bar", "plain", "json", "none")
"""Values of ``--progress``."""

_MODE: Final = "rlx.progress"
"""Entry of the context's ``meta``."""


def _keep_mode(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    del param
    if value is not None:
        ctx.meta[_MODE] = value


progress_option = click.option(
    "--progress",
    type=click.Choice(MODES),
    expose_value=False,
    callback=_keep_mode,
    help="Form of the steps on standard error: bar (drawn again and again), plain (a line when each"
    " begins and ends), json (an object a line) or none.  [default: auto, by terminal]",
)


def _mode() -> str:
    """Return the value of ``--progress``."""
    ctx = click.get_current_context(silent=True)
    mode: str = "none" if is_quiet() else "auto" if ctx is None else ctx.meta.get(_MODE, "auto")
    return mode


def _shown_steps(*, enabled: bool, minimum_s: float | None) -> StepList | JsonSteps | None:
    """Return the steps as the options, the stream and the command want them; None for silence."""
    stream, mode = sys.stderr, _mode()
    if stream is None or mode == "none":
        return None
    if mode == "json":
        return JsonSteps(stream)
    if mode == "plain":
        return StepList(stream, live=False, beginnings=True)
    live = mode == "bar"
    if mode == "auto":
        live = stream.isatty() and os.environ.get("TERM") != "dumb"
        minimum_s = minimum_s if enabled else _LINE_AFTER_S
    return StepList(stream, live=live, minimum_s=_SHORT_S[live] if minimum_s is None else minimum_s)


@contextmanager
def progress(*, enabled: bool = True, minimum_s: float | None = None) -> Iterator[Steps]:
    """Yield the object that reports the steps of a command on standard error.

    ``--quiet`` turns it off, and ``--progress`` chooses its form.

    Args:
        enabled: False where the output is for a program: only steps that take long are lines,
            unless ``--progress`` asks for others.
        minimum_s: Steps that take less leave no line; None for a command that seldom takes long.
    """
    steps = _shown_steps(enabled=enabled, minimum_s=minimum_s)
    if steps is None:
        yield Steps()
        return
    succeeded = False
    try:
        with reporting(steps):
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
            if total > 1:
                steps.count(count, total)

        yield show
