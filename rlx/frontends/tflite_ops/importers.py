"""The tables of importers: one function for an operator on int8, one for it on plain numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.frontends.tflite_ops.call import Call

Importer: TypeAlias = "Callable[[Call], None]"

IMPORTERS: dict[str, Importer] = {}
"""The importer of each operator on int8, by its name in the schema."""

REAL_IMPORTERS: dict[str, Importer] = {}
"""The importer of each operator on plain numbers (see ``Call.is_real``)."""


def importer(*names: str) -> Callable[[Importer], Importer]:
    """Register the decorated function as the importer of operators on int8."""
    return _registering(IMPORTERS, names)


def real_importer(*names: str) -> Callable[[Importer], Importer]:
    """Register the decorated function as the importer of operators on plain numbers."""
    return _registering(REAL_IMPORTERS, names)


def both_importer(*names: str) -> Callable[[Importer], Importer]:
    """Register the decorated function for both: it cares for element types itself, or for none."""

    def register(function: Importer) -> Importer:
        importer(*names)(function)
        return real_importer(*names)(function)

    return register


def _registering(
    table: dict[str, Importer], names: tuple[str, ...]
) -> Callable[[Importer], Importer]:
    """Return a decorator that enters a function into a table under each name."""

    def register(function: Importer) -> Importer:
        for name in names:
            if name in table:
                raise ValueError(f"{name} has two importers")
            table[name] = function
        return function

    return register
