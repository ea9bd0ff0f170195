"""Softmax: exponentials from a table, divided by their sum in fixed point.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.ops.numerics.exponential import softmax_table
from rlx_c.layer import Kernel
from rlx_host.layer import NativeLayer, Split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Node
    from rlx.ops.q import QSoftmax
    from rlx_host.instruction_set import InstructionSet


def softmax(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer of a softmax."""
    del instructions
    op = cast("QSoftmax", node.op)
    x = node.operands[0].type
    classes = x.static_shape[-1]

    def exponentials(operands: Sequence[Array]) -> Array:
        del operands
        return softmax_table(op.multiplier, op.left_shift, op.diff_min).astype(np.int32)

    rows = x.size // classes
    split = Split.of(rows, 16 * x.size)
    constants = {"split": split is not None, "rows": rows, "classes": classes}
    kernel = Kernel.of("softmax", "softmax/kernel", constants)
    return NativeLayer(kernel, (0,), (exponentials,), split=split)
