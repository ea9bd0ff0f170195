"""Products of two computed matrices, row by row.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rlx_c.layer import Kernel
from rlx_c.nest import matrix_rows
from rlx_host.kernels.rescaling import result_constants
from rlx_host.layer import NativeLayer, Split

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QMatmul
    from rlx_host.instruction_set import InstructionSet


def matmul(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer of a product."""
    del instructions
    op = cast("QMatmul", node.op)
    x, y = (operand.type.static_shape for operand in node.operands)
    depth, columns = y[-2:]
    rows = matrix_rows(x, y)
    split = Split.of(rows[0].extent, node.types[0].size * depth // 8) if rows else None
    constants = {
        "split": split is not None,
        "rows": rows,
        "depth": depth,
        "columns": columns,
        "zero_points": (op.x_zero_point, op.y_zero_point),
        **result_constants(op),
    }
    kernel = Kernel.of("product", "matmul/kernel", constants)
    return NativeLayer(kernel, (0, 1), scratch_bytes=4 * columns, split=split)
