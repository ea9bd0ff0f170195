"""Quotients, element by element: products with reciprocals from a table.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx.ops.numerics.division import bit_lengths, reciprocals
from rlx_c.candidate import Candidate
from rlx_c.layer import ConstantTable, Kernel, LoweredLayer
from rlx_cortexm.elementwise import loop_constants
from rlx_cortexm.scaling import output_constants
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QDiv

ELEMENT: Final = 52.7
"""Instructions for each element."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a quotient."""
    op = cast("QDiv", node.op)
    at_zero = min(max(op.zero_point, op.low), op.high)
    constants = {
        "zero_points": (op.x_zero_point, op.y_zero_point),
        "multiplier": op.rescale.multiplier[0],
        "shift": op.rescale.shift[0],
        "at_zero": at_zero,
        **output_constants(op.low, op.high, op.zero_point),
        **loop_constants(node),
    }
    divisors = np.arange(256, dtype=np.int64)
    inverses, _ = reciprocals(np.maximum(divisors, 1))
    tables = (
        ConstantTable("reciprocals", "int32_t", inverses, "reciprocals of 0 .. 255, Q0.31"),
        ConstantTable("bits", "uint8_t", bit_lengths(divisors), "bits of 0 .. 255"),
    )
    kernel = Kernel.of("div", "div/kernel", constants, ("requantize_wide", "q31"))
    layer = LoweredLayer(
        kernel,
        operands=node.operands,
        tables=tables,
        instructions=round(node.types[0].size * ELEMENT),
    )
    return (Candidate.of(layer, "div"),)


DIV: Final = Tactic(
    candidates,
    "`div`: a product with a reciprocal from a table for each element, scaled.",
    baseline=2.9,
)
