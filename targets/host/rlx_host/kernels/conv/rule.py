"""Convolutions of float32: tiles of output positions times panels of output channels.

An image with padding is copied once, with zeros around it. A tile reads the windows of neighbouring
positions in place: they begin a stride apart, and each consists of a segment for each row of the
kernel.

Tests: tests/targets/host/test_float_kernels.py
"""

from __future__ import annotations

import math
from functools import partial
from itertools import product as combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ir import DType, Refusal
from rlx.ops.fused import FusedConv
from rlx.ops.real import RealConv
from rlx_c.layer import Kernel
from rlx_c.nest import row_major
from rlx_host.kernels.epilogue import activation_lines
from rlx_host.kernels.product.rule import pointwise
from rlx_host.kernels.tiling import max_rows, pack, pad_to_vectors, panels, row_sections, tiles
from rlx_host.layer import NativeLayer, Split, is_fixed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Node
    from rlx.ops.fused.product import ProductForm
    from rlx.ops.real.window import SpatialWindow
    from rlx_host.instruction_set import InstructionSet
    from rlx_host.layer import Pack


def conv(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a convolution."""
    assert isinstance(node.op, RealConv)
    return _layer(node, node.op, (0, 1, None, None), ((), "v"), instructions)


def fused_conv(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a convolution with bias, addend and activation."""
    assert isinstance(node.op, FusedConv)
    form: ProductForm = node.op.form
    assert isinstance(form.op, RealConv)
    written = activation_lines(form.activation)
    if isinstance(written, Refusal):
        return written
    return _layer(node, form.op, (form.x, form.y, form.bias, form.addend), written, instructions)


def _layer(
    node: Node,
    op: RealConv,
    positions: tuple[int, int, int | None, int | None],
    written: tuple[tuple[str, ...], str],
    instructions: InstructionSet,
) -> NativeLayer | Refusal:
    """Return the layer of a convolution.

    Args:
        node: The node.
        op: The convolution.
        positions: Indices of image, weights, bias and addend among the operands.
        written: Statements of the activation, and its result.
        instructions: The instruction set.
    """
    x, w, bias, addend = positions
    if any(v.type.dtype is not DType.F32 for v in (*node.operands, *node.results)):
        return Refusal("its operands are not f32")
    if not all(is_fixed(node.operands[i]) for i in (w, bias) if i is not None):
        return Refusal("its weights are computed")
    if not op.window.rank:
        return Refusal("it has no spatial axis")
    image, weights = node.operands[x].type.static_shape, node.operands[w].type.static_shape
    once = math.prod(op.window.kernel) == math.prod(op.window.stride) == 1
    if once and not op.window.is_padded and op.groups == 1:
        return pointwise(node, positions, weights, written, instructions)
    constants = geometry(op.window, image, weights[0], op.groups, rows=True) | {
        "bias": bias is not None,
        "addend": addend is not None,
        "lines": written[0],
        "value": written[1],
    }
    scratch = 4 * math.prod(constants["padded"]) * image[-1] if op.window.is_padded else 0
    passed = (x, *([] if addend is None else [addend]))
    if op.groups > 1 and op.groups == image[-1] == weights[0]:
        return _depthwise(constants, passed, (w, bias), scratch, instructions)
    cut = panels(weights[0] // op.groups, instructions.lanes)
    rows = constants["out"][0] if op.window.rank > 1 else 1
    split = split_of(constants, rows, cut[-1][1], instructions.lanes)
    limit = 12 if cut[0][2] == 1 else max_rows(instructions)
    sections = row_sections(constants["out"][-1], limit)
    constants |= {"panels": cut, "sections": sections}
    tables: list[Pack] = [partial(_pack_weights, w, op.groups, instructions.lanes)]
    if bias is not None:
        tables.append(partial(_pack_bias, bias, op.groups, instructions.lanes))
    support = ("floats", *tiles(sections, cut))
    kernel = Kernel.of("convolution", "conv/kernel", constants, support)
    return NativeLayer(kernel, passed, tuple(tables), scratch, split=split)


def split_of(constants: dict[str, Any], rows: int, width: int, lanes: int) -> Split | None:
    """Return the split of a layer with a window, and add its units to the constants.

    Args:
        constants: Constants, as ``geometry`` returns them.
        rows: Units of an image: steps along its first axis, or 1.
        width: Results of a group at each position.
        lanes: Lanes of a vector.
    """
    taps = len(constants["starts"]) * constants["depth"]
    positions = constants["images"] * math.prod(constants["out"])
    vectors = constants["groups"] * -(-width // lanes)
    split = Split.of(constants["images"] * rows, positions * vectors * taps)
    constants |= {
        "split": split is not None,
        "units": constants["images"] * rows,
        "unit_rows": rows,
    }
    return split


def geometry(
    window: SpatialWindow,
    image: Sequence[int],
    outputs: int,
    groups: int = 1,
    *,
    rows: bool = False,
) -> dict[str, Any]:
    """Return sizes, and the offsets of the segments of a window.

    Args:
        window: The window.
        image: Shape of the operand.
        outputs: Channels of the result.
        groups: Groups of channels.
        rows: Whether the taps of a row are one segment where they are next to each other.
    """
    size, channels = image[1:-1], image[-1]
    padded = tuple(n + a + b for n, (a, b) in zip(size, window.padding, strict=True))
    strides = tuple(s * channels for s in row_major(padded))
    is_whole_row = rows and window.dilation[-1] == 1 and groups == 1
    taps = window.kernel[:-1] if is_whole_row else window.kernel
    starts = tuple(
        sum(i * d * s for i, d, s in zip(tap, window.dilation, strides, strict=False))
        for tap in combinations(*map(range, taps))
    )
    return {
        "images": image[0],
        "size": tuple(size),
        "padded": padded,
        "before": tuple(before for before, _ in window.padding),
        "is_padded": window.is_padded,
        "strides": strides,
        "steps": window.stride,
        "out": window.output_size(tuple(size)),
        "channels": channels,
        "outputs": outputs,
        "groups": groups,
        "starts": starts,
        "span": (window.kernel[0] - 1) * window.dilation[0] + 1,
        "depth": (window.kernel[-1] if is_whole_row else 1) * channels // groups,
    }


def _pack_weights(index: int, groups: int, lanes: int, values: Sequence[Array]) -> Array:
    """Return weights [O, kernel..., C / groups] as panels of each group."""
    parts = np.split(values[index].reshape(len(values[index]), -1), groups)
    return np.concatenate([pack(part.T, lanes) for part in parts])


def _pack_bias(index: int, groups: int, lanes: int, values: Sequence[Array]) -> Array:
    """Return the bias of each group, filled up to panels."""
    parts = np.split(values[index].reshape(-1), groups)
    return np.concatenate([pad_to_vectors(part, lanes) for part in parts])


def _depthwise(
    constants: dict[str, Any],
    passed: tuple[int, ...],
    fixed: tuple[int, int | None],
    scratch: int,
    instructions: InstructionSet,
) -> NativeLayer:
    """Return the layer of a convolution of one channel for each group."""
    channels = constants["channels"]
    tables: list[Pack] = [
        partial(_pack_taps, index, channels, instructions.lanes)
        for index in fixed
        if index is not None
    ]
    constants |= {"groups": 1, "depth": 1}
    split = split_of(constants, constants["out"][0], channels, instructions.lanes)
    kernel = Kernel.of("depthwise", "conv/depthwise", constants, ("floats",))
    return NativeLayer(kernel, passed, tuple(tables), scratch, split=split)


def _pack_taps(index: int, channels: int, lanes: int, values: Sequence[Array]) -> Array:
    """Return weights [C, kernel..., 1], or a bias, as [taps, C], the channels filled up."""
    taps = values[index].reshape(channels, -1)
    padded = np.zeros((taps.shape[1], -(-channels // lanes) * lanes), np.float32)
    padded[:, :channels] = taps.T
    return padded
