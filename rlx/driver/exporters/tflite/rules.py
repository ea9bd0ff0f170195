"""Operators of ``.tflite`` with the results of a ``q.*`` op, one function for each op.

A rule derives scales, bounds and tables as TensorFlow Lite Micro does, by the functions that the
importer uses, and refuses an op whose integers are others: an exported file has bit-identical
results.

Versions of operators are those of the schema for int8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from rlx.ir import RuleTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.driver.exporters.tflite.call import ExportedNode


Rule: TypeAlias = "Callable[[ExportedNode], None]"
RULES: Final[RuleTable[Rule]] = RuleTable("export to .tflite")
"""The rule of each op that can be exported."""
