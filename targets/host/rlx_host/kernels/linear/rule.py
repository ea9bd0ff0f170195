"""Convolutions and dense layers: geometry of the tiles, and weights in the order they are read.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx.ir import Refusal
from rlx.ops.q import Linear
from rlx_c.layer import Kernel
from rlx_host.kernels.channels import channel_rows, rounding_of
from rlx_host.kernels.depthwise.rule import depthwise, is_depthwise
from rlx_host.layer import NativeLayer, Split, is_fixed

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, Node
    from rlx.ops.q import QConv2d, QDense
    from rlx_host.instruction_set import InstructionSet

_ACCUMULATORS: Final = 24
"""Vectors of sums that a tile keeps in registers, of 32."""
_FEW_ACCUMULATORS: Final = 12
"""The same where the processor has 16 registers."""
_SLACK: Final = 64
"""Bytes after the scratch image that the last group of a row may read."""


@dataclass(frozen=True, slots=True)
class Block:
    """Vectors of output channels that one kind of tile computes.

    Attributes:
        first: Index of the first vector.
        last: Index after the last one.
        shape: Vectors of a tile, and the lanes of its last vector that hold channels.
    """

    first: int
    last: int
    shape: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Geometry:
    """A layer as a window over rows of pixels; a dense layer has one row of 1x1 windows.

    Attributes:
        batch: Images.
        height: Rows of pixels of an image.
        width: Pixels of a row.
        channels: Channels of a pixel.
        kernel: Height and width of the window in taps.
        stride: Steps between windows.
        dilation: Steps between taps.
        padding: ``((top, bottom), (left, right))``.
        rows: Rows of windows.
        columns: Windows of a row.
        outputs: Output channels.
        groups: Groups of channels.
    """

    batch: int
    height: int
    width: int
    channels: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[tuple[int, int], tuple[int, int]]
    rows: int
    columns: int
    outputs: int
    groups: int

    @property
    def padded(self) -> tuple[int, int]:
        """Height and width of an image with its padding."""
        (top, bottom), (left, right) = self.padding
        return self.height + top + bottom, self.width + left + right

    @property
    def is_row(self) -> bool:
        """Whether each window is one pixel of the only row."""
        pixels = self.padded == (self.height, self.width) == (1, self.columns)
        return pixels and self.kernel == self.stride == (1, 1)

    @property
    def runs(self) -> tuple[int, int]:
        """Number of runs of neighbouring values in a row of taps, and their length."""
        inner = self.channels // self.groups
        if self.groups == 1 and self.dilation[1] == 1:
            return 1, self.kernel[1] * inner
        return self.kernel[1], inner


def dense(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a dense layer."""
    x, result = node.operands[0].type, node.types[0]
    inner, outputs = x.static_shape[-1], result.static_shape[-1]
    rows = math.prod(x.static_shape[:-1])
    return _layer(node, _pointwise(1, rows, inner, outputs), instructions)


