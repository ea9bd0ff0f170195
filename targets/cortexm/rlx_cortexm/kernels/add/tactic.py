"""Sums, differences and their squares: both operands of each element scaled, then the sum.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx.ops.q import QAdd, QSquaredDifference
from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, LoweredLayer
from rlx_cortexm.elementwise import loop_constants, result_constants
from rlx_cortexm.scaling import CENTRED, scaling_of_values
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node

ELEMENT: Final = 45
"""Instructions for each element."""

_INT8: Final = np.arange(-128, 128).astype(np.int8)


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a sum, a difference or its square."""
    op = cast("QAdd | QSquaredDifference", node.op)
    scaled = op.scaled_operands((_INT8, _INT8))
    bound = sum(int(np.abs(values).max()) for values in scaled)
    is_squared = isinstance(op, QSquaredDifference)
    scales = []
    for rescale in (op.x_rescale, op.y_rescale):
        operand_scaling = scaling_of_values(rescale, CENTRED << op.left_shift)
        function = operand_scaling.function.replace("requantize", "scale")
        scales.append((function, operand_scaling.multiplier[0], operand_scaling.shift[0]))
    constants = {
        "sign": "+" if type(op) is QAdd else "-",
        "is_squared": is_squared,
        "left_shift": op.left_shift,
        "zero_points": (op.x_zero_point, op.y_zero_point),
        "scales": tuple(scales),
        **result_constants(op.rescale, bound**2 if is_squared else bound, op),
        **loop_constants(node),
    }
    kind = op.name.removeprefix("q.")
    support = (str(constants["requantize"]), *(function for function, _, _ in scales))
    kernel = Kernel.of(kind, "add/kernel", constants, support)
    instructions = node.types[0].size * ELEMENT
    layer = LoweredLayer(kernel, operands=node.operands, instructions=instructions)
    return (Candidate.of(layer, "add"),)


ADD: Final = Tactic(
    candidates,
    "`add`: both operands of each element are scaled, added, and the sum is scaled.",
    portable=0.8,
    baseline=3.9,
)
