"""Scale, or multiply by the slope of the channel and scale.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx.targets.operands import constant_operand
from rlx_c.candidate import Candidate
from rlx_c.layer import ConstantTable, Kernel, LoweredLayer
from rlx_cortexm.scaling import output_constants, scaling
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QPrelu

ELEMENT: Final = 18
"""Instructions for each element."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a PReLU."""
    op = cast("QPrelu", node.op)
    slopes = constant_operand(node, 1, "slopes")
    above, below = scaling(op.rescale, 255), scaling(op.slope_rescale, 255 * 255)
    size = node.types[0].size
    constants = {
        "pixels": size // len(slopes),
        "channels": len(slopes),
        "zero_points": (op.x_zero_point, op.y_zero_point),
        "scales": tuple((s.function, s.multiplier[0], s.shift[0]) for s in (above, below)),
        **output_constants(op.low, op.high, op.zero_point),
    }
    kernel = Kernel.of("prelu", "prelu/kernel", constants, (above.function, below.function))
    table = ConstantTable("slopes", "int8_t", slopes, "slope of each channel")
    layer = LoweredLayer(
        kernel, operands=node.operands[:1], tables=(table,), instructions=size * ELEMENT
    )
    return (Candidate.of(layer, "prelu"),)


PRELU: Final = Tactic(
    candidates, "`prelu`: a product for each negative element, scaled.", baseline=4
)