def conv2d(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a convolution."""
    if not all(is_fixed(operand) for operand in node.operands[1:]):
        return Refusal("its weights are computed")
    if is_depthwise(node):
        return depthwise(node, instructions)
    op = cast("QConv2d", node.op)
    batch, height, width, channels = node.operands[0].type.static_shape
    _, rows, columns, outputs = node.types[0].static_shape
    window = op.window
    plain = window.kernel == window.stride == (1, 1) and not window.is_padded
    if plain and op.groups == 1:
        return _layer(node, _pointwise(batch, height * width, channels, outputs), instructions)
    geometry = Geometry(
        batch, height, width, channels, window.kernel, window.stride, window.dilation,
        window.padding, rows, columns, outputs, op.groups,
    )  # fmt: skip
    return _layer(node, geometry, instructions)


def _pointwise(batch: int, pixels: int, channels: int, outputs: int) -> Geometry:
    return Geometry(
        batch, 1, pixels, channels, (1, 1), (1, 1), (1, 1), ((0, 0), (0, 0)), 1, pixels, outputs, 1
    )


def _layer(node: Node, geometry: Geometry, instructions: InstructionSet) -> NativeLayer | Refusal:
    if not all(is_fixed(operand) for operand in node.operands[1:]):
        return Refusal("its weights are computed")
    op = cast("QConv2d | QDense", node.op)
    group, lanes = instructions.group, instructions.lanes
    offset = -128 if group == 4 else op.x_zero_point
    group_outputs = geometry.outputs // geometry.groups
    vectors = -(-group_outputs // lanes)
    pixels, blocks = _tiles(geometry.columns, group_outputs, instructions)
    run_count, run_length = geometry.runs
    vector_groups = geometry.kernel[0] * run_count * -(-run_length // group)
    unit_rows = -(-geometry.columns // pixels[0]) if geometry.is_row else geometry.rows
    units = geometry.batch * unit_rows
    elements = geometry.batch * geometry.rows * geometry.columns * geometry.groups
    split = Split.of(units, elements * vector_groups * vectors)
    constants: dict[str, Hashable] = {
        **_image_constants(geometry, group),
        "split": split is not None,
        "units": units,
        "unit_rows": unit_rows,
        "padding": op.x_zero_point - offset,
        "flip": offset,
        "group_outputs": group_outputs,
        "blocks": blocks,
        "pixels": pixels,
        "vectors": vectors,
        "vector_weights": vector_groups * lanes * group,
        "stride": geometry.groups * vectors * lanes,
        "rounding": rounding_of(op.rescale),
        "zero_point": op.zero_point,
        "low": op.low,
        "high": op.high,
    }
    padded_height, padded_width = geometry.padded
    scratch = padded_height * padded_width * geometry.channels * (1 if group == 4 else 2) + _SLACK

    def weights(values: Sequence[Array]) -> Array:
        return _packed(Linear.of(op, values[1], values[2]), geometry, blocks, instructions)

    def channels(values: Sequence[Array]) -> Array:
        return _channels(Linear.of(op, values[1], values[2]), geometry, vectors * lanes, offset)

    kernel = Kernel.of(op.name.removeprefix("q."), "linear/kernel", constants)
    return NativeLayer(kernel, (0,), (weights, channels), scratch, split=split)


def _image_constants(geometry: Geometry, group: int) -> dict[str, Hashable]:
    """Return the parameters of the template that describe image, window and result.

    Args:
        geometry: Their sizes.
        group: Products that one lane adds at once.
    """
    run_count, run_length = geometry.runs
    step, row = geometry.channels, geometry.padded[1] * geometry.channels
    return {
        "by_tiles": geometry.is_row,
        "row_stride": geometry.stride[0],
        "span": (geometry.kernel[0] - 1) * geometry.dilation[0] + 1,
        "batch": geometry.batch,
        "height": geometry.height,
        "width": geometry.width,
        "channels": geometry.channels,
        "top": geometry.padding[0][0],
        "left": geometry.padding[1][0],
        "padded_height": geometry.padded[0],
        "padded_width": geometry.padded[1],
        "kernel_height": geometry.kernel[0],
        "row_step": row * geometry.dilation[0],
        "segments": tuple(
            (run * geometry.dilation[1] * step, -(-run_length // group)) for run in range(run_count)
        ),
        "rows": geometry.rows,
        "columns": geometry.columns,
        "outputs": geometry.outputs,
        "groups": geometry.groups,
        "group_step": geometry.channels // geometry.groups,
        "x_step": step * geometry.stride[1],
        "y_step": row * geometry.stride[0],
    }


def _tiles(
    columns: int, outputs: int, instructions: InstructionSet
) -> tuple[tuple[int, ...], tuple[Block, ...]]:
    """Return the pixels of a tile and of the rest of a row, and the blocks of output channels."""
    lanes = instructions.lanes
    vectors = -(-outputs // lanes)
    budget = _ACCUMULATORS if instructions.group == 4 else _FEW_ACCUMULATORS
    best = min(
        ((p, v) for v in range(1, min(vectors, 6) + 1) for p in range(1, min(columns, 16) + 1)
         if p * v <= budget),
        key=lambda shape: _cost(columns, vectors, *shape),
    )  # fmt: skip
    pixels, count = best
    tail = columns % pixels
    full = vectors // count * count
    blocks = []
    last_lanes = outputs - (vectors - 1) * lanes
    if full == vectors and last_lanes < lanes:
        full -= count
    if full:
        blocks.append(Block(0, full, (count, lanes)))
    if full < vectors:
        blocks.append(Block(full, vectors, (vectors - full, last_lanes)))
    return (pixels, tail) if tail else (pixels,), tuple(blocks)


def _cost(columns: int, vectors: int, pixels: int, count: int) -> float:
    """Return the time of one step of all tiles of a row, in instructions.

    A step needs as many loads as the tile has pixels and vectors, and two instructions for the
    loop; sums that depend on each other take four instructions' time.
    """

    def step(p: int, v: int) -> float:
        return max(p * v, p + v, 4) + 2 if p and v else 0

    def row(v: int) -> float:
        return columns // pixels * step(pixels, v) + step(columns % pixels, v)

    return vectors // count * row(count) + (row(vectors % count) if vectors % count else 0)


def _packed(
    linear: Linear, geometry: Geometry, blocks: Sequence[Block], instructions: InstructionSet
) -> Array:
    """Return weights [group, tile, step, vector, lane, product] of all blocks in one array."""
    lanes, group = instructions.lanes, instructions.group
    run_count, run_length = geometry.runs
    groups_of_run = -(-run_length // group)
    outputs = geometry.outputs // geometry.groups
    steps = geometry.kernel[0] * run_count
    vectors = -(-outputs // lanes)
    padded = np.zeros(
        (geometry.groups, vectors * lanes, steps, groups_of_run * group),
        np.int8 if group == 4 else np.int16,
    )
    padded[:, :outputs, :, :run_length] = linear.weights.reshape(
        geometry.groups, outputs, steps, run_length
    )
    vectored = padded.reshape(geometry.groups, vectors, lanes, steps * groups_of_run, group)
    parts = []
    for g in range(geometry.groups):
        for block in blocks:
            count = block.shape[0]
            part = vectored[g, block.first : block.last]
            part = part.reshape(-1, count, lanes, steps * groups_of_run, group)
            parts.append(part.transpose(0, 3, 1, 2, 4).reshape(-1))
    return np.concatenate(parts)


def _channels(
    linear: Linear, geometry: Geometry, padded: int, offset: int
) -> npt.NDArray[np.int32]:
    """Return the table of output channels, int32[3, groups * padded]: bias, multiplier, shift."""
    sums = linear.weights.sum(axis=1, dtype=np.int64)
    bias = linear.unfolded_bias + (offset - linear.x_zero_point) * sums
    rows = np.concatenate(
        [bias.astype(np.int32)[np.newaxis], channel_rows(linear.rescale, geometry.outputs)]
    )
    # Unused lanes need shifts that C allows.
    table = np.ones((3, geometry.groups, padded), np.int32)
    outputs = geometry.outputs // geometry.groups
    table[:, :, :outputs] = rows.reshape(3, geometry.groups, outputs)
    return table.reshape(3, -1)
