"""Native kernel of each op, or the reason that NumPy runs it.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.ir import Refusal, RuleTable, once_per_node
from rlx.memory import moves_nothing
from rlx.ops import ALL_OPS
from rlx.ops.q import computes_int16
from rlx_host.kernels.floats import FLOAT_RULES
from rlx_host.kernels.integers import INTEGER_RULES

if TYPE_CHECKING:
    from rlx.ir import MemoryPlan, Node
    from rlx_host.instruction_set import InstructionSet
    from rlx_host.layer import NativeLayer, Rule

RULES: Final[RuleTable[Rule]] = RuleTable(
    "the native backend", {**INTEGER_RULES, **FLOAT_RULES}, hint="run it by NumPy"
)
"""Rule of each op that has a kernel in C."""

NO_KERNEL: Final = "it has no kernel in C"
"""Reason for which NumPy runs an op in a session, and the target ``host`` refuses it."""

RULES.refuse(NO_KERNEL, *(op for op in ALL_OPS if op not in RULES))


@once_per_node
def lower(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the C function of a node, or the reason that NumPy runs it."""
    reason = RULES.reason(type(node.op))
    if reason is not None:
        return Refusal(reason)
    if computes_int16(node):
        return Refusal("it has no kernel in C for int16")
    if any(not value.type.size for value in (*node.operands, *node.results)):
        return Refusal("a value has no elements")
    return RULES[type(node.op)](node, instructions)


def lower_schedule(
    plan: MemoryPlan, instructions: InstructionSet
) -> tuple[list[tuple[Node, NativeLayer]], dict[Node, Refusal]]:
    """Return the C function of each node of a plan, and the refusals of nodes without one.

    Nodes whose results are where their operands are need neither.
    """
    layers: list[tuple[Node, NativeLayer]] = []
    refusals: dict[Node, Refusal] = {}
    for node in plan.schedule:
        if moves_nothing(plan, node):
            continue
        layer = lower(node, instructions)
        if isinstance(layer, Refusal):
            refusals[node] = layer
        else:
            layers.append((node, layer))
    return layers, refusals
