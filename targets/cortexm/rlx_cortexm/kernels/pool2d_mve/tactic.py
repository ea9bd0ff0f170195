"""Pools with MVE: 8 sums or 16 maxima at a time.

Tests: tests/targets/cortexm/test_mve.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx.ops.q import QAveragePool2d
from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, Kernel, LoweredLayer
from rlx_cortexm.image import WindowedImage
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QMaxPool2d

MAX_TAPS: Final = 255
"""Values whose sum fits 16 bits: 255 * 128 < 2^15."""

TAP: Final = 4
ROW: Final = 4
WINDOW: Final = 40
MEAN: Final = 9
"""Instructions of an average: of a tap of a vector, a row of taps, a vector, an output."""

MAX_TAP: Final = 3
MAX: Final = 8
"""Instructions of a maximum: per tap of a vector, per vector."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a pool, if applicable."""
    op, image = cast("QAveragePool2d | QMaxPool2d", node.op), WindowedImage.of(node)
    average = isinstance(op, QAveragePool2d)
    if average and image.window.taps > MAX_TAPS:
        return ()
    lanes = 8 if average else 16
    constants = {
        **image.constants,
        "loops": image.loops,
        "clipped": image.inside != "all",
        "rest": image.in_c % lanes,
        "low": op.low,
        "high": op.high,
    }
    kind = "avg_pool2d" if average else "max_pool2d"
    kernel = Kernel.of(
        kind, f"pool2d_mve/{'average' if average else 'max'}", constants, ("mve",), CodeSize(0.4)
    )
    vectors = image.windows * -(-image.in_c // lanes)
    taps, rows = image.window.taps, image.window.kernel[0]
    if average:
        instructions = vectors * (WINDOW + ROW * rows + TAP * taps + lanes * MEAN)
    else:
        instructions = vectors * (MAX + MAX_TAP * taps)
    layer = LoweredLayer(kernel, operands=node.operands, instructions=instructions)
    return (Candidate.of(layer, f"mve {kind}"),)


POOL_MVE: Final = Tactic(
    candidates,
    "`mve avg_pool2d`, `mve max_pool2d`: 8 sums or 16 maxima at a time with MVE.",
    vectors=True,
)
