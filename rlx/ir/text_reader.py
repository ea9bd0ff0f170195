"""The text form of graphs: reading of tokens, numbers, strings and dimensions.

Tests: tests/unit/ir/test_text.py
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn

from rlx.ir.dims import Dim, factors, is_negative
from rlx.ir.tokens import HINT, Token, error_at, tokens
from rlx.support.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    ItemT = TypeVar("ItemT")

MAX_DIMENSION = 2**31 - 1
"""Maximum of a dimension, and of an integer in an expression of symbols."""
MAX_DIGITS = 400
"""Characters of a number."""


class TextReader:
    """Base of the parser of graphs; each method reads the part in its name."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._next = next(self._tokens)

    def fail(self, message: str, at: Token | None = None, *, hint: str = HINT) -> NoReturn:
        """Raise the error for token ``at`` (default: the next one)."""
        raise error_at(self._text, (at or self._next).start, message, hint=hint)

    def take(self) -> Token:
        """Return the next token and move on."""
        token = self._next
        if token.kind != "end":
            self._next = next(self._tokens)
        return token

    def at(self, text: str) -> bool:
        """Return whether the next token is the mark or word ``text``."""
        return self._next.text == text and self._next.kind in ("mark", "word")

    def accept(self, text: str) -> bool:
        """Skip the mark or word ``text`` if it comes next; return whether it did."""
        found = self.at(text)
        if found:
            self.take()
        return found

    def mark(self, text: str) -> Token:
        """Read the mark or word ``text``."""
        if not self.at(text):
            self.fail(f"expected {text!r}, got {self._next}")
        return self.take()

    def expect(self, kind: str, what: str) -> Token:
        """Read a token of ``kind``."""
        if self._next.kind != kind:
            self.fail(f"expected {what}, got {self._next}")
        return self.take()

    def list(self, close: str, item: Callable[[], ItemT]) -> list[ItemT]:
        """Read items with commas between them, up to ``close``, which is read too."""
        items: list[ItemT] = []
        while not self.accept(close):
            if items:
                self.mark(",")
            items.append(item())
        return items

    def string(self, what: str) -> str:
        """Read a string."""
        token = self.expect("string", f"{what} in quotes")
        try:
            text: str = json.loads(token.text)
        except ValueError as e:
            self.fail(f"this string is malformed: {e}", token)
        return text

    def number(self) -> int | float:
        """Read a number; one with a point or an exponent is a float."""
        token = self.expect("number", "a number")
        if len(token.text) > MAX_DIGITS:
            self.fail(f"a number has more than {MAX_DIGITS} characters", token)
        if token.text.lstrip("-").isdigit():
            return int(token.text)
        return float(token.text)

    def integer(self) -> int:
        """Read an integer."""
        token = self._next
        number = self.number()
        if not isinstance(number, int):
            self.fail(f"expected an integer, got {token}", token)
        return number

    def real(self) -> float:
        """Read a number as a float."""
        return float(self.number())

    def dimension(self) -> int | Dim:
        """Read a dimension: an integer, a symbol, or a sum of products of them."""
        token = self._next
        size = self.sum(self.factor(), token)
        if isinstance(size, int) and not 0 <= size <= MAX_DIMENSION:
            self.fail(f"expected a dimension in [0, {MAX_DIMENSION}], got {size}", token)
        if is_negative(size):
            self.fail(f"a dimension must not be negative, got {size}", token)
        return size

    def at_operator(self) -> bool:
        """Return whether a sum or product continues here."""
        return any(map(self.at, "+-*"))

    def sum(self, first: int | Dim, token: Token) -> int | Dim:
        """Read the rest of a sum of products whose first factor, at ``token``, was read."""
        try:
            total = self.product(first)
            while self.at("+") or self.at("-"):
                sign = -1 if self.take().text == "-" else 1
                total = self.bounded(total + self.product(sign * self.factor()), token)
        except ShapeError as e:
            self.fail(f"a dimension {e.message}", token, hint=e.own_hint or HINT)
        return total

    def product(self, total: int | Dim) -> int | Dim:
        """Read the rest of a product whose first factor was read."""
        while self.at("*"):
            token = self.take()
            total = self.bounded(total * self.factor(), token)
        return total

    def factor(self) -> int | Dim:
        """Read an integer or a symbol, maybe with a sign."""
        sign = -1 if self.accept("-") else 1
        token = self._next
        if token.kind == "string":
            return sign * Dim(self.string("a symbol"))
        if token.kind == "word":
            return sign * Dim(self.take().text)
        if token.kind != "number":
            self.fail(f"expected a number or a symbol, got {token}")
        number = sign * self.integer()
        if abs(number) > MAX_DIMENSION:
            self.fail(f"expected a dimension in [0, {MAX_DIMENSION}], got {number}", token)
        return number

    def bounded(self, dim: int | Dim, token: Token) -> int | Dim:
        """Return ``dim`` after checking its integers, which later ones would make ever longer."""
        if max(map(abs, factors(dim))) > MAX_DIMENSION:
            self.fail(f"a number in a dimension is beyond {MAX_DIMENSION}", token)
        return dim
