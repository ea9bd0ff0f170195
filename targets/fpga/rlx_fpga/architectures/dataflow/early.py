"""Values that are there before a frame begins: constants, states, and what depends on them alone.

Tests: tests/targets/fpga/architectures/dataflow/test_states.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir import Input, State

if TYPE_CHECKING:
    from rlx.ir import Value


def needs_input(value: Value) -> bool:
    """Return whether a value depends on an input of the frame."""
    visited, waiting = {value.node}, [value.node]
    while waiting:
        node = waiting.pop()
        if isinstance(node.op, Input) and not isinstance(node.op, State):
            return True
        operands = {operand.node for operand in node.operands} - visited
        visited |= operands
        waiting += operands
    return False
