"""Dimensions whose size is bound later: sums of products of symbols and integers.

A symbol represents an integer of at least 1. An expression has one form: a polynomial without equal
terms, the terms of most symbols first, then by the names of their symbols. So expressions are equal
exactly where their texts are equal, and an expression without symbols is an integer.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rlx.support.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MAX_TERMS = 16
"""Terms of an expression."""
MAX_DEGREE = 8
"""Symbols that one term multiplies."""

Term: TypeAlias = tuple[int, tuple[str, ...]]
"""A factor and the sorted names of the symbols that it multiplies."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Dim:
    """A dimension whose size is bound later: a symbol, or an expression of symbols and integers.

    ``Dim("past") + 1`` and ``4 * Dim("batch") * Dim("length")`` are dimensions. The operators
    ``+``, ``-``, ``*`` accept dimensions and integers; ``//`` accepts a divisor that leaves no
    remainder for any size. Where no symbol is left, the result is an integer.

    Attributes:
        terms: Factor and symbols of each term.
    """

    terms: tuple[Term, ...]

    # So that NumPy's numbers leave `number + dimension` to this class.
    __array_ufunc__ = None

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "terms", ((1, (name,)),))

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the symbols, sorted."""
        return tuple(sorted({name for _, names in self.terms for name in names}))

    def __add__(self, other: int | Dim) -> int | Dim:
        return _dimension((*self.terms, *_terms(other)))

    __radd__ = __add__

    def __neg__(self) -> int | Dim:
        return self * -1

    def __sub__(self, other: int | Dim) -> int | Dim:
        return self + -other

    def __rsub__(self, other: int | Dim) -> int | Dim:
        return -self + other

    def __mul__(self, other: int | Dim) -> int | Dim:
        others = _terms(other)
        return _dimension(
            (f * g, a + b) for f, a in self.terms for g, b in others
        )  # fmt: skip

    __rmul__ = __mul__

    def __floordiv__(self, other: int | Dim) -> int | Dim:
        return _exact(self, other)

    def __rfloordiv__(self, other: int) -> int | Dim:
        return _exact(other, self)

    def bind(self, sizes: Mapping[str, int]) -> int | Dim:
        """Return the dimension with the symbols in ``sizes`` replaced by integers."""
        if not any(name in sizes for name in self.symbols):
            return self
        return _dimension(
            (
                factor * math.prod(sizes[n] for n in names if n in sizes),
                tuple(n for n in names if n not in sizes),
            )
            for factor, names in self.terms
        )

    def text(self, name: Callable[[str], str] = str) -> str:
        """Return the text of the expression, such as ``batch * past + 4 * batch - 1``.

        Args:
            name: Spelling of a symbol.
        """
        first, *rest = self.terms
        parts = ["-" * (first[0] < 0), _text(first, name)]
        for term in rest:
            parts += [" - " if term[0] < 0 else " + ", _text(term, name)]
        return "".join(parts)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text(lambda name: f"Dim(name={name!r})")

    def to_plain(self) -> dict[str, Any]:
        """Return the fields of the record that files hold: a symbol's name, or all terms."""
        if self == Dim(name := self.symbols[0]):
            return {"name": name}
        return {"terms": tuple((factor, *names) for factor, names in self.terms)}

    @classmethod
    def from_plain(cls, fields: Mapping[str, object]) -> Dim:
        """Return the dimension whose ``to_plain`` is ``fields``.

        Raises:
            ValueError: There is none.
        """
        match fields:
            case {"name": str(name)} if len(fields) == 1:
                return cls(name)
            case {"terms": tuple(terms)} if len(fields) == 1 and all(map(_is_term, terms)):
                return _restore(tuple((factor, names) for factor, *names in terms))
        raise ValueError(
            'expected either a name or terms such as [[4, "batch"], [1]] for 4 * batch + 1'
        )


def _dimension(terms: Iterable[Term]) -> int | Dim:
    """Return the sum of ``terms``, whose symbols may be in any order.

    Raises:
        ShapeError: It has too many terms, or too many symbols in one.
    """
    factors: dict[tuple[str, ...], int] = {}
    for factor, names in terms:
        names = tuple(sorted(names))
        factors[names] = factors.get(names, 0) + factor
    nonzero_terms = sorted(
        ((factor, names) for names, factor in factors.items() if factor),
        key=lambda term: (-len(term[1]), term[1]),
    )
    if not nonzero_terms or not nonzero_terms[0][1]:
        return nonzero_terms[0][0] if nonzero_terms else 0
    if len(nonzero_terms) > MAX_TERMS:
        raise _too_large(f"has {len(nonzero_terms)} terms; at most {MAX_TERMS} are allowed")
    if len(nonzero_terms[0][1]) > MAX_DEGREE:
        raise _too_large(
            f"multiplies {len(nonzero_terms[0][1])} symbols; at most {MAX_DEGREE} are allowed"
        )
    dim = object.__new__(Dim)
    object.__setattr__(dim, "terms", tuple(nonzero_terms))
    return dim


