"""Progress as lines of JSON on standard error, for other programs.

Tests: tests/cli/test_progress.py
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from typing import TYPE_CHECKING, Final, Literal

from rlx.cli.running_step import RunningStep
from rlx.support.steps import Steps

if TYPE_CHECKING:
    from typing import TextIO

    State = Literal["running", "done", "failed"]

_PAUSE_S: Final = 0.2
"""Seconds between two lines on one step."""


class JsonSteps(Steps):
    """Writes an object for the beginning and the end of each step, and up to five a second between.

    The schema is ``progress.json`` in the folder that ``rlx paths --schemas`` names.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._step = RunningStep()
        self._expected: float | None = None
        self._written = 0.0
        self._lock = threading.RLock()

    def __call__(self, text: str) -> None:
        """Begin a step; the one before has ended."""
        with self._lock:
            self._end("done")
            self._step = RunningStep(text)
            self._write("running")

    def detail(self, text: str) -> None:
        """Write the state of the step."""
        with self._lock:
            self._step.detail = text
            self._write_now_and_then()

    def count(self, completed: int, total: int) -> None:
        """Write how much of the step is done."""
        with self._lock:
            self._step.count(completed, total)
            self._write_now_and_then()

    def expect(self, seconds: float, advice: str = "") -> None:
        """Add the time that everything will take to the lines that follow."""
        del advice
        self._expected = seconds

    def close(self, *, succeeded: bool) -> None:
        """End the last step."""
        with self._lock:
            self._end("done" if succeeded else "failed")

    def _end(self, state: State) -> None:
        if self._step.text:
            self._write(state)
        self._step = RunningStep()

    def _write_now_and_then(self) -> None:
        if self._step.text and time.monotonic() - self._written >= _PAUSE_S:
            self._write("running")

    def _write(self, state: State) -> None:
        step = self._step
        self._written = time.monotonic()
        remaining = step.remaining if state == "running" else None
        fields = {
            "step": step.text,
            "state": state,
            "done": step.completed if step.total else None,
            "total": step.total or None,
            "seconds": round(step.seconds, 3),
            "remaining": None if remaining is None else round(remaining, 3),
            "detail": step.detail,
            "expected": self._expected,
        }
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(json.dumps({"progress": fields}) + "\n")
            self._stream.flush()
