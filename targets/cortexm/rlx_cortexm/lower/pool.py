"""Pools in C."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rlx.ops.q import QAveragePool2d, QMaxPool2d
from rlx_cortexm import costs
from rlx_cortexm.layer import Kernel, Layer
from rlx_cortexm.lower.image import Image
from rlx_cortexm.lower.rules import RULES

if TYPE_CHECKING:
    from rlx.ir import Node


@RULES.rule(QAveragePool2d)
def lower_average_pool(node: Node) -> Layer:
    """Average each window over the taps that lie inside: ``avg_pool2d_s8.c.j2``."""
    return _pool(node, "avg_pool2d")


@RULES.rule(QMaxPool2d)
def lower_max_pool(node: Node) -> Layer:
    """Take the greatest code of each window: ``max_pool2d_s8.c.j2``."""
    return _pool(node, "max_pool2d")


def _pool(node: Node, kind: str) -> Layer:
    op = cast("QAveragePool2d | QMaxPool2d", node.op)
    image = Image.of(node)
    constants = {
        **image.constants,
        "loops": image.loops,
        "clipped": image.inside != "all",
        "low": op.low,
        "high": op.high,
    }
    codes = image.windows * image.out_c
    instructions = codes * (image.window.taps * costs.TAP + costs.REQUANTIZE)
    kernel = Kernel.of(kind, f"{kind}_s8", constants)
    return Layer(kernel, operands=node.operands, instructions=instructions)
