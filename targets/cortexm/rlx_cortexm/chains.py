"""Chains of elementwise ops: tables where they are worth their flash, else the ops of the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.ir import Refusal
from rlx.ops.q import QChain
from rlx_c.choice import OBJECTIVES
from rlx_cortexm.kernels.channel_table.tactic import ENTRIES

if TYPE_CHECKING:
    from rlx.ir import Node

SAVED: Final = 10
"""Instructions for each element that tables save at least, compared with the ops of a chain."""


def table_refusal(node: Node, optimize: str) -> Refusal | None:
    """Return the reason why a node is not computed by tables; None if it may be.

    Args:
        node: A node, a chain or not.
        optimize: Name of the objective, which sets the price of flash.
    """
    if not isinstance(node.op, QChain):
        return None
    type_ = node.types[0]
    nbytes = ENTRIES * type_.static_shape[-1]
    if OBJECTIVES[optimize].flash * nbytes <= SAVED * type_.size:
        return None
    return Refusal(
        f"its tables of {nbytes:,} bytes save too few instructions for --optimize {optimize}"
    )
