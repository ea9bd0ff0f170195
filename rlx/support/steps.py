"""Progress reports of work that takes a while.

Functions accept ``progress: Callable[[str], None] | None`` and call it with each step. A display of
more than a text is a :class:`Steps`, which is such a function too; :func:`steps_of` makes one of
any.

Tests: tests/cli/test_progress.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Steps:
    """Reports steps, one after the other. This class shows none; others override its methods."""

    def __call__(self, text: str) -> None:
        """Begin a step, which ends the one before: ``yosys: ecp5-85k``."""

    def detail(self, text: str) -> None:
        """Report the state of the current step: ``routing, 4,200 arcs left``; often is fine."""

    def expect(self, seconds: float, advice: str = "") -> None:
        """Announce the length of all steps.

        Args:
            seconds: Time, from measurements; never a guess.
            advice: Advice on making it shorter; may be empty.
        """


class _CallbackSteps(Steps):
    """Steps for a plain function, which gets the texts alone."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show

    def __call__(self, text: str) -> None:
        self._show(text)


def steps_of(progress: Callable[[str], None] | None) -> Steps:
    """Return any kind of ``progress`` as :class:`Steps`."""
    if progress is None:
        return Steps()
    return progress if isinstance(progress, Steps) else _CallbackSteps(progress)


def length_text(seconds: float) -> str:
    """Return a length of time in words, rounded: ``about 40 seconds``, ``about 3 minutes``."""
    if seconds < 55:
        return f"about {max(10, 10 * round(seconds / 10))} seconds"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"about {minutes} minute{'s' if minutes > 1 else ''}"
    return f"about {seconds / 3600:.2g} hours"
