"""Products, element by element.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, LoweredLayer
from rlx_cortexm.elementwise import loop_constants, result_constants
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QMul

ELEMENT: Final = 13
"""Instructions for each element."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a product."""
    op = cast("QMul", node.op)
    result = result_constants(op.rescale, 255 * 255, op)
    zero_points = (op.x_zero_point, op.y_zero_point)
    constants = {"zero_points": zero_points, **result, **loop_constants(node)}
    kernel = Kernel.of("mul", "mul/kernel", constants, (str(result["requantize"]),))
    instructions = node.types[0].size * ELEMENT
    layer = LoweredLayer(kernel, operands=node.operands, instructions=instructions)
    return (Candidate.of(layer, "mul"),)


MUL: Final = Tactic(candidates, "`mul`: a product for each element, scaled.", baseline=5.3)
