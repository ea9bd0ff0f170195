"""The table of rules: how each integer op becomes C."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from rlx.errors import UnsupportedOpError
from rlx.ir import RuleTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Array, Node
    from rlx_cortexm.layer import Layer

Rule: TypeAlias = "Callable[[Node], Layer]"
"""Makes the layer of a node; raises UnsupportedOpError where that cannot be done exactly."""

RULES: RuleTable[Rule] = RuleTable("cortexm")


def constant_operand(node: Node, place: int, what: str) -> Array:
    """Return the value of an operand that must be known at compile time.

    Raises:
        UnsupportedOpError: It is computed at run time.
    """
    value = node.operands[place].constant
    if value is None:
        raise unsupported(node, f"{what} must be constants, not computed at run time")
    return value


def unsupported(node: Node, reason: str) -> UnsupportedOpError:
    """Return (not raise) an error that names the node."""
    return UnsupportedOpError(reason, where=f"{node.op.name} {node.label}")
