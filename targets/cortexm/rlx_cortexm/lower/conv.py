"""Convolutions in C: the kernels, and the choice between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from rlx.ops.q import QConv2d
from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, Layer
from rlx_c.nest import Loop, nest
from rlx_cortexm import costs, unpacked
from rlx_cortexm.image import Image
from rlx_cortexm.kernels.conv2d_blocks import tactic as blocks
from rlx_cortexm.kernels.conv2d_winograd import tactic as winograd
from rlx_cortexm.kernels.dense_ternary import tactic as ternary
from rlx_cortexm.kernels.depthwise_planes import tactic as planes
from rlx_cortexm.lower.linear import dense_layer, dot_products
from rlx_cortexm.lower.rules import RULES
from rlx_cortexm.narrow import WHOLE, run_bytes
from rlx_cortexm.packing import BLOCK, QUAD
from rlx_cortexm.weighted import Weighted

if TYPE_CHECKING:
    from rlx.ir import Array, Node

SHORT_RUN = 16
"""Windows whose rows of taps have at most so many codes are copied into one run of codes.

The copy costs some 2 instructions for each code and is read by all output channels; a run for each
row of taps costs some 10 instructions for every four output channels.
"""

UNROLLED_TAPS = 16
"""Depthwise windows up to this size are written out tap by tap."""


@RULES.rule(QConv2d)
def lower_conv2d(node: Node) -> tuple[Candidate, ...]:
    """Return every way to compute a convolution."""
    plain = Candidate.of(next(lower(node) for fits, lower in PLAIN if fits(node)))
    return (
        *winograd.candidates(node),
        *planes.candidates(node),
        *blocks.candidates(node),
        *(_listed(node) if is_dense(node) else ()),
        *(unpacked.candidates(node, plain) if is_large_depthwise(node) else ()),
        plain,
    )


def is_dense(node: Node) -> bool:
    """Whether every window is a run of codes and the windows follow each other without gaps."""
    op, image = _op(node), Image.of(node)
    pointwise = op.window.taps == 1 and op.window.stride == (1, 1)
    whole = op.window.kernel == (image.in_h, image.in_w) and op.window.dilation == (1, 1)
    return op.groups == 1 and not op.window.is_padded and (pointwise or whole)


def lower_as_dense(node: Node) -> Layer:
    """Treat each window as a row of a dense layer: ``dense_s8.c.j2``."""
    return dense_layer(node, Weighted.of(node, _op(node)), Image.of(node).windows, "pointwise")


def _listed(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for ternary weights of a convolution that is dense, if there is one."""
    weighted = Weighted.of(node, _op(node))
    return ternary.candidates(node, weighted, Image.of(node).windows, "pointwise")


def is_depthwise(node: Node) -> bool:
    """Whether each channel has a window of its own, small enough to be written out."""
    return is_large_depthwise(node) and _op(node).window.taps <= UNROLLED_TAPS


def lower_depthwise(node: Node) -> Layer:
    """Compute channel by channel, taps written out: ``depthwise_s8.c.j2``."""
    op, image = _op(node), Image.of(node)
    weighted = Weighted.of(node, op)
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
    kernel = Kernel.of("depthwise", "depthwise/kernel", constants, support)
    instructions = costs.depthwise(image, blocked)
    scratch_bytes = image.in_c if padded else 0
    return _depthwise_layer(node, weighted, kernel, instructions, scratch_bytes)


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
    kernel = Kernel.of("depthwise", "depthwise_large/kernel", constants, weighted.support)
    per_tap = costs.CENTRED_TAP
    instructions = image.windows * image.out_c * (image.window.taps * per_tap + costs.REQUANTIZE)
    return _depthwise_layer(node, weighted, kernel, instructions)


def _depthwise_layer(
    node: Node, weighted: Weighted, kernel: Kernel, instructions: int, scratch_bytes: int = 0
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
        instructions=instructions,
        macs=image.windows * weighted.weights.size,
        weight_bits=WHOLE,
    )


def is_any(node: Node) -> bool:
    """Every convolution."""
    del node
    return True


