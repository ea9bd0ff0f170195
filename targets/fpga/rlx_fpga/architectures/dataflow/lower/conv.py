"""Convolutions in hardware.

Tests: tests/targets/fpga/architectures/dataflow/lower/test_rules.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.ops.q import QConv2d
from rlx.targets.operands import constant_operand
from rlx_fpga.architectures.dataflow.lower.rules import RULES
from rlx_fpga.architectures.dataflow.lower.weighted import DepthwiseConvolution, Matrix
from rlx_fpga.architectures.dataflow.lower.windows import Image

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_fpga.architectures.dataflow.lower.rules import Plan
    from rlx_fpga.cells.rom import Integers


@RULES.rule(QConv2d)
def lower_conv2d(node: Node) -> Plan:
    """Plan line buffer, multipliers and requantizer.

    A grouped convolution that is not depthwise is built as a full one, with zeros for weights.
    """
    op = cast("QConv2d", node.op)
    image = Image(*node.operands[0].type.static_shape)
    weights = constant_operand(node, 1, "weights").astype(np.int8)
    if 1 < op.groups == image.channels:
        return DepthwiseConvolution(node, op, image)
    full = _full(weights, op.groups)
    return Matrix(node, op, image, op.window, full.reshape(len(full), -1))


def _full(weights: Integers, groups: int) -> Integers:
    """Return weights [O, KH, KW, C] equivalent to [O, KH, KW, C / groups] in groups."""
    outputs, rows, columns, inner = weights.shape
    full = np.zeros((outputs, rows, columns, inner * groups), np.int8)
    share = outputs // groups
    for group in range(groups):
        mine = slice(group * share, (group + 1) * share)
        full[mine, ..., group * inner : (group + 1) * inner] = weights[mine]
    return full
