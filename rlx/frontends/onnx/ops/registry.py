"""The tables of importers: which function imports which operator, on values and on symbols.

Tests: tests/unit/frontends/onnx/ops/test_versions.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from rlx.frontends.importer_table import entering

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Results, Symbolic

Importer: TypeAlias = "Callable[[Call], Results]"

IMPORTERS: dict[tuple[str, str], Importer] = {}
"""The importer of each operator, by domain and name."""


def importer(*names: str, domain: str = "") -> Callable[[Importer], Importer]:
    """Register the decorated function as the importer of operators of a domain."""
    return entering(IMPORTERS, ((domain, name) for name in names))


SymbolicRule: TypeAlias = "Callable[[Call], npt.NDArray[Any] | Sequence[Symbolic] | None]"

SYMBOLIC: dict[str, SymbolicRule] = {}
"""Rules by which standard operators compute with symbols; None where a function cannot."""


def symbolic(*names: str) -> Callable[[SymbolicRule], SymbolicRule]:
    """Register the decorated function for nodes of which an input is ``Symbolic``."""
    return entering(SYMBOLIC, names)
