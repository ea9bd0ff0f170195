"""Convolutions.

Tests: tests/unit/frontends/onnx/ops/test_windows.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends.onnx.ops.registry import importer
from rlx.frontends.onnx.ops.windows import kernel_of, listed, pads, sizes, window_of
from rlx.ops import nn
from rlx.ops.nn import Layout
from rlx.ops.real import SpatialWindow

if TYPE_CHECKING:
    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real


def conv_window(call: Call, image: Real, weights: Real) -> tuple[SpatialWindow, int]:
    """Return window and groups of a convolution of images [N, C, ...] with weights [O, I, ...]."""
    size = sizes(call, image.shape)
    if weights.ndim != image.ndim:
        raise call.malformed(f"the weights are {weights.type}, the input is {image.type}")
    kernel = tuple(d for d in weights.shape[2:] if isinstance(d, int))
    if len(kernel) != len(size):
        raise call.refuse(f"the weights {weights.type} are dynamic, expected a fixed shape")
    groups = call.integer("group")
    if groups < 1:
        raise call.malformed(f"group is {groups}, expected at least 1")
    return window_of(call, size, kernel_of(call, kernel)), groups


@importer("Conv")
def import_conv(call: Call) -> Real:
    """``Conv`` with weights [O, I / group, kernel...]."""
    x, w = call.value(0), call.value(1)
    window, groups = conv_window(call, x, w)
    op = nn.NnConv(window=window, groups=groups, layout=Layout.CHANNELS_FIRST)
    bias = [call.value(2)] if call.has(2) else []
    return x.apply(op, w, *bias)


@importer("ConvTranspose")
def import_conv_transpose(call: Call) -> Real:
    """``ConvTranspose`` with weights [C, O / group, kernel...]."""
    x, w = call.value(0), call.value(1)
    size = sizes(call, x.shape)
    kernel = tuple(d for d in w.shape[2:] if isinstance(d, int))
    kernel_of(call, kernel)
    rank, groups = len(size), call.integer("group")
    if groups < 1 or len(kernel) != rank:
        raise call.malformed(f"{groups} groups and weights {w.type} do not fit {x.type}")
    stride = listed(call, "strides", rank, 1, 1)
    dilation = listed(call, "dilations", rank, 1, 1)
    more = listed(call, "output_padding", rank, 0, 0)
    bare = SpatialWindow(kernel, stride, dilation)
    cuts = _cuts(call, size, bare, more)
    # A negative cut adds to the end.
    more = tuple(m - min(b, 0) - min(a, 0) for m, (b, a) in zip(more, cuts, strict=True))
    padding = tuple((max(b, 0), max(a, 0)) for b, a in cuts)
    op = nn.NnConvTranspose(
        window=SpatialWindow(kernel, stride, dilation, padding),
        output_padding=more,
        groups=groups,
        layout=Layout.CHANNELS_FIRST,
    )
    return x.apply(op, w, *([call.value(2)] if call.has(2) else []))


def _cuts(
    call: Call, size: tuple[int, ...], window: SpatialWindow, more: tuple[int, ...]
) -> tuple[tuple[int, int], ...]:
    """Return the elements cut off each end of the axes of a transposed convolution."""
    rank, mode = len(size), call.text("auto_pad", "NOTSET")
    output_size, stated = call.integers("output_shape"), pads(call, rank)
    if output_size is None:
        if mode == "NOTSET":
            return stated
        if mode == "VALID":
            return ((0, 0),) * rank
        output_size = tuple(n * s for n, s in zip(size, window.stride, strict=True))
    # The shape may begin with batch and channels.
    output_size = output_size[-rank:]
    if (
        len(output_size) != rank
        or min(output_size) < 1
        or max(output_size) > call.scope.limits.dimension
    ):
        raise call.malformed(f"output_shape is {list(output_size)}, expected {rank} sizes")
    cuts = []
    for n, s, extent, extra, out in zip(
        size, window.stride, window.extent, more, output_size, strict=True
    ):
        total = (n - 1) * s + extra + extent - out
        half = total // 2
        cuts.append((half, total - half) if mode == "SAME_UPPER" else (total - half, half))
    return tuple(cuts)
