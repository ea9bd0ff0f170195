"""Tables of functions by the operators that they import."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, MutableMapping

Key = TypeVar("Key")
Function = TypeVar("Function")


def entering(
    table: MutableMapping[Key, Function], keys: Iterable[Key]
) -> Callable[[Function], Function]:
    """Return a decorator that enters a function into ``table`` under each of ``keys``.

    The decorator raises a ``ValueError`` for a key that is in use.
    """
    names = tuple(keys)

    def register(function: Function) -> Function:
        for key in names:
            if key in table:
                name = ".".join(key) if isinstance(key, tuple) else key
                raise ValueError(f"{name} has two importers")
            table[key] = function
        return function

    return register
