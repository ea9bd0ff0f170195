"""Loops of elementwise kernels over operands that broadcast.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx_c.nest import StridedLoop, broadcast_strides, nest, row_major

if TYPE_CHECKING:
    from rlx.ir import Node

BLOCK: Final = 1024
"""Elements of a unit of a loop over neighbouring ones: whole vectors of every instruction set."""


def broadcast_loops(node: Node) -> tuple[StridedLoop, ...]:
    """Return the loops over the result, with strides of each operand and of the result.

    There is at least one loop, and the innermost one writes neighbouring elements.
    """
    shape = node.types[0].static_shape
    operands = [broadcast_strides(o.type.static_shape, shape) for o in node.operands]
    loops = nest(shape, *operands, row_major(shape))
    return loops or (StridedLoop(1, (0,) * len(operands) + (1,)),)
