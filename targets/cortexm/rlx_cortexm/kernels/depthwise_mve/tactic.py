"""Depthwise convolutions with MVE: a window of up to 4 by 4 taps is one vector.

The rows of four lines of a channel's image are packed in words, one word to a column; the
words of a window's columns are adjacent: an output needs one load and one multiplication.
A new line replaces the oldest one in the words, and the weights are rotated to match.

Tests: tests/targets/cortexm/test_mve.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, Kernel, LoweredLayer
from rlx_cortexm.image import WindowedImage
from rlx_cortexm.mve import factors
from rlx_cortexm.mve.rows import VECTOR
from rlx_cortexm.narrow import WHOLE_BITS
from rlx_cortexm.tactic import Tactic
from rlx_cortexm.weighted import WeightedLayer

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Array, Node
    from rlx.ops.q import QConv2d

LINES: Final = 4
"""Lines that a word holds; also the most taps of a window in either direction."""

BLOCK: Final = 8
"""Channels whose columns are kept at a time."""

OUTPUTS: Final = 4
"""Outputs computed together."""

CHANNEL: Final = 26
"""Instructions for a channel of a line."""

STEP: Final = 13
"""Instructions per four outputs, without scaling."""

COLUMN: Final = 8
MASKED: Final = 4
"""Instructions to copy a column of eight channels; additional ones if there may be fewer."""

FILL: Final = 5
"""Instructions to fill 16 values of columns at the start."""


@dataclass(frozen=True, slots=True)
class ColumnAxis:
    """One direction of the image.

    Attributes:
        size: Rows or columns of the input.
        outputs: Of the result.
        taps: Of the window.
        stride: Steps between windows.
        pad: Rows or columns before the image.
        step: Elements from one row or column of the input to the next.
        out_step: Elements from one of the result to the next.
    """

    size: int
    outputs: int
    taps: int
    stride: int
    pad: int
    step: int
    out_step: int


@dataclass(frozen=True, slots=True)
class Columns:
    """A depthwise convolution cut into lines and columns.

    Attributes:
        image: Its geometry.
        line: The axis along which lines follow each other.
        column: The axis along which vectors of outputs run.
        transposed: Whether columns are the image's rows.
    """

    image: WindowedImage
    line: ColumnAxis
    column: ColumnAxis
    transposed: bool

    @staticmethod
    def cuts(image: WindowedImage) -> tuple[Columns, Columns]:
        """Return both ways."""
        (kernel_h, kernel_w), (stride_h, stride_w) = image.window.kernel, image.window.stride
        (top, _), (left, _) = image.window.padding
        row, out_row = image.in_w * image.in_c, image.out_w * image.out_c
        rows = ColumnAxis(image.in_h, image.out_h, kernel_h, stride_h, top, row, out_row)
        columns = ColumnAxis(
            image.in_w, image.out_w, kernel_w, stride_w, left, image.in_c, image.out_c
        )
        return Columns(image, rows, columns, False), Columns(image, columns, rows, True)

    @property
    def steps(self) -> int:
        """Vectors of outputs in a line; the last one may be partly used."""
        return -(-self.column.outputs // OUTPUTS)

    @property
    def pitch(self) -> int:
        """Bytes of a channel's columns."""
        column = self.column
        read = (self.steps * OUTPUTS - 1) * column.stride + LINES
        return -(-LINES * max(column.pad + column.size, read) // VECTOR) * VECTOR

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the columns of a block of channels."""
        return min(BLOCK, self.image.out_c) * self.pitch

    @property
    def constants(self) -> dict[str, Hashable]:
        """Constants of the template."""
        axis_constants = {
            f"{name}_{key}": getattr(axis, key)
            for name, axis in (("line", self.line), ("column", self.column))
            for key in ("size", "outputs", "stride", "pad", "step", "out_step")
        }
        return {
            **axis_constants,
            "line_taps": self.line.taps,
            "pitch": self.pitch,
            "transposed": self.transposed,
        }

    def instructions(self, weighted: WeightedLayer) -> int:
        """Return the approximate number of its instructions."""
        image, line = self.image, self.line
        step = STEP + factors.instructions(weighted)
        blocks = -(-image.out_c // BLOCK)
        lines = min(line.size + line.taps, (line.outputs - 1) * line.stride + line.taps)
        column = COLUMN + MASKED * (image.out_c % BLOCK != 0)
        column_copies = blocks * lines * self.column.size * column
        products = line.outputs * image.out_c * (CHANNEL + self.steps * step)
        fills = blocks * BLOCK * self.pitch // VECTOR * FILL
        return image.batch * (column_copies + products + fills)


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidates for a depthwise convolution with a small window."""
    op, image = cast("QConv2d", node.op), WindowedImage.of(node)
    if not (op.groups == image.in_c == image.out_c > 1) or op.window.dilation != (1, 1):
        return ()
    weighted = WeightedLayer.of(node)
    small = max(op.window.kernel) <= LINES and max(op.window.stride) <= LINES
    if not small or not factors.can_scale(weighted.scaling):
        return ()
    return tuple(
        Candidate.of(
            _layer(node, weighted, columns),
            f"mve columns along {'height' if columns.transposed else 'width'}",
        )
        for columns in Columns.cuts(image)
    )


def _layer(node: Node, weighted: WeightedLayer, columns: Columns) -> LoweredLayer:
    """Return the layer."""
    op, image = cast("QConv2d", node.op), columns.image
    constants = {
        **factors.constants(weighted),
        **image.constants,
        **columns.constants,
        "loops": image.loops,
        "channels_rest": image.out_c % BLOCK,
        "x_zero_point": op.x_zero_point,
    }
    note = f"weights of {image.out_c} channels by 4 columns by 4 lines, unused ones zero"
    support = ("mve", "mve_fill", *weighted.support)
    return LoweredLayer(
        Kernel.of("depthwise", "depthwise_mve/kernel", constants, support, CodeSize(0.5)),
        operands=node.operands[:1],
        tables=weighted.tables(_by_column(weighted.weights, columns), note),
        arguments=weighted.arguments,
        scratch_bytes=columns.scratch_bytes,
        macs=image.windows * weighted.weights.size,
        instructions=columns.instructions(weighted),
        weight_bits=WHOLE_BITS,
    )


def _by_column(weights: Array, columns: Columns) -> Array:
    """Return weights [O, height, width, 1] as [O, 4 columns, 4 lines], filled up with zeros."""
    taps = weights[..., 0] if columns.transposed else weights[..., 0].transpose(0, 2, 1)
    _, across, lines = taps.shape
    return np.pad(taps, ((0, 0), (0, LINES - across), (0, LINES - lines))).reshape(-1)


DEPTHWISE_MVE: Final = Tactic(
    candidates,
    "`mve columns`: four rows of a channel are packed in words, so a window is one vector of MVE.",
    vectors=True,
)
