"""Operators of ONNX between DequantizeLinear and QuantizeLinear, one function for each op.

They compute in float32 and round halves to even, so a value may differ by one from the integer op
where the exact result lies at, or within float32's precision of, a rounding half.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.exporters.onnx.call import Call
    from rlx.ir import Op

Rule: TypeAlias = "Callable[[Call], None]"
RULES: Final[dict[type[Op], Rule]] = {}
"""The rule of each op that can be exported."""


def rule(*ops: type[Op]) -> Callable[[Rule], Rule]:
    """Register a function as the rule of ops."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(ops, function))
        return function

    return register
