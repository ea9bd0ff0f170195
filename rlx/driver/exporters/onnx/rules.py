"""Operators of ONNX between DequantizeLinear and QuantizeLinear, one function for each op.

They compute in float32 and round halves to even, so a value may differ by one from the integer op
where the exact result is at, or within float32's precision of, a rounding half.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from rlx.ir import RuleTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.driver.exporters.onnx.call import ExportedNode


Rule: TypeAlias = "Callable[[ExportedNode], None]"
RULES: Final[RuleTable[Rule]] = RuleTable("export to .onnx")
"""The rule of each op that can be exported."""
