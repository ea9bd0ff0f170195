"""Pools in C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx.ops.q import QAveragePool2d, QMaxPool2d
from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, Layer
from rlx_cortexm import costs
from rlx_cortexm.image import Image
from rlx_cortexm.lower.rules import RULES

if TYPE_CHECKING:
    from rlx.ir import Node

LANES: Final = 4
"""Channels that are summed side by side."""

LANES_TAPS: Final = 255
"""Taps whose sum fits 16 bits, whatever the codes."""

WRITTEN: Final = 8
"""Taps of a row that may be written out."""


@RULES.rule(QAveragePool2d)
def lower_average_pool(node: Node) -> tuple[Candidate, ...]:
    """Average each window over the taps inside: ``avg_pool2d_s8``, ``avg_pool2d_lanes_s8``."""
    return (*_lanes(node), Candidate.of(_pool(node, "avg_pool2d", "pool2d/average"), "avg pool2d"))


@RULES.rule(QMaxPool2d)
def lower_max_pool(node: Node) -> tuple[Candidate, ...]:
    """Take the greatest code of each window: ``max_pool2d_s8.c.j2``."""
    return (Candidate.of(_pool(node, "max_pool2d", "pool2d/max"), "max pool2d"),)


def _lanes(node: Node) -> tuple[Candidate, ...]:
    """Return the kernel for four channels side by side, if sums of codes fit 16 bits."""
    op = cast("QAveragePool2d", node.op)
    image = Image.of(node)
    taps = image.window.taps
    if image.inside != "all" or op.window.is_padded or image.in_c < LANES or taps > LANES_TAPS:
        return ()
    written = image.window.kernel[1] <= WRITTEN
    constants = {
        **image.constants,
        "loops": image.loops,
        "written": written,
        "low": op.low,
        "high": op.high,
    }
    kernel = Kernel.of("avg_pool2d", "pool2d/lanes", constants, ("lanes_sum",))
    instructions = costs.lanes_pool(image, written=written)
    layer = Layer(kernel, operands=node.operands, instructions=instructions)
    return (Candidate.of(layer, "avg pool2d lanes"),)


def _pool(node: Node, kind: str, template: str) -> Layer:
    op = cast("QAveragePool2d | QMaxPool2d", node.op)
    image = Image.of(node)
    constants = {
        **image.constants,
        "loops": image.loops,
        "clipped": image.inside != "all",
        "low": op.low,
        "high": op.high,
    }
    rows, columns = image.window.taps_inside((image.in_h, image.in_w))
    high, wide = sum(rows) / len(rows), sum(columns) / len(columns)
    greatest = isinstance(op, QMaxPool2d)
    instructions = costs.pool(image, high, high * wide, greatest=greatest)
    kernel = Kernel.of(kind, template, constants)
    return Layer(kernel, operands=node.operands, instructions=instructions)
