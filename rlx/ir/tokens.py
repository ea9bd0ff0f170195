"""Tokens of the text form.

Tests: tests/unit/ir/test_text.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx.support.errors import TextFormError

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
    (?P<skip>[ \t\r\n]+|\#[^\n]*)
  | (?P<string>"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+")
  | (?P<value>%[A-Za-z0-9_]+)
  | (?P<number>-inf\b|(?:(?<![A-Za-z0-9_"])-)?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)
  | (?P<word>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)
  | (?P<mark>\.\.\.|[()\[\]{}<>=,:+*-])
    """,
    re.VERBOSE,
)

HINT = "write the text as rlx.ir.printer.format_graph prints a graph"


@dataclass(frozen=True, slots=True)
class Token:
    """One token.

    Attributes:
        kind: ``string``, ``value``, ``number``, ``word``, ``mark`` or ``end``.
        text: Its characters; empty at the end of the text.
        start: Index of its first character in the text.
    """

    kind: str
    text: str
    start: int

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end of the text"
        return repr(self.text if len(self.text) <= 40 else self.text[:37] + "...")


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of ``text`` and last one of kind ``end``.

    Raises:
        TextFormError: A character begins no token.
    """
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise error_at(text, position, f"{text[position]!r} begins nothing that is known here")
        position = match.end()
        kind = match.lastgroup or ""
        if kind != "skip":
            yield Token(kind, match[0], match.start())
    yield Token("end", "", len(text))


def error_at(text: str, position: int, message: str, *, hint: str = HINT) -> TextFormError:
    """Return the error for a place in ``text``, given as line and column from 1."""
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    return TextFormError(message, where=f"line {line}, column {column}", hint=hint)
