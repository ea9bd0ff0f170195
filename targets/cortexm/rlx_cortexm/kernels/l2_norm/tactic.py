"""Vectors divided by their lengths: a sum of squares, its root, one product for each element.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, LoweredLayer
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QL2Norm

ROW: Final = 200
ELEMENT: Final = 30
"""Instructions for each vector and each element of it."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a normalization."""
    op = cast("QL2Norm", node.op)
    *_, length = node.operands[0].type.static_shape
    rows = node.operands[0].type.size // length
    constants = {"rows": rows, "length": length, "x_zero_point": op.x_zero_point}
    kernel = Kernel.of("l2_norm", "l2_norm/kernel", constants, ("requantize_wide", "root"))
    instructions = rows * (ROW + ELEMENT * length)
    layer = LoweredLayer(kernel, operands=node.operands, instructions=instructions)
    return (Candidate.of(layer, "l2_norm"),)


L2_NORM: Final = Tactic(
    candidates,
    "`l2_norm`: a sum of squares, its root, and one product for each element.",
    baseline=3,
)
