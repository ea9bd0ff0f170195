"""Convolutions, window by window: those that stick out of the image are copied first.

Tests: tests/targets/cortexm/test_forced.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np

from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, Kernel, LoweredLayer
from rlx_c.nest import StridedLoop, nest
from rlx_cortexm.image import WindowedImage
from rlx_cortexm.kernels.dense.dot import dot_products, dot_size, instructions
from rlx_cortexm.kernels.dense.packed_cost import PackedCost
from rlx_cortexm.kernels.depthwise.by_tap import is_depthwise
from rlx_cortexm.narrow import run_bytes, suffix
from rlx_cortexm.packing import BLOCK, QUAD
from rlx_cortexm.tactic import CoreTactic, Tactic
from rlx_cortexm.weighted import WeightedLayer, more_scaling, rows_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Array, Node
    from rlx.ops.q import QConv2d
    from rlx_cortexm.core import CortexCore

MAX_SHORT_RUN: Final = 16
"""Maximum values of a row of taps with which windows are copied into one run of values.

The copy costs some 2 instructions for each value and is read by all output channels; a run for each
row of taps costs some 10 instructions for every four output channels.
"""

_MOVE: Final = 5
_ROW: Final = 10
"""Instructions for each byte and each row of taps of a window that sticks out and is copied."""

_SHORT_ROW: Final = 17
"""Instructions for each row of taps of another window that is copied."""


class Runs(NamedTuple):
    """The runs of values of a window that are multiplied.

    Attributes:
        in_place: Windows that are read in place: ``all``, ``some`` or ``none``.
        whole_rows: Whether a row of taps is a run of values.
        rows: Number of runs.
        length: Values of a run.
    """

    in_place: str
    whole_rows: bool
    rows: int
    length: int

    @staticmethod
    def of(node: Node) -> Runs:
        """Return the runs of a convolution.

        A copied window is one run, filled up to whole words; others are one run for each row of
        taps.
        """
        op, image = cast("QConv2d", node.op), WindowedImage.of(node)
        kernel_h, kernel_w = op.window.kernel
        run = kernel_w * image.in_c // op.groups
        # A row of taps is a run of values only if taps and channels of the group are adjacent.
        whole_rows = op.groups == 1 and op.window.dilation[1] == 1
        in_place = image.inside if whole_rows and (kernel_h == 1 or run > MAX_SHORT_RUN) else "none"
        if in_place == "none":
            return Runs(in_place, whole_rows, 1, -(-kernel_h * run // QUAD) * QUAD)
        return Runs(in_place, whole_rows, kernel_h, run)


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a convolution without another plain kernel; none for others."""
    if not _applies(node):
        return ()
    return (Candidate.of(_layer(node, WeightedLayer.of(node), Runs.of(node)), "conv2d"),)


def packed_candidates(node: Node, core: CortexCore) -> tuple[Candidate, ...]:
    """Return the same for packed weights; none for int8."""
    weighted = WeightedLayer.narrow_of(node) if _applies(node) else None
    if weighted is None:
        return ()
    op, image, runs = cast("QConv2d", node.op), WindowedImage.of(node), Runs.of(node)
    cost = PackedCost.of(weighted, core)
    window = op.groups * cost.instructions(runs.rows, runs.length, image.out_c // op.groups)
    copied = _copying(image, runs.in_place, move=1, row=cost.core.copied_row)
    counted = image.windows * window + copied
    layer = replace(_layer(node, weighted, runs), instructions=round(counted))
    return (Candidate.of(layer, f"conv2d, {weighted.bits}-bit weights"),)


def _applies(node: Node) -> bool:
    return rows_of(node) is None and not is_depthwise(node)


def _layer(node: Node, weighted: WeightedLayer, runs: Runs) -> LoweredLayer:
    """Return the layer, with its instructions for weights of bytes."""
    op, image = cast("QConv2d", node.op), WindowedImage.of(node)
    group_in, group_out = image.in_c // op.groups, image.out_c // op.groups
    rows, length = runs.rows, runs.length
    packed = _packed(weighted, op.groups, rows, length)
    constants = {
        **_geometry(op, image, runs),
        **weighted.constants,
        "loops": _group_loops(image, op.groups, len(packed) // op.groups),
        "narrow": suffix(weighted.bits),
        "single": run_bytes(length, weighted.bits),
    }
    note = (
        f"{weighted.bits}-bit weights of {image.out_c} channels by {op.window.taps * group_in}"
        " inputs, four channels interleaved"
    )
    support = (*dot_products(group_out, suffix(weighted.bits)), *weighted.support)
    size = CodeSize(inlined=dot_size(support))
    return LoweredLayer(
        Kernel.of("conv2d", "conv2d/kernel", constants, support, size),
        operands=node.operands[:1],
        tables=weighted.tables(packed, note),
        arguments=weighted.arguments,
        scratch_bytes=0 if runs.in_place == "all" else rows * length,
        macs=image.windows * weighted.weights.size,
        instructions=image.windows * op.groups * instructions(rows, length, group_out)
        + _copying(image, runs.in_place),
        weight_bits=weighted.bits,
        packed_bytes=image.out_c * rows * length - len(packed),
    )


def _geometry(op: QConv2d, image: WindowedImage, runs: Runs) -> dict[str, Hashable]:
    """Return the constants of the template that do not depend on weights."""
    kernel_h, kernel_w = op.window.kernel
    group_in, group_out = image.in_c // op.groups, image.out_c // op.groups
    run = kernel_w * group_in
    return {
        **image.constants,
        **runs._asdict(),
        "inside": image.inside,
        "interior": image.interior,
        "group_in": group_in,
        "group_out": group_out,
        "blocked": group_out - group_out % BLOCK,
        "patch": kernel_h * run,
        "run": run,
        "row_stride": op.window.dilation[0] * image.in_w * image.in_c,
        "x_zero_point": op.x_zero_point if image.inside != "all" or not runs.whole_rows else 0,
    }


def _packed(weighted: WeightedLayer, groups: int, rows: int, length: int) -> Array:
    """Return the weights of all groups as runs, with zeros where a run is filled up."""
    by_channel = weighted.weights.reshape(len(weighted.weights), -1)
    filled = np.pad(by_channel, ((0, 0), (0, rows * length - by_channel.shape[1])))
    streams = [
        weighted.packed(group.reshape(len(group), rows, length))
        for group in np.split(filled, groups)
    ]
    return np.concatenate(streams)


def _group_loops(image: WindowedImage, groups: int, stream: int) -> tuple[StridedLoop, ...]:
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


def _copying(image: WindowedImage, in_place: str, move: int = _MOVE, row: int = _ROW) -> int:
    """Return the instructions to copy all windows that are not read in place.

    Args:
        image: Geometry.
        in_place: Windows that are read in place.
        move: Instructions per byte of a window that sticks out.
        row: Instructions per row of taps of it.
    """
    y0, y1, x0, x1 = image.interior
    inner = image.batch * (y1 - y0) * (x1 - x0)
    kernel_h, kernel_w = image.window.kernel
    outside = (image.windows - inner) * kernel_h * (kernel_w * image.in_c * move + row)
    return outside + (inner * kernel_h * _SHORT_ROW if in_place == "none" else 0)


SUMMARY: Final = (
    "`conv2d`: window by window, four output channels at a time. Windows that stick out are copied."
)
CONV2D: Final = Tactic(candidates, SUMMARY, portable=1.7, baseline=2.4, scaling=more_scaling)
CONV2D_PACKED: Final = CoreTactic(packed_candidates, SUMMARY)
