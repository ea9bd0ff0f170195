"""Depthwise convolutions with a window of any size: loops over the taps.

Tests: tests/targets/cortexm/test_forced.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, LoweredLayer
from rlx_cortexm.image import WindowedImage
from rlx_cortexm.kernels.depthwise.by_tap import is_depthwise, layer_by_tap
from rlx_cortexm.kernels.depthwise.tactic import MAX_UNROLLED_TAPS
from rlx_cortexm.tactic import Tactic
from rlx_cortexm.weighted import REQUANTIZE, WeightedLayer, more_scaling

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QConv2d

TAP: Final = 11
"""Instructions for each tap, with the zero point subtracted from its input."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidates for a depthwise convolution with a large window."""
    if not is_depthwise(node) or cast("QConv2d", node.op).window.taps <= MAX_UNROLLED_TAPS:
        return ()
    return (Candidate.of(_layer(node), "depthwise large"),)


def _layer(node: Node) -> LoweredLayer:
    op, image = cast("QConv2d", node.op), WindowedImage.of(node)
    weighted = WeightedLayer.of(node, centred=True)
    constants = {
        **image.constants,
        **weighted.constants,
        "loops": image.loops,
        "multiples": image.out_c // image.in_c,
        "x_zero_point": op.x_zero_point,
    }
    kernel = Kernel.of("depthwise", "depthwise_large/kernel", constants, weighted.support)
    instructions = image.windows * image.out_c * (image.window.taps * TAP + REQUANTIZE)
    return layer_by_tap(node, weighted, kernel, instructions)


DEPTHWISE_LARGE: Final = Tactic(
    candidates,
    "`depthwise large`: window by window, one channel at a time, loops over the taps.",
    baseline=1.9,
    scaling=more_scaling,
)