def lower_direct(node: Node) -> Layer:
    """Multiply window by window, most of them where they are: ``conv2d_s8.c.j2``."""
    op, image = _op(node), Image.of(node)
    weighted = Weighted.of(node, op)
    kernel_h, kernel_w = op.window.kernel
    group_in, group_out = image.in_c // op.groups, image.out_c // op.groups
    run = kernel_w * group_in
    # A row of taps is a run of codes only if taps and channels of the group lie side by side.
    whole_rows = op.groups == 1 and op.window.dilation[1] == 1
    in_place = image.inside if whole_rows and (kernel_h == 1 or run > SHORT_RUN) else "none"
    rows, length = _runs(kernel_h, run, in_place)
    packed = _packed(weighted, op.groups, rows, length)
    constants = {
        **image.constants,
        **weighted.constants,
        "loops": _group_loops(image, op.groups, len(packed) // op.groups),
        "inside": image.inside,
        "interior": image.interior,
        "in_place": in_place,
        "whole_rows": whole_rows,
        "group_in": group_in,
        "group_out": group_out,
        "blocked": group_out - group_out % BLOCK,
        "patch": kernel_h * run,
        "run": run,
        "rows": rows,
        "length": length,
        "narrow": weighted.narrow,
        "single": run_bytes(length, weighted.bits),
        "row_stride": op.window.dilation[0] * image.in_w * image.in_c,
        "x_zero_point": op.x_zero_point if image.inside != "all" or not whole_rows else 0,
    }
    note = (
        f"{weighted.bits}-bit weights of {image.out_c} channels by {kernel_h * run} codes, four"
        " channels interleaved"
    )
    support = (*dot_products(group_out, weighted.narrow), *weighted.support)
    return Layer(
        Kernel.of("conv2d", "conv2d/kernel", constants, support),
        operands=node.operands[:1],
        tables=weighted.tables(packed, note),
        arguments=weighted.arguments,
        scratch_bytes=0 if in_place == "all" else rows * length,
        macs=image.windows * weighted.weights.size,
        instructions=image.windows * op.groups * costs.window(rows, length, group_out)
        + costs.copied_windows(image, in_place),
        weight_bits=weighted.bits,
        packed_bytes=image.out_c * rows * length - len(packed),
    )


def _runs(kernel_h: int, run: int, in_place: str) -> tuple[int, int]:
    """Return how many runs of codes a window has, and their length.

    A copied window is one run, filled up to whole words; others are one run for each row of taps.
    """
    if in_place == "none":
        return 1, -(-kernel_h * run // QUAD) * QUAD
    return kernel_h, run


def _packed(weighted: Weighted, groups: int, rows: int, length: int) -> Array:
    """Return the weights of all groups as runs, with zeros where a run is filled up."""
    by_channel = weighted.weights.reshape(len(weighted.weights), -1)
    filled = np.pad(by_channel, ((0, 0), (0, rows * length - by_channel.shape[1])))
    streams = [
        weighted.packed(group.reshape(len(group), rows, length))
        for group in np.split(filled, groups)
    ]
    return np.concatenate(streams)


def _group_loops(image: Image, groups: int, stream: int) -> tuple[Loop, ...]:
    """Return the loops over batch and groups for input, result, weights and channels.

    The weights of a group take ``stream`` bytes.
    """
    return nest(
        (image.batch, groups),
        (image.in_h * image.in_w * image.in_c, image.in_c // groups),
        (image.out_h * image.out_w * image.out_c, image.out_c // groups),
        (0, stream),
        (0, image.out_c // groups),
    )


def _op(node: Node) -> QConv2d:
    return cast("QConv2d", node.op)


Plain: TypeAlias = tuple[Callable[["Node"], bool], Callable[["Node"], Layer]]

PLAIN: tuple[Plain, ...] = (
    (is_dense, lower_as_dense),
    (is_depthwise, lower_depthwise),
    (is_large_depthwise, lower_large_depthwise),
    (is_any, lower_direct),
)
"""Plain kernels: whether one fits a node, and what it makes of it; the first that fits is used."""
