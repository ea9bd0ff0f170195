"""Index of the first maximum along an axis.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from rlx_c.layer import Kernel
from rlx_host.layer import NativeLayer

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QArgmax
    from rlx_host.instruction_set import InstructionSet


def argmax(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer of an argmax."""
    del instructions
    op = cast("QArgmax", node.op)
    shape = node.operands[0].type.static_shape
    axis = op.axis % len(shape)
    constants = {
        "outer": math.prod(shape[:axis]),
        "length": shape[axis],
        "inner": math.prod(shape[axis + 1 :]),
    }
    return NativeLayer(Kernel.of("argmax", "argmax/kernel", constants), (0,))