def _too_large(message: str) -> ShapeError:
    """Return the error for an expression that would grow over a bound."""
    return ShapeError(
        message,
        where="dimension",
        hint="bind some of its symbols to numbers first (rlx.bind), or name it by a new symbol",
    )


def _terms(value: int | Dim) -> tuple[Term, ...]:
    """Return the terms of a dimension; an integer is one term without symbols."""
    if isinstance(value, Dim):
        return value.terms
    if not isinstance(value, int | np.integer):
        raise TypeError(f"expected an integer or Dim(name) in a dimension, got {value!r}")
    return ((int(value), ()),)


def _text(term: Term, name: Callable[[str], str]) -> str:
    """Return a term without its sign."""
    factor, names = abs(term[0]), term[1]
    return " * ".join([*([str(factor)] if factor != 1 or not names else []), *map(name, names)])


def _is_term(term: object) -> bool:
    """Return whether a plain value is a factor and the names of symbols, within the limit."""
    if not isinstance(term, tuple) or not 1 <= len(term) <= MAX_DEGREE + 1:
        return False
    return type(term[0]) is int and all(isinstance(name, str) for name in term[1:])


def _restore(terms: tuple[tuple[int, list[str]], ...]) -> Dim:
    """Return the expression that has exactly ``terms``.

    Raises:
        ValueError: They are too many, or not in the order that they are written in.
    """
    if len(terms) > MAX_TERMS:
        raise ValueError(f"it has {len(terms)} terms; at most {MAX_TERMS} are allowed")
    stored = tuple((factor, tuple(names)) for factor, names in terms)
    dim = _dimension(stored)
    if isinstance(dim, Dim) and dim.terms == stored and "terms" in dim.to_plain():
        return dim
    plain = dim.to_plain() if isinstance(dim, Dim) else dim
    raise ValueError(f"{dim} must be written as {json.dumps(plain)}")


def product(dims: Iterable[int | Dim]) -> int | Dim:
    """Return the product of dimensions, 1 of none.

    Raises:
        ShapeError: The expression would grow too large.
    """
    start: int | Dim = 1
    return reduce(mul, dims, start)


def quotient(total: int | Dim, divisor: int | Dim) -> int | Dim | None:
    """Return ``total`` over ``divisor`` if the quotient holds for all sizes, else None."""
    if divisor == 0:
        return None
    factor, names = _terms(divisor)[0]
    result: int | Dim = 0
    try:
        while total != 0:
            # The first terms divide each other, or no polynomial is the quotient.
            lead, lead_names = _terms(total)[0]
            if lead % factor or Counter(names) - Counter(lead_names):
                return None
            left = (Counter(lead_names) - Counter(names)).elements()
            step = _dimension([(lead // factor, tuple(left))])
            result, total = result + step, total - step * divisor
    except ShapeError:
        return None
    return result


def _exact(total: int | Dim, divisor: int | Dim) -> int | Dim:
    """Return the quotient.

    Raises:
        ShapeError: There is a remainder.
    """
    result = quotient(total, divisor)
    if result is None:
        raise ShapeError(
            f"{total} is not a multiple of {divisor}",
            where="dimension",
            hint="divide by a factor of every term, or use a new symbol for the quotient",
        )
    return result


def factors(dim: int | Dim) -> tuple[int, ...]:
    """Return the factor of each term; their sum is the value where every symbol is 1."""
    return tuple(factor for factor, _ in _terms(dim))


def minimum(dim: int | Dim) -> int | None:
    """Return the smallest value that a dimension can have; None if that is not plain to see."""
    if any(factor < 0 and names for factor, names in _terms(dim)):
        return None
    return sum(factors(dim))


def is_negative(dim: int | Dim) -> bool:
    """Return whether a dimension is below 0 for all values of its symbols."""
    lowest = minimum(-dim)
    return lowest is not None and lowest > 0
