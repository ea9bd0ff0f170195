"""Softmax: exponentials from a table, divided by their sum in fixed point.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx.ops.numerics.exponential import softmax_table
from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, ConstantTable, Kernel, LoweredLayer
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QSoftmax

ROW: Final = 105
CLASS: Final = 40
"""Instructions for each row and each class of it; fewer if many of them are unlikely."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a softmax."""
    op = cast("QSoftmax", node.op)
    *_, classes = node.operands[0].type.static_shape
    # Differences below diff_min are never counted, so the table ends there.
    entries = min(256, 1 - op.diff_min)
    exponentials = softmax_table(op.multiplier, op.left_shift, op.diff_min)[256 - entries :]
    rows = node.operands[0].type.size // classes
    constants = {"rows": rows, "classes": classes, "entries": entries}
    kernel = Kernel.of("softmax", "softmax/kernel", constants, ("softmax",), CodeSize(0.96))
    note = f"exp of the scaled differences -{entries - 1} .. 0, Q0.31"
    table = ConstantTable("exponentials", "int32_t", exponentials, note)
    instructions = rows * (ROW + CLASS * classes)
    layer = LoweredLayer(kernel, operands=node.operands, tables=(table,), instructions=instructions)
    return (Candidate.of(layer, "softmax"),)


SOFTMAX: Final = Tactic(
    candidates,
    "`softmax`: exponentials are looked up and divided by their sum in fixed point.",
    baseline=2.6,
)
