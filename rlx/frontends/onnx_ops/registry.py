"""The tables of importers: which function imports which operator, on values and on symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.frontends.onnx_ops.call import Call
    from rlx.frontends.onnx_ops.scope import Results, Symbolic

Importer: TypeAlias = "Callable[[Call], Results]"

IMPORTERS: dict[tuple[str, str], Importer] = {}
"""The importer of each operator, by domain and name."""


def importer(*names: str, domain: str = "") -> Callable[[Importer], Importer]:
    """Register the decorated function as the importer of operators of a domain."""

    def register(function: Importer) -> Importer:
        for name in names:
            if (domain, name) in IMPORTERS:
                raise ValueError(f"{domain}.{name} has two importers")
            IMPORTERS[domain, name] = function
        return function

    return register


SYMBOLIC: dict[str, Callable[[Call], Symbolic | Sequence[Symbolic] | None]] = {}
"""How standard operators compute with symbols; a function returns None where it cannot."""


def symbolic(*names: str) -> Callable[[Callable[[Call], Any]], Callable[[Call], Any]]:
    """Register the decorated function for nodes of which an input is ``Symbolic``."""

    def register(function: Callable[[Call], Any]) -> Callable[[Call], Any]:
        for name in names:
            if name in SYMBOLIC:
                raise ValueError(f"{name} has two functions of symbols")
            SYMBOLIC[name] = function
        return function

    return register
