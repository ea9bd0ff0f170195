"""Sums and differences: each operand's scaled values from a table, the sum scaled in vectors.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.ops.q import QSub
from rlx_c.layer import Kernel
from rlx_host.kernels.channels import channel_rows, rounding_of
from rlx_host.kernels.loops import broadcast_loops
from rlx_host.layer import NativeLayer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Node
    from rlx.ops.q import QAdd
    from rlx_host.instruction_set import InstructionSet


def add(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer of a sum or difference."""
    op = cast("QAdd", node.op)
    values = np.arange(256, dtype=np.uint8).view(np.int8)
    sign = -1 if isinstance(op, QSub) else 1

    def first(operands: Sequence[Array]) -> Array:
        del operands
        return op.scaled_operands((values, values))[0].astype(np.int32)

    def second(operands: Sequence[Array]) -> Array:
        del operands
        return (sign * op.scaled_operands((values, values))[1]).astype(np.int32)

    def factors(operands: Sequence[Array]) -> Array:
        del operands
        return channel_rows(op.rescale, instructions.lanes)

    constants = {
        "loops": broadcast_loops(node),
        "stride": instructions.lanes,
        "rounding": rounding_of(op.rescale),
        "zero_point": op.zero_point,
        "low": op.low,
        "high": op.high,
    }
    kernel = Kernel.of(op.name.removeprefix("q."), "sum/kernel", constants)
    return NativeLayer(kernel, (0, 1), (first, second, factors))
