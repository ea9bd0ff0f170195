"""The tables of importers: one function for an operator on int8, one for it on unquantized values.

Tests: tests/unit/frontends/tflite/test_frontend.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from rlx.frontends.importer_table import entering

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.frontends.tflite.ops.call import Call

Importer: TypeAlias = "Callable[[Call], None]"

IMPORTERS: dict[str, Importer] = {}
"""The importer of each operator on int8, by its name in the schema."""

REAL_IMPORTERS: dict[str, Importer] = {}
"""The importer of each operator on unquantized values (see ``Call.is_real``)."""

ON_INT16: frozenset[str] = frozenset(
    (
        "ADD", "AVERAGE_POOL_2D", "BROADCAST_TO", "CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D",
        "EXPAND_DIMS", "FULLY_CONNECTED", "LOGISTIC", "MAX_POOL_2D", "MEAN", "MUL", "PAD", "RELU",
        "RELU6", "RESHAPE", "REVERSE_V2", "SLICE", "SOFTMAX", "SPLIT", "SQUEEZE", "STRIDED_SLICE",
        "SUB", "SUM", "TANH", "TRANSPOSE", "TRANSPOSE_CONV",
    )
)  # fmt: skip
"""Operators of ``IMPORTERS`` that compute int16 as well, to the bits of the reference."""


def importer(*names: str) -> Callable[[Importer], Importer]:
    """Register the decorated function as the importer of operators on int8."""
    return entering(IMPORTERS, names)


def real_importer(*names: str) -> Callable[[Importer], Importer]:
    """Register the decorated function as the importer of operators on unquantized values."""
    return entering(REAL_IMPORTERS, names)


def both_importer(*names: str) -> Callable[[Importer], Importer]:
    """Register the decorated function for both: it cares for element types itself, or for none."""

    def register(function: Importer) -> Importer:
        importer(*names)(function)
        return real_importer(*names)(function)

    return register
