"""Names out of model files, made fit for messages."""

from __future__ import annotations


def printable(name: str) -> str:
    """Return ``name`` with everything that a terminal might act on replaced by ``?``."""
    return "".join(c if c.isprintable() else "?" for c in name)


def shorten(name: str, length: int = 64) -> str:
    """Return ``name``, or its beginning with dots if it is longer than ``length``."""
    return name if len(name) <= length else f"{name[: length - 3]}..."
