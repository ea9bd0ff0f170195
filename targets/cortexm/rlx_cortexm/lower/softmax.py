"""Softmax in C."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rlx.numerics.exponential import softmax_table
from rlx.ops.q import QSoftmax
from rlx_c.layer import Kernel, Layer, Table
from rlx_cortexm import costs
from rlx_cortexm.lower.rules import RULES

if TYPE_CHECKING:
    from rlx.ir import Node


@RULES.rule(QSoftmax)
def lower_softmax(node: Node) -> Layer:
    """Read exponentials from a table, divide by their sum in fixed point: ``softmax_s8.c.j2``."""
    op = cast("QSoftmax", node.op)
    *_, classes = node.operands[0].type.static_shape
    # Differences below diff_min are never counted, so the table ends there.
    entries = min(256, 1 - op.diff_min)
    exponentials = softmax_table(op.multiplier, op.left_shift, op.diff_min)[256 - entries :]
    rows = node.operands[0].type.size // classes
    constants = {"rows": rows, "classes": classes, "entries": entries}
    kernel = Kernel.of("softmax", "softmax/kernel", constants, ("softmax",))
    note = f"exp of the scaled differences -{entries - 1} .. 0, Q0.31"
    table = Table("exponentials", "int32_t", exponentials, note)
    instructions = costs.softmax(rows, classes)
    return Layer(kernel, operands=node.operands, tables=(table,), instructions=instructions)
