"""Products of two computed matrices, element by element.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, LoweredLayer
from rlx_c.nest import matrix_rows
from rlx_cortexm.elementwise import result_constants
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QMatmul

PRODUCT: Final = 8
ELEMENT: Final = 15
"""Instructions for each product, and for each element of the result."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a product."""
    op = cast("QMatmul", node.op)
    x, y = (operand.type.static_shape for operand in node.operands)
    depth, columns = y[-2:]
    result = result_constants(op.rescale, depth * op.product_bound, op)
    constants = {
        "rows": matrix_rows(x, y),
        "depth": depth,
        "columns": columns,
        "zero_points": (op.x_zero_point, op.y_zero_point),
        **result,
    }
    kernel = Kernel.of("product", "matmul/kernel", constants, (str(result["requantize"]),))
    size = node.types[0].size
    instructions = size * (depth * PRODUCT + ELEMENT)
    layer = LoweredLayer(
        kernel, operands=node.operands, macs=size * depth, instructions=instructions
    )
    return (Candidate.of(layer, "matmul"),)


MATMUL: Final = Tactic(
    candidates,
    "`matmul`: a sum of products of two computed values for each element.",
    baseline=1.9,
)
