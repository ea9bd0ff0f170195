"""Native kernel of each op, or the reason that NumPy runs it.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.ir import Refusal, RuleTable
from rlx.ops import ALL_OPS
from rlx_host.kernels.floats import FLOAT_RULES
from rlx_host.kernels.integers import INTEGER_RULES

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_host.instruction_set import InstructionSet
    from rlx_host.layer import NativeLayer, Rule

RULES: Final[RuleTable[Rule]] = RuleTable(
    "the native backend", {**INTEGER_RULES, **FLOAT_RULES}, hint="run it by NumPy"
)
"""Rule of each op that has a kernel in C."""

RULES.refuse("NumPy runs it", *(op for op in ALL_OPS if op not in RULES))


def lower(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the C function of a node, or the reason that NumPy runs it."""
    reason = RULES.reason(type(node.op))
    if reason is not None:
        return Refusal(reason)
    if any(not value.type.size for value in (*node.operands, *node.results)):
        return Refusal("a value has no elements")
    return RULES[type(node.op)](node, instructions)
