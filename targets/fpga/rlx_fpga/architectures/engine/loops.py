"""Loops over elements of tensors and windows of images, as instructions count them.

Tests: tests/targets/fpga/architectures/engine/test_moves.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx_fpga.architectures.engine.program import Loops

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import Window


def each_element(node: Node, operands: int, distance: int) -> Loops:
    """Return the loops over all elements, and over operands at a distance from each other."""
    size = node.types[0].size
    return Loops((1, 1, size, 1, operands, 1), (0, 0, 1, 0, distance))


def image_loops(node: Node, window: Window, *, blocks: int, channels: int) -> Loops:
    """Return the loops over the windows of the image that a node reads."""
    _, height, width, depth = node.operands[0].type.static_shape
    size = window.output_size((height, width))
    return window_loops((height, width, depth), window, size, blocks, channels, 1)


def window_loops(
    image: tuple[int, int, int], window: Window, results: tuple[int, int], blocks: int,
    channels: int, block_stride: int,
) -> Loops:  # fmt: skip
    """Return the loops over the windows of an image."""
    height, width, depth = image
    (stride_h, stride_w), (dilation_h, dilation_w) = window.stride, window.dilation
    row = width * depth
    return Loops(
        counts=(*results, blocks, *window.kernel, channels),
        strides=(stride_h * row, stride_w * depth, block_stride, dilation_h * row,
                 dilation_w * depth),
        steps=(stride_h, stride_w, dilation_h, dilation_w),
        origin=(-window.padding[0][0], -window.padding[1][0]),
        size=(height, width),
    )  # fmt: skip


def edge(window: Window, width: int) -> int:
    """Return the pixels from the first window's corner to the image's."""
    return window.padding[0][0] * width + window.padding[1][0]


def corner(node: Node, window: Window) -> int:
    """Return the address of the first window's corner, less that of the image."""
    _, _, width, channels = node.operands[0].type.static_shape
    return -edge(window, width) * channels
