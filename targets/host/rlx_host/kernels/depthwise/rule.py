"""Depthwise convolutions: one output channel for each input channel.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx.ops.q import Linear
from rlx_c.layer import Kernel
from rlx_host.kernels.channels import channel_rows, rounding_of
from rlx_host.layer import NativeLayer, Split

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from rlx.ir import Array, Node
    from rlx.ops.q import QConv2d
    from rlx_host.instruction_set import InstructionSet

_SLACK: Final = 64
"""Bytes after scratch images and rows that the last vector may read or write."""


def is_depthwise(node: Node) -> bool:
    """Whether a convolution has one output channel for each input channel."""
    op = cast("QConv2d", node.op)
    channels = node.operands[0].type.static_shape[3]
    return 1 < op.groups == channels == node.types[0].static_shape[3]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Places of channels in vectors, and of rows in scratch memory.

    Attributes:
        offset: Subtracted from an activation before it is multiplied.
        merged: Neighbouring pixels that are computed together: lanes hold the channels of each.
        vectors: Vectors that hold the channels of the merged pixels.
        quads: Rows of the window that are multiplied together, in groups.
        image_size: Elements of the padded image in scratch memory.
        mixed_row: Groups of rows of one line of it, in words of 4 bytes.
        input_bytes: Bytes of an activation in scratch memory.
    """

    offset: int
    merged: int
    vectors: int
    quads: tuple[int, ...]
    image_size: int
    mixed_row: int
    input_bytes: int

    @classmethod
    def of(cls, node: Node, instructions: InstructionSet) -> _Layout:
        """Return the layout of a convolution for an instruction set."""
        op = cast("QConv2d", node.op)
        _, height, width, channels = node.operands[0].type.static_shape
        group, lanes, window = instructions.group, instructions.lanes, op.window
        merged = lanes // channels if channels < lanes and lanes % channels == 0 else 1
        if window.stride[1] > 1 or node.types[0].static_shape[2] < merged:
            merged = 1
        row = (width + sum(window.padding[1])) * channels
        input_bytes = 1 if group == 4 else 2
        image_bytes = _rounded((height + sum(window.padding[0])) * row * input_bytes + _SLACK)
        taps = window.kernel[0]
        return cls(
            offset=-128 if group == 4 else op.x_zero_point,
            merged=merged,
            vectors=-(-channels * merged // lanes),
            quads=tuple(min(group, taps - first) for first in range(0, taps, group)),
            image_size=image_bytes // input_bytes,
            mixed_row=_rounded(row * 4 + _SLACK + lanes * 4) // 4,
            input_bytes=input_bytes,
        )

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the padded image and of the groups of rows of a line."""
        return self.image_size * self.input_bytes + len(self.quads) * self.mixed_row * 4


def depthwise(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer of a depthwise convolution with fixed weights."""
    op, layout = cast("QConv2d", node.op), _Layout.of(node, instructions)
    channels, group = node.operands[0].type.static_shape[3], instructions.group
    padded = layout.vectors * instructions.lanes

    def weights(values: Sequence[Array]) -> Array:
        linear = Linear.of(op, values[1], values[2])
        return _packed(linear, op.window.kernel, layout.merged, padded, group)

    def table(values: Sequence[Array]) -> Array:
        linear = Linear.of(op, values[1], values[2])
        sums = linear.weights.sum(axis=1, dtype=np.int64)
        bias = linear.unfolded_bias + (layout.offset - linear.x_zero_point) * sums
        rows = np.stack([bias.astype(np.int32), *channel_rows(op.rescale, channels)])
        # Unused lanes need shifts that C allows.
        filled = np.ones((3, padded), np.int32)
        filled[:, : channels * layout.merged] = np.tile(rows, layout.merged)
        return filled

    constants = _constants(node, layout, instructions.lanes)
    images, rows, columns, _ = node.types[0].static_shape
    products = layout.vectors * op.window.kernel[1] * len(layout.quads)
    split = Split.of(images * rows, images * rows * columns * products // layout.merged)
    constants |= {"split": split is not None, "units": images * rows}
    kernel = Kernel.of("depthwise", "depthwise/kernel", constants)
    return NativeLayer(kernel, (0,), (weights, table), layout.scratch_bytes, split=split)


def _constants(node: Node, layout: _Layout, lanes: int) -> dict[str, Hashable]:
    """Return the constants of the template, apart from its units."""
    op = cast("QConv2d", node.op)
    batch, height, width, channels = node.operands[0].type.static_shape
    _, rows, columns, _ = node.types[0].static_shape
    window = op.window
    (top, bottom), (left, right) = window.padding
    return {
        "batch": batch,
        "height": height,
        "width": width,
        "channels": channels,
        "top": top,
        "left": left,
        "padded_height": height + top + bottom,
        "padded_width": width + left + right,
        "padding": op.x_zero_point - layout.offset,
        "flip": layout.offset,
        "kernel": window.kernel,
        "row_stride": window.stride[0],
        "span": (window.kernel[0] - 1) * window.dilation[0] + 1,
        "dilation": window.dilation,
        "rows": rows,
        "columns": columns,
        "step": window.stride[1] * channels,
        "vectors": layout.vectors,
        "merged": layout.merged,
        "tail": channels * layout.merged % lanes,
        "quads": layout.quads,
        "image_size": layout.image_size,
        "mixed_row": layout.mixed_row,
        "stride": layout.vectors * lanes,
        "rounding": rounding_of(op.rescale),
        "zero_point": op.zero_point,
        "low": op.low,
        "high": op.high,
    }


def _rounded(nbytes: int) -> int:
    """Return bytes rounded up to a multiple of 64."""
    return -(-nbytes // 64) * 64


def _packed(linear: Linear, kernel: tuple[int, int], merged: int, padded: int, group: int) -> Array:
    """Return weights [group of rows of taps, column of taps, channel, row in the group]."""
    height, width = kernel
    channels = len(linear.weights)
    quads = -(-height // group)
    rows = np.zeros((quads * group, width, padded), np.int8 if group == 4 else np.int16)
    rows[:height, :, : channels * merged] = np.tile(
        linear.weights.reshape(channels, height, width).transpose(1, 2, 0), merged
    )
    return np.ascontiguousarray(rows.reshape(quads, group, width, padded).transpose(0, 2, 3, 1))
