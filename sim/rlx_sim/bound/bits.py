"""Values of which some bits are known, for code whose loops end by a bit that it shifts out.

Tests: tests/sim/bound/test_divisions.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rlx_sim.bound import values
from rlx_sim.bound.instruction import MASK

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Bits:
    """A value with unknown bits; as an operand of Python's operators it has any width.

    Attributes:
        ones: Bits that are known to be 1.
        unknown: Bits that are not known, at least one.
    """

    ones: int
    unknown: int

    def __and__(self, other: int | Bits) -> int | Bits:
        ones, most = _range(other)
        return made(self.ones & ones, (self.ones | self.unknown) & most)

    def __or__(self, other: int | Bits) -> int | Bits:
        ones, most = _range(other)
        return made(self.ones | ones, self.ones | self.unknown | most)

    def __xor__(self, other: int | Bits) -> int | Bits:
        ones, most = _range(other)
        unknown = self.unknown | most & ~ones
        ones = (self.ones ^ ones) & ~unknown
        return made(ones, ones | unknown)

    def __lshift__(self, amount: int | Bits) -> int | Bits:
        if isinstance(amount, Bits):
            return ANY
        return Bits(self.ones << amount, self.unknown << amount)

    def __rshift__(self, amount: int | Bits) -> int | Bits:
        if isinstance(amount, Bits):
            return ANY
        return made(self.ones >> amount, (self.ones | self.unknown) >> amount)

    def __add__(self, other: int | Bits) -> Bits:
        return ANY

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __rlshift__ = __rrshift__ = __add__
    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__


Partial = int | Bits | None

ANY: Final = Bits(0, -1)


def made(ones: int, most: int) -> int | Bits:
    """Return the value between two in each bit."""
    return ones if ones == most else Bits(ones, most & ~ones)


def joined(first: Partial, second: Partial) -> Partial:
    """Return a value that covers two values of 32 bits."""
    if first is None or second is None:
        return None
    (ones, most), (other_ones, other_most) = _range(first), _range(second)
    found = made(ones & other_ones, most | other_most)
    return None if found == Bits(0, MASK) else found


def _range(value: int | Bits) -> tuple[int, int]:
    """Return the known ones, and all bits that may be 1."""
    if isinstance(value, Bits):
        return value.ones, value.ones | value.unknown
    return value, value


def _bit(value: Partial, position: int) -> int | None:
    """Return a bit; None if it is unknown."""
    if value is None or isinstance(value, int):
        return None if value is None else value >> position & 1
    return None if value.unknown >> position & 1 else value.ones >> position & 1


def _nz(value: Partial) -> tuple[int | None, int | None]:
    if isinstance(value, Bits):
        return _bit(value, 31), 0 if value.ones else None
    return values.nz(value)


def _add_flags(first: Partial, second: Partial, carry: int | None) -> tuple[Partial, ...]:
    if isinstance(first, Bits) or isinstance(second, Bits):
        return None, None, None, None, None
    return values.add_flags(first, second, carry)


def _double_flags(value: Partial, carry: int | None) -> tuple[Partial, ...]:
    """Return a value plus itself and a carry, and the flags N, Z, C, V."""
    if value is None or (isinstance(value, int) and carry is not None):
        return values.add_flags(value, value, carry)
    ones, most = _range(value)
    low, high = (0, 1) if carry is None else (carry, carry)
    double = made((ones << 1 | low) & MASK, (most << 1 | high) & MASK)
    return double, *_nz(double), _bit(value, 31), values.xor(_bit(value, 31), _bit(value, 30))


def _shift(kind: int, value: Partial, amount: int, carry: int | None) -> tuple[Partial, int | None]:
    """Return a value shifted by a constant, and the carry."""
    if not isinstance(value, Bits):
        return values.shift(kind, value, amount, carry)
    if amount == 0 and kind != 3:
        return value, carry
    if kind == 0:
        return value << amount & MASK, _bit(value, 32 - amount)
    if kind == 1:
        return value >> amount, _bit(value, amount - 1)
    return None, None


def _blind(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function to which values with unknown bits are unknown."""

    def call(*arguments: Any) -> Any:  # noqa: ANN401
        return function(*(None if isinstance(one, Bits) else one for one in arguments))

    return call


def _any(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of known values whose result is any, if one is not known."""

    def call(*arguments: Any) -> Any:  # noqa: ANN401
        partial = any(isinstance(one, Bits) for one in arguments)
        return ANY & MASK if partial else function(*arguments)

    return call


_OF_KNOWN: Final = (
    "signed", "shift_value", "reverse", "reverse_halves", "reverse_signed", "reverse_bits",
    "leading_zeros", "divide", "divide_signed",
)  # fmt: skip


def functions(names: dict[str, Any]) -> dict[str, Any]:
    """Return the functions that translated code calls, for values with unknown bits."""
    blind = {name: _blind(one) if callable(one) else one for name, one in names.items()}
    known = {name: _any(names[name]) for name in _OF_KNOWN}
    own = {"nz": _nz, "add_flags": _add_flags, "double_flags": _double_flags, "shift": _shift}
    return {**blind, **known, **own}
