"""Means over axes: sum, then scale.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, cast

from rlx.targets.operands import unsupported
from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, LoweredLayer
from rlx_c.nest import reduction
from rlx_cortexm.scaling import INT32_BOUND, output_constants, scaling
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QMean

TERM: Final = 4
RESULT: Final = 12.4
"""Instructions for each value that is summed, and for each mean."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a mean, or raise UnsupportedOpError."""
    op = cast("QMean", node.op)
    x = node.operands[0].type
    outer, inner = reduction(x.static_shape, op.axes)
    count = math.prod(loop.extent for loop in inner)
    # Sums of raw values, with the zero point subtracted at the end: both stay below this.
    bound = (128 + abs(op.x_zero_point)) * count
    if bound >= INT32_BOUND:
        raise unsupported(node, f"a sum of {count} values does not fit int32")
    sum_scaling = scaling(op.rescale, bound)
    constants = {
        "kept": outer,
        "reduced": inner,
        "offset": -count * op.x_zero_point,
        "requantize": sum_scaling.function,
        "multiplier": sum_scaling.multiplier[0],
        "shift": sum_scaling.shift[0],
        **output_constants(op.low, op.high, op.zero_point),
    }
    kernel = Kernel.of("mean", "mean/kernel", constants, (sum_scaling.function,))
    instructions = round(TERM * x.size + RESULT * node.types[0].size)
    layer = LoweredLayer(kernel, operands=node.operands, instructions=instructions)
    return (Candidate.of(layer, "mean"),)


MEAN: Final = Tactic(candidates, "`mean`: a sum, scaled once.", baseline=2.1)
