"""Dense layers in hardware.

Tests: tests/targets/fpga/architectures/dataflow/lower/test_rules.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.ops.q import QDense, Window
from rlx.targets.operands import constant_operand
from rlx_fpga.architectures.dataflow.lower.rules import RULES
from rlx_fpga.architectures.dataflow.lower.weighted import Matrix
from rlx_fpga.architectures.dataflow.lower.windows import Image

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_fpga.architectures.dataflow.lower.rules import Plan


@RULES.rule(QDense)
def lower_dense(node: Node) -> Plan:
    """Plan buffer, multipliers and requantizer: a convolution over one pixel."""
    op = cast("QDense", node.op)
    x = node.operands[0].type
    weights = constant_operand(node, 1, "weights").astype(np.int8)
    image = Image(x.size // weights.shape[1], 1, 1, weights.shape[1])
    return Matrix(node, op, image, Window((1, 1)), weights)
