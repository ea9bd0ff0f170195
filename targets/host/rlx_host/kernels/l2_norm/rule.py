"""Vectors divided by their lengths in fixed point.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rlx_c.layer import Kernel
from rlx_host.layer import NativeLayer, Split

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QL2Norm
    from rlx_host.instruction_set import InstructionSet


def l2_norm(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer of a normalization."""
    del instructions
    op = cast("QL2Norm", node.op)
    x = node.operands[0].type
    length = x.static_shape[-1]
    rows = x.size // length
    split = Split.of(rows, 4 * x.size)
    constants = {
        "split": split is not None,
        "rows": rows,
        "length": length,
        "zero_point": op.x_zero_point,
    }
    return NativeLayer(Kernel.of("l2_norm", "l2_norm/kernel", constants), (0,), split=split)
