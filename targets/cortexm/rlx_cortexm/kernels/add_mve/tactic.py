"""Sums and differences of values with MVE, four at a time.

Tests: tests/targets/cortexm/test_mve.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx.ops.q import QAdd, QSub
from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, Kernel, LoweredLayer
from rlx_cortexm.mve import factors
from rlx_cortexm.scaling import CENTRED, output_constants, scaling, scaling_of_values
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node

LOOP: Final = 8
"""Instructions for four elements, without scaling."""

OPERAND: Final = 4
NEGATIVE: Final = 2
WIDE: Final = 4
"""Instructions per scaled operand; additional ones if it may be negative, and for any factor."""

_INT8: Final = np.arange(-128, 128).astype(np.int8)


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for operands of the result's shape, if applicable."""
    op = cast("QAdd", node.op)
    shape = node.types[0].static_shape
    if any(operand.type.static_shape != shape for operand in node.operands):
        return ()
    scaled = op.scaled_operands((_INT8, _INT8))
    bound = sum(int(np.abs(values).max()) for values in scaled)
    values = CENTRED << op.left_shift
    operand_scalings = [scaling_of_values(r, values) for r in (op.x_rescale, op.y_rescale)]
    result = scaling(op.rescale, bound)
    if not all(map(factors.can_scale, (*operand_scalings, result))):
        return ()
    zero_points = (op.x_zero_point, op.y_zero_point)
    scales = tuple(
        (
            factors.SUFFIXES[own.function],
            own.function.replace("requantize", "scale"),
            own.multiplier[0],
            factors.right_shift(own)[0],
            # No value is below the minimum: the scaled difference is not negative.
            zero_point == _INT8[0],
        )
        for own, zero_point in zip(operand_scalings, zero_points, strict=True)
    )
    constants = {
        "length": node.types[0].size,
        "sign": "-" if isinstance(op, QSub) else "+",
        "left_shift": op.left_shift,
        "zero_points": zero_points,
        "scales": scales,
        "requantize": result.function,
        "scale": factors.SUFFIXES[result.function],
        "multiplier": result.multiplier[0],
        "shift": factors.right_shift(result)[0],
        "positive": op.low >= op.zero_point,
        **output_constants(op.low, op.high, op.zero_point),
    }
    support = ("mve", result.function, *(function for _, function, *_ in scales))
    kind = "sub" if isinstance(op, QSub) else "add"
    steps = -(-node.types[0].size // factors.LANES)
    count = LOOP + sum(
        OPERAND
        + NEGATIVE * (suffix in ("narrow", "wide") and not positive)
        + WIDE * (suffix not in ("narrow", "high"))
        for suffix, *_, positive in (*scales, (constants["scale"], constants["positive"]))
    )
    kernel = Kernel.of(kind, "add_mve/kernel", constants, support, CodeSize(0.5))
    layer = LoweredLayer(kernel, operands=node.operands, instructions=steps * count)
    return (Candidate.of(layer, f"mve {kind}"),)


ADD_MVE: Final = Tactic(candidates, "`mve add`: four elements at a time with MVE.", vectors=True)
