"""Depthwise convolutions with a small window, tap by tap: four channels side by side.

Tests: tests/targets/cortexm/test_forced.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, Kernel, LoweredLayer
from rlx_cortexm.image import WindowedImage
from rlx_cortexm.kernels.depthwise.by_tap import is_depthwise, layer_by_tap
from rlx_cortexm.packing import BLOCK
from rlx_cortexm.tactic import Tactic
from rlx_cortexm.weighted import REQUANTIZE, WeightedLayer, more_scaling

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QConv2d

MAX_UNROLLED_TAPS: Final = 16
"""Windows up to this size are unrolled tap by tap."""

_WINDOW: Final = 30
"""Instructions for each window."""

_LANES: Final = 10
_LANES_OUTSIDE: Final = 17
"""Instructions per tap of four channels, inside the image and over its border."""

_SINGLE: Final = 3
_SINGLE_OUTSIDE: Final = 6
"""Instructions per tap of one channel, inside and over the border."""

_TAP_OUTSIDE: Final = 15
"""Instructions per tap of a window over the border, for any number of channels."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidates for a depthwise convolution with a small window."""
    if not is_depthwise(node) or cast("QConv2d", node.op).window.taps > MAX_UNROLLED_TAPS:
        return ()
    return (Candidate.of(_layer(node), "depthwise"),)


def _layer(node: Node) -> LoweredLayer:
    op, image = cast("QConv2d", node.op), WindowedImage.of(node)
    weighted = WeightedLayer.of(node)
    padded = image.inside != "all"
    blocked = image.out_c - image.out_c % BLOCK if image.out_c == image.in_c else 0
    constants = {
        **image.constants,
        **weighted.constants,
        "loops": image.loops,
        "inside": image.inside,
        "interior": image.interior,
        "taps": image.taps,
        "multiples": image.out_c // image.in_c,
        "blocked": blocked,
        "x_zero_point": op.x_zero_point if padded else 0,
    }
    support = (*(("lanes4",) if blocked else ()), *weighted.support)
    kernel = Kernel.of("depthwise", "depthwise/kernel", constants, support, CodeSize(1.25))
    scratch_bytes = image.in_c if padded else 0
    return layer_by_tap(node, weighted, kernel, _instructions(image, blocked), scratch_bytes)


def _instructions(image: WindowedImage, blocked: int) -> int:
    """Return the instructions of a layer that computes ``blocked`` channels four at a time."""
    taps, singles = image.window.taps, image.out_c - blocked
    y0, y1, x0, x1 = image.interior
    inner = (y1 - y0) * (x1 - x0)
    outer = image.out_h * image.out_w - inner
    outputs = image.windows * (image.out_c * REQUANTIZE + _WINDOW)
    within = blocked // BLOCK * taps * _LANES + singles * taps * _SINGLE
    without = blocked // BLOCK * taps * _LANES_OUTSIDE + singles * taps * _SINGLE_OUTSIDE
    return outputs + image.batch * (inner * within + outer * (without + taps * _TAP_OUTSIDE))


DEPTHWISE: Final = Tactic(
    candidates,
    "`depthwise`: window by window, four channels at a time, taps unrolled.",
    portable=1.3,
    baseline=3,
    scaling=more_scaling,
)
