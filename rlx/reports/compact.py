"""Styles and scripts without comments and spaces, which would be a tenth of a page."""

from __future__ import annotations

import re
from typing import Final

_SPARE: Final = re.compile(r"^(?: *//.*\n| +|\n)", re.MULTILINE)
"""Indentation, lines that are comments, and empty lines."""
_STRING: Final = re.compile(r'("[^"\n]*"|`[^`]*`)')
_SCRIPT_SPACE: Final = re.compile(r"\s*([{}()\[\]=*/%<>?:,;&|!])\s*")
_STYLE_SPACE: Final = re.compile(r"\s*([{};,])\s*|(?<=:) ")


def compact_script(text: str) -> str:
    """Return a script without comments and most spaces; those around ``+`` and ``-`` stay.

    The script must end each statement with a semicolon, have comments on lines of their own, and
    no space in a regular expression; its strings are kept.
    """
    return _compact(text, _SCRIPT_SPACE)


def compact_style(text: str) -> str:
    """Return a style sheet without spaces around braces, commas and semicolons, and after colons.

    A space before a colon stays, as it is between two selectors.
    """
    return _compact(text, _STYLE_SPACE)


def _compact(text: str, space: re.Pattern[str]) -> str:
    parts = _STRING.split(_SPARE.sub("", text))
    return "".join(
        part if place % 2 else space.sub(lambda match: match[1] or "", part)
        for place, part in enumerate(parts)
    )
