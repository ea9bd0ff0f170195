"""Lines of SystemVerilog: indentation and length."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_LINE_LENGTH: Final = 100
"""Characters of a line."""

_STEP: Final = "  "
_CONTINUED: Final = 4
"""Spaces by which the rest of a long line is indented."""


def indented(lines: Iterable[str]) -> list[str]:
    """Return ``lines`` one level deeper."""
    return [f"{_STEP}{line}" if line else line for line in lines]


def wrap_lines(lines: Iterable[str]) -> list[str]:
    """Return ``lines``, wrapped to ``MAX_LINE_LENGTH`` characters at white space."""
    rows: list[str] = []
    for line in lines:
        if len(line) <= MAX_LINE_LENGTH or line.lstrip().startswith("//"):
            rows.append(line)
            continue
        margin = " " * (len(line) - len(line.lstrip()))
        rows += textwrap.wrap(
            line.strip(),
            MAX_LINE_LENGTH,
            initial_indent=margin,
            subsequent_indent=margin + " " * _CONTINUED,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return rows


def comment_lines(text: str) -> list[str]:
    """Return paragraphs as comment lines."""
    rows: list[str] = []
    for line in text.splitlines():
        if not line.strip():
            rows.append("//")
            continue
        margin = " " * (len(line) - len(line.lstrip()))
        rows += textwrap.wrap(
            line.strip(),
            MAX_LINE_LENGTH,
            initial_indent=f"// {margin}",
            subsequent_indent=f"// {margin}",
        )
    return rows
