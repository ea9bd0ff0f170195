"""Parts of Amaranth's values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from amaranth.hdl import Const, Signal
from amaranth.hdl._ast import Concat, Operator, Part, Slice, SwitchValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from amaranth.hdl import Value

    Patterns = Sequence[str] | None

Arm = TypeVar("Arm")


def sliced(value: Value) -> tuple[Value, int, int]:
    """Return the value that ``value`` is part of, the first bit of the part and the last plus one.

    Slices of slices, and of values whose sign was changed, are parts of the innermost value.
    """
    start, stop = 0, len(value)
    while True:
        if isinstance(value, Slice):
            start, stop, value = start + value.start, stop + value.start, value.value
        elif isinstance(value, Operator) and value.operator in ("u", "s"):
            value = value.operands[0]
        else:
            return value, start, stop


def reachable(cases: Iterable[tuple[Patterns, Arm]]) -> Iterator[tuple[Patterns, Arm]]:
    """Yield the cases that can match, up to the first that always does; its patterns are None."""
    for patterns, arm in cases:
        if patterns is not None and not patterns:
            continue
        always = patterns is None or any(set(pattern) == {"-"} for pattern in patterns)
        yield (None if always else patterns), arm
        if always:
            return


_INNER: Final[dict[type, Callable[[Any], Iterable[Value]]]] = {
    Const: lambda _: (),
    Operator: lambda value: value.operands,
    Slice: lambda value: (value.value,),
    Part: lambda value: (value.value, value.offset),
    Concat: lambda value: value.parts,
    SwitchValue: lambda value: (value.test, *(element for _, element in value.cases)),
}
"""Parts of a value of each kind."""


def signals_of(value: Value) -> Iterator[Signal]:
    """Yield the signals in ``value``, some more than once."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Signal):
            yield value
        else:
            # Kinds without an entry are skipped: expressions refuse them by name.
            waiting += _INNER.get(type(value), lambda _: ())(value)
