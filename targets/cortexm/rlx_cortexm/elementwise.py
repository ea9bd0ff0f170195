"""Shared parts of kernels of two operands: loops over both, conversion of a result to int8.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx_c.nest import broadcast_strides, nest, row_major
from rlx_cortexm.scaling import output_constants, scaling

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Node
    from rlx.ops.numerics.fixed_point import Rescale
    from rlx.ops.q import QAdd, QMatmul, QMul, QSquaredDifference


def result_constants(
    rescale: Rescale, bound: int, op: QAdd | QMatmul | QMul | QSquaredDifference
) -> dict[str, Hashable]:
    """Return the constants with which templates requantize values up to ``bound`` to int8."""
    chosen = scaling(rescale, bound)
    return {
        "requantize": chosen.function,
        "multiplier": chosen.multiplier[0],
        "shift": chosen.shift[0],
        **output_constants(op.low, op.high, op.zero_point),
    }


def loop_constants(node: Node) -> dict[str, Hashable]:
    """Return the loops over the result, with strides of both operands and of the result."""
    shape = node.types[0].static_shape
    operands = (broadcast_strides(o.type.static_shape, shape) for o in node.operands)
    return {"loops": nest(shape, *operands, row_major(shape))}
