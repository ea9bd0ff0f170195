"""Suggestions for a name that nothing is called by.

Tests: tests/cli/test_did_you_mean.py
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_MIN_SIMILARITY: Final = 0.6
"""Ratio of ``difflib`` from which a name is suggested; 1 for equal names."""


def closest(name: str, known: Iterable[str], *, alike: float = _MIN_SIMILARITY) -> str | None:
    """Return the one of ``known`` that is most like ``name``; None if none is.

    Args:
        name: The unknown name.
        known: Valid names.
        alike: Minimum similarity of two names, from 0 to 1.
    """
    by_lower = {one.lower(): str(one) for one in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=alike)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str], *, what: str) -> str:
    """Return a hint for an unknown name: the closest one, and all that are known.

    Args:
        name: The unknown name.
        known: Valid names, in the order of the hint.
        what: Word for them, as the hint begins: ``targets``.
    """
    names = [str(one) for one in known]
    guess = closest(name, names)
    listed = f"{what}: {', '.join(names)}"
    return f"did you mean {guess!r}? {listed}" if guess else listed
