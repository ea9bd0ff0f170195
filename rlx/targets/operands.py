"""Operands of nodes in the rules of targets: requirements, and the error of a refusal.

Tests: tests/targets/test_lowering.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.support.errors import UnsupportedOpError

if TYPE_CHECKING:
    from rlx.ir import Array, Node


def constant_operand(node: Node, index: int, what: str) -> Array:
    """Return the value of an operand that must be known at compile time.

    Raises:
        UnsupportedOpError: It is computed at run time.
    """
    value = node.operands[index].constant
    if value is None:
        raise unsupported(node, f"{what} must be constants, not computed at run time")
    return value


def unsupported(node: Node, reason: str) -> UnsupportedOpError:
    """Return (not raise) an error that names the node."""
    return UnsupportedOpError(reason, where=f"{node.op.name} {node.label}")
