"""Convolutions with MVE: windows are copied two at a time, then multiplied as rows of values.

Tests: tests/targets/cortexm/test_mve.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, Kernel, LoweredLayer
from rlx_cortexm.image import WindowedImage
from rlx_cortexm.kernels.dense_mve.tactic import for_rows
from rlx_cortexm.mve import factors
from rlx_cortexm.mve.rows import CHANNELS, DOT_BYTES, VECTOR, VectorRows, pack
from rlx_cortexm.narrow import WHOLE_BITS
from rlx_cortexm.tactic import Tactic
from rlx_cortexm.weighted import WeightedLayer

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QConv2d

WINDOW: Final = 18
"""Instructions per window of any size."""

COPIED: Final = 9
"""Instructions per copied vector."""

BORDER: Final = 99
BORDER_ROW: Final = 8
"""Additional instructions per window that reaches over the border, and per row of its taps."""

PAIR: Final = 18
"""Instructions per pair of windows and four channels."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a convolution whose channels are not in groups, if applicable."""
    op, image = cast("QConv2d", node.op), WindowedImage.of(node)
    if op.groups != 1:
        return ()
    weighted = WeightedLayer.of(node)
    if not factors.can_scale(weighted.scaling):
        return ()
    window = op.window
    if window.taps == 1 and window.stride == (1, 1) and not window.is_padded:
        return for_rows(node, weighted, image.windows, "pointwise")
    if window.dilation[1] != 1:
        return ()
    return (Candidate.of(_layer(node, weighted), "mve windows"),)


def _layer(node: Node, weighted: WeightedLayer) -> LoweredLayer:
    """Return the layer."""
    op, image = cast("QConv2d", node.op), WindowedImage.of(node)
    run = VectorRows(op.window.taps * image.in_c, tail=False)
    constants = {
        **factors.constants(weighted),
        **image.constants,
        **run.constants,
        "inside": image.inside,
        "interior": image.interior,
        "windows": image.windows,
        "odd": image.out_c % CHANNELS != 0,
        "x_zero_point": op.x_zero_point,
    }
    packed = pack(weighted.weights.reshape(image.out_c, -1))
    note = f"weights of {image.out_c} channels by {run.inputs} inputs, four channels interleaved"
    border = ("mve_fill",) if image.inside != "all" else ()
    support = ("mve_copy", *border, *factors.support(weighted))
    return LoweredLayer(
        Kernel.of(
            "conv2d", "conv2d_mve/kernel", constants, support, CodeSize(0.6, inlined=DOT_BYTES)
        ),
        operands=node.operands[:1],
        tables=(weighted.table(packed, note), factors.factor_table(weighted)),
        arguments=factors.arguments(weighted),
        scratch_bytes=2 * VECTOR * run.vectors,
        macs=image.windows * weighted.weights.size,
        instructions=_instructions(weighted, image, run),
        weight_bits=WHOLE_BITS,
    )


def _instructions(weighted: WeightedLayer, image: WindowedImage, run: VectorRows) -> int:
    y0, y1, x0, x1 = image.interior
    border = image.windows - image.batch * (y1 - y0) * (x1 - x0)
    kernel_h, kernel_w = image.window.kernel
    row = COPIED * -(-kernel_w * image.in_c // VECTOR)
    copied = image.windows * (WINDOW + kernel_h * row) + border * (BORDER + kernel_h * BORDER_ROW)
    block = run.instructions(2) + 2 * factors.instructions(weighted) + PAIR
    blocks = -(-image.windows // 2) * -(-image.out_c // CHANNELS)
    return copied + blocks * block


CONV2D_MVE: Final = Tactic(
    candidates,
    "`mve windows`: windows are copied two at a time and multiplied 16 inputs at a time with MVE.",
    vectors=True,
)
