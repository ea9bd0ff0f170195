"""Lines of ``--progress json``.

Tests: tests/cli/test_progress.py
"""

from __future__ import annotations

from typing import Literal, TypedDict


class ProgressParts(TypedDict):
    """State of a step.

    ``done`` of ``total`` units of work are completed, null where they are not counted; ``seconds``
    have passed since the step began, and ``remaining`` is the time to its end at the present rate,
    null while it is not known. ``expected`` is the time of all steps together, null likewise.
    """

    step: str
    state: Literal["running", "done", "failed"]
    done: int | None
    total: int | None
    seconds: float
    remaining: float | None
    detail: str
    expected: float | None


class Progress(TypedDict):
    """A line on standard error with ``--progress json``; other lines are messages for people."""

    progress: ProgressParts
