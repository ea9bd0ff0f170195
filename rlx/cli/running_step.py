"""State of the step that a command is in: how long it runs, how much is done, what remains.

Tests: tests/cli/test_progress.py
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from rlx.support.text.tables import printable

_MIN_SECONDS: Final = 1.0
"""Time of a step before a rate is taken from it."""
_BAR: Final = ("━", "─")
_PLAIN_BAR: Final = ("#", "-")
_BAR_WIDTH: Final = 16


@dataclass(slots=True)
class RunningStep:
    """A step since its beginning.

    Attributes:
        text: Name of the step; empty before the first one.
        detail: State of the step in words.
        completed: Units of work that are done.
        total: Units of work of the step; 0 if they are not counted.
        started: Time of the beginning, of ``time.monotonic``.
        counted: First count and its time: what comes before it, such as a compilation, is not part
            of the rate.
    """

    text: str = ""
    detail: str = ""
    completed: int = 0
    total: int = 0
    started: float = field(default_factory=time.monotonic)
    counted: tuple[int, float] | None = None

    def __post_init__(self) -> None:
        self.text = printable(self.text)

    def count(self, completed: int, total: int) -> None:
        """Set how much of the work is done."""
        self.completed, self.total = completed, total
        if self.counted is None:
            self.counted = completed, time.monotonic()

    @property
    def seconds(self) -> float:
        """Time since the beginning."""
        return time.monotonic() - self.started

    @property
    def rate(self) -> float | None:
        """Units of work in a second; None while it is not known."""
        if self.counted is None:
            return None
        count, seconds = self.completed - self.counted[0], time.monotonic() - self.counted[1]
        return count / seconds if count and seconds >= _MIN_SECONDS else None

    @property
    def remaining(self) -> float | None:
        """Seconds to the end at the present rate; None while it is not known."""
        rate = self.rate
        return None if rate is None else (self.total - self.completed) / rate

    @property
    def figures(self) -> str:
        """Count, rate and remaining time as far as they are known, and the detail."""
        parts = [self.detail] if self.detail else []
        if self.total:
            parts.append(f"{self.completed:,} of {self.total:,}")
        if (rate := self.rate) is not None:
            parts.append(_rate_text(rate))
        if self.remaining is not None and self.completed < self.total:
            parts.append(f"{time_text(self.remaining)} left")
        return ", ".join(parts)

    def bar(self, *, plain: bool) -> str:
        """Return the share that is done as a bar; empty where work is not counted."""
        if not self.total:
            return ""
        full, rest = _PLAIN_BAR if plain else _BAR
        places = _BAR_WIDTH * min(self.completed, self.total) // self.total
        return full * places + rest * (_BAR_WIDTH - places)


def time_text(seconds: float) -> str:
    """Return a time: ``3.2 s``, ``45 s``, ``12 min``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 599.5 else f"{seconds / 60:,.0f} min"


def _rate_text(rate: float) -> str:
    if rate >= 10:
        return f"{rate:,.0f}/s"
    return f"{rate:.1f}/s" if rate >= 1 else f"{1 / rate:.1f} s each"
