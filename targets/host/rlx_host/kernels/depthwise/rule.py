"""Depthwise convolutions: one output channel for each input channel.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx.ops.q import Linear
from rlx_c.layer import Kernel
from rlx_host.kernels.channels import channel_rows, rounding_of
from rlx_host.layer import NativeLayer

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


def depthwise(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer of a depthwise convolution with fixed weights."""
    op = cast("QConv2d", node.op)
    batch, height, width, channels = node.operands[0].type.static_shape
    _, rows, columns, _ = node.types[0].static_shape
    window, group, lanes = op.window, instructions.group, instructions.lanes
    (top, bottom), (left, right) = window.padding
    padded_height, padded_width = height + top + bottom, width + left + right
    offset = -128 if group == 4 else op.x_zero_point
    # Pixels of few channels are computed together: lanes hold channels of neighbouring ones.
    merged = lanes // channels if channels < lanes and lanes % channels == 0 else 1
    if window.stride[1] > 1 or columns < merged:
        merged = 1
    vectors = -(-channels * merged // lanes)
    row = padded_width * channels
    input_bytes = 1 if group == 4 else 2
    image_size = _rounded(padded_height * row * input_bytes + _SLACK) // input_bytes
    mixed_row = _rounded(row * 4 + _SLACK + lanes * 4) // 4
    quads = tuple(
        min(group, window.kernel[0] - first) for first in range(0, window.kernel[0], group)
    )
    constants: dict[str, Hashable] = {
        "batch": batch,
        "height": height,
        "width": width,
        "channels": channels,
        "top": top,
        "left": left,
        "padded_height": padded_height,
        "padded_width": padded_width,
        "padding": op.x_zero_point - offset,
        "flip": offset,
        "kernel": window.kernel,
        "row_stride": window.stride[0],
        "dilation": window.dilation,
        "rows": rows,
        "columns": columns,
        "step": window.stride[1] * channels,
        "vectors": vectors,
        "merged": merged,
        "tail": channels * merged % lanes,
        "quads": quads,
        "image_size": image_size,
        "mixed_row": mixed_row,
        "stride": vectors * lanes,
        "rounding": rounding_of(op.rescale),
        "zero_point": op.zero_point,
        "low": op.low,
        "high": op.high,
    }

    def weights(values: Sequence[Array]) -> Array:
        linear = Linear.of(op, values[1], values[2])
        return _packed(linear, window.kernel, merged, vectors * lanes, group)

    def table(values: Sequence[Array]) -> Array:
        linear = Linear.of(op, values[1], values[2])
        sums = linear.weights.sum(axis=1, dtype=np.int64)
        bias = linear.unfolded_bias + (offset - linear.x_zero_point) * sums
        rows = np.stack([bias.astype(np.int32), *channel_rows(op.rescale, channels)])
        # Unused lanes need shifts that C allows.
        padded = np.ones((3, vectors * lanes), np.int32)
        padded[:, : channels * merged] = np.tile(rows, merged)
        return padded

    scratch = image_size * input_bytes + len(quads) * mixed_row * 4
    kernel = Kernel.of("depthwise", "depthwise/kernel", constants)
    return NativeLayer(kernel, (0,), (weights, table), scratch)


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
