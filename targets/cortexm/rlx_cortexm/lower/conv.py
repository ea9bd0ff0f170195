"""Convolutions in C: the kernels, and the choice between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from rlx.ops.q import QConv2d
from rlx_cortexm.layer import Kernel, Layer
from rlx_cortexm.lower.image import Image
from rlx_cortexm.lower.linear import dense_layer, dot_products
from rlx_cortexm.lower.rules import RULES
from rlx_cortexm.lower.weighted import Weighted
from rlx_cortexm.nest import Loop, nest
from rlx_cortexm.packing import BLOCK, pack_rows

if TYPE_CHECKING:
    from rlx.ir import Node

UNROLLED_TAPS = 16
"""Depthwise windows up to this size are written out tap by tap."""


@RULES.rule(QConv2d)
def lower_conv2d(node: Node) -> Layer:
    """Use the first kernel of ``CHOICES`` that fits."""
    return next(lower(node) for fits, lower in CHOICES if fits(node))


def is_dense(node: Node) -> bool:
    """Whether every window is a run of codes and the windows follow each other without gaps."""
    op, image = _op(node), Image.of(node)
    pointwise = op.window.taps == 1 and op.window.stride == (1, 1)
    whole = op.window.kernel == (image.in_h, image.in_w) and op.window.dilation == (1, 1)
    return op.groups == 1 and not op.window.is_padded and (pointwise or whole)


def lower_as_dense(node: Node) -> Layer:
    """Treat each window as a row of a dense layer: ``dense_s8.c.j2``."""
    return dense_layer(node, Weighted.of(node, _op(node)), Image.of(node).windows, "pointwise")


def is_depthwise(node: Node) -> bool:
    """Whether each channel has a window of its own, small enough to be written out."""
    return is_large_depthwise(node) and _op(node).window.taps <= UNROLLED_TAPS


def lower_depthwise(node: Node) -> Layer:
    """Compute channel by channel, taps written out: ``depthwise_s8.c.j2``."""
    op, image = _op(node), Image.of(node)
    weighted = Weighted.of(node, op)
    padded = image.inside != "all"
    constants = {
        **image.constants,
        **weighted.constants,
        "loops": image.loops,
        "inside": image.inside,
        "interior": image.interior,
        "taps": image.taps,
        "multiples": image.out_c // image.in_c,
        "x_zero_point": op.x_zero_point if padded else 0,
    }
    kernel = Kernel.of("depthwise", "depthwise_s8", constants, weighted.support)
    return _depthwise_layer(node, weighted, kernel, scratch_bytes=image.in_c if padded else 0)


def is_large_depthwise(node: Node) -> bool:
    """Whether each channel has a window of its own, of any size."""
    return _op(node).groups == Image.of(node).in_c > 1


def lower_large_depthwise(node: Node) -> Layer:
    """Compute channel by channel with loops over the taps: ``depthwise_large_s8.c.j2``."""
    op, image = _op(node), Image.of(node)
    weighted = Weighted.of(node, op, centred=True)
    constants = {
        **image.constants,
        **weighted.constants,
        "loops": image.loops,
        "multiples": image.out_c // image.in_c,
        "x_zero_point": op.x_zero_point,
    }
    kernel = Kernel.of("depthwise", "depthwise_large_s8", constants, weighted.support)
    return _depthwise_layer(node, weighted, kernel)


def _depthwise_layer(
    node: Node, weighted: Weighted, kernel: Kernel, scratch_bytes: int = 0
) -> Layer:
    image = Image.of(node)
    by_tap = np.ascontiguousarray(weighted.weights.reshape(image.out_c, -1).T).reshape(-1)
    note = f"weights of {image.window.taps} taps by {image.out_c} channels"
    return Layer(
        kernel,
        operands=node.operands[:1],
        tables=weighted.tables(by_tap, note),
        arguments=weighted.arguments,
        scratch_bytes=scratch_bytes,
        macs=image.windows * weighted.weights.size,
    )


def is_any(node: Node) -> bool:
    """Every convolution."""
    del node
    return True


def lower_direct(node: Node) -> Layer:
    """Multiply window by window, without copying those inside the image: ``conv2d_s8.c.j2``."""
    op, image = _op(node), Image.of(node)
    weighted = Weighted.of(node, op)
    # A row of taps is a run of codes only if taps and channels of the group lie side by side.
    whole_rows = op.groups == 1 and op.window.dilation[1] == 1
    inside = image.inside if whole_rows else "none"
    patch = math.prod(weighted.weights.shape[1:])
    # A copied window is one run; others are one run for each row of taps.
    rows = 1 if inside == "none" else op.window.kernel[0]
    group_out = image.out_c // op.groups
    constants = {
        **image.constants,
        **weighted.constants,
        "loops": _group_loops(image, op.groups, patch),
        "inside": inside,
        "interior": image.interior,
        "whole_rows": whole_rows,
        "group_in": image.in_c // op.groups,
        "group_out": group_out,
        "blocked": group_out - group_out % BLOCK,
        "patch": patch,
        "rows": rows,
        "length": patch // rows,
        "row_stride": op.window.dilation[0] * image.in_w * image.in_c,
        "x_zero_point": op.x_zero_point if inside != "all" else 0,
    }
    packed = [
        pack_rows(group.reshape(group_out, rows, patch // rows))
        for group in np.split(weighted.weights, op.groups)
    ]
    note = f"weights of {image.out_c} channels by {patch} codes, four channels interleaved"
    return Layer(
        Kernel.of("conv2d", "conv2d_s8", constants, (*dot_products(group_out), *weighted.support)),
        operands=node.operands[:1],
        tables=weighted.tables(np.concatenate(packed), note),
        arguments=weighted.arguments,
        scratch_bytes=0 if inside == "all" else patch,
        macs=image.windows * weighted.weights.size,
    )


def _group_loops(image: Image, groups: int, patch: int) -> tuple[Loop, ...]:
    """Return the loops over batch and groups for input, result, weights and channels."""
    return nest(
        (image.batch, groups),
        (image.in_h * image.in_w * image.in_c, image.in_c // groups),
        (image.out_h * image.out_w * image.out_c, image.out_c // groups),
        (0, image.out_c // groups * patch),
        (0, image.out_c // groups),
    )


def _op(node: Node) -> QConv2d:
    return cast("QConv2d", node.op)


Choice: TypeAlias = tuple[Callable[["Node"], bool], Callable[["Node"], Layer]]

CHOICES: tuple[Choice, ...] = (
    (is_dense, lower_as_dense),
    (is_depthwise, lower_depthwise),
    (is_large_depthwise, lower_large_depthwise),
    (is_any, lower_direct),
)
"""Kernels in the order of preference: whether one fits a node, and what it makes of it."""
