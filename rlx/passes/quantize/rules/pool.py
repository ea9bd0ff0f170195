"""Pools of images.

Tests: tests/unit/passes/quantize/test_convert.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.ir import QuantParams
from rlx.ops.nn import Layout, NnAveragePool, NnMaxPool
from rlx.ops.numerics.fixed_point import Rounding
from rlx.ops.q import QAveragePool2d, QConcat, QConv2d, QMaxPool2d, QPad, Window
from rlx.ops.real import RealAveragePool, RealMaxPool
from rlx.passes.quantize.rules.call import quant_of, rule
from rlx.passes.quantize.rules.image import as_image, check_window, from_image, image_window
from rlx.passes.quantize.rules.reduce import mean_of
from rlx.passes.quantize.rules.shape import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node, Value
    from rlx.ops.numerics.fixed_point import Rescale
    from rlx.passes.quantize.rules.call import NodeConversion


def layout_of(node: Node) -> Layout:
    """Return the order of axes of a pool."""
    op = node.op
    return op.layout if isinstance(op, NnMaxPool | NnAveragePool) else Layout.CHANNELS_LAST


@rule(NnMaxPool, RealMaxPool, check=check_window, shares=True)
def max_pool(call: NodeConversion) -> Sequence[Value]:
    """``max_pool(x)`` -> q.max_pool2d."""
    op, layout = cast("NnMaxPool | RealMaxPool", call.node.op), layout_of(call.node)
    image = as_image(call, layout, call.quantized(0, call.quant))
    pooled = call.emit(QMaxPool2d(window=image_window(op.window)), image, quant=call.quant)
    return [from_image(call, layout, pooled)]


@rule(NnAveragePool, RealAveragePool, check=check_window)
def average_pool(call: NodeConversion) -> Sequence[Value]:
    """``average_pool(x)`` -> q.avg_pool2d, or sums of windows that are rounded to another scale."""
    op, layout = cast("NnAveragePool | RealAveragePool", call.node.op), layout_of(call.node)
    image = as_image(call, layout, call.quantized(0))
    quant, window = quant_of(image), image_window(op.window)
    counted = op.count_padding and window.is_padded
    if call.conversion.rounding is Rounding.DOUBLE and quant == call.quant:
        if counted:
            image, window = pad(call, image, window)
        pooled = call.emit(QAveragePool2d(window=window), image, quant=quant)
    elif _covers(window, image.type.static_shape[1:3]):
        pooled = mean_of(call, image, (1, 2), keep_dims=True)
    elif counted or not window.is_padded:
        pooled = _mean(call, image, window, window.taps)
    else:
        pooled = _append_unpadded_means(call, image, window)
    return [from_image(call, layout, pooled)]


def _mean(call: NodeConversion, image: Value, window: Window, count: int) -> Value:
    """Append the sums of windows over ``count``, rounded once."""
    factor = quant_of(image).scale[0] / (count * call.quant.scale[0])
    return windows_sum(call, image, window, call.rescale(factor))


def windows_sum(
    call: NodeConversion,
    image: Value,
    window: Window,
    rescale: Rescale,
    line: tuple[int, int] = (1, 0),
    ends: tuple[int, int] = (-128, 127),
) -> Value:
    """Append the sums of windows of each channel, rounded once: a depthwise q.conv2d.

    Args:
        call: The node whose result it is.
        image: Integer image.
        window: The windows; padding counts as zeros.
        rescale: From the sums to the result.
        line: Integers that a sum is multiplied with, and that are added to it, beforehand.
        ends: Smallest and largest code of the result.
    """
    channels, (weight, bias) = image.type.static_shape[-1], line
    weights = call.constant(
        np.full((channels, *window.kernel, 1), weight, np.int8), "ones", QuantParams.per_tensor(1.0)
    )
    op = QConv2d(
        window=window,
        groups=channels,
        x_zero_point=quant_of(image).zero_point[0],
        rescale=rescale,
        zero_point=call.quant.zero_point[0],
        low=ends[0],
        high=ends[1],
    )
    biases = call.constant(np.full(channels, bias, np.int32), "bias")
    return call.emit(op, image, weights, biases, quant=call.quant)


def _append_unpadded_means(call: NodeConversion, image: Value, window: Window) -> Value:
    """Append means of windows whose padding does not count: a part for each number of elements."""
    rows, columns = map(
        _runs, window.taps_inside((image.type.static_shape[1], image.type.static_shape[2]))
    )
    framed, inner = pad(call, image, window)
    strips = []
    for row in rows:
        parts = [
            _mean(
                call,
                _receptive_field(call, framed, inner, (row, column)),
                inner,
                row.count * column.count,
            )
            for column in columns
        ]
        strips.append(_join(call, parts, 2))
    return _join(call, strips, 1)


def pad(call: NodeConversion, image: Value, window: Window) -> tuple[Value, Window]:
    """Append the padding of a window as zeros; return the image, and the window without it."""
    (top, bottom), (left, right) = window.padding
    quant = quant_of(image)
    op = QPad(before=(0, top, left, 0), after=(0, bottom, right, 0), value=quant.zero_point[0])
    return call.emit(op, image, quant=quant), replace(window, padding=((0, 0), (0, 0)))


@dataclass(frozen=True, slots=True)
class _Run:
    """Windows along an axis, from one to before another, of the same number of elements."""

    first: int
    stop: int
    count: int


def _runs(counts: tuple[int, ...]) -> list[_Run]:
    """Return the runs of equal counts."""
    ends = [0, *(np.flatnonzero(np.diff(counts)) + 1).tolist(), len(counts)]
    return [_Run(a, b, int(counts[a])) for a, b in pairwise(ends)]


def _receptive_field(
    call: NodeConversion, image: Value, window: Window, runs: tuple[_Run, _Run]
) -> Value:
    """Return the part of an image that the windows of two runs see."""
    start, stop = [0, 0, 0, 0], list(image.type.static_shape)
    for axis, run in enumerate(runs):
        stride, taps = window.stride[axis], window.kernel[axis]
        start[axis + 1] = run.first * stride
        stop[axis + 1] = (run.stop - 1) * stride + window.dilation[axis] * (taps - 1) + 1
    return cut(call, image, tuple(start), tuple(stop))


def _join(call: NodeConversion, parts: list[Value], axis: int) -> Value:
    if len(parts) == 1:
        return parts[0]
    return call.emit(QConcat(axis=axis), *parts, quant=call.quant)


def _covers(window: Window, size: tuple[int, ...]) -> bool:
    """Return whether there is one window, which holds the whole image of ``size``."""
    return window.kernel == size and not window.is_padded and window.dilation == (1, 1)


def is_average(node: Node) -> bool:
    """Return whether a node averages windows of images."""
    return isinstance(node.op, NnAveragePool | RealAveragePool)


def is_mean(node: Node) -> bool:
    """Return whether a node averages whole images: means are closer together than elements."""
    op = node.op
    if not isinstance(op, NnAveragePool | RealAveragePool) or op.window.rank not in (1, 2):
        return False
    shape, window = node.operands[0].type.static_shape, image_window(op.window)
    size = shape[2:] if layout_of(node) is Layout.CHANNELS_FIRST else shape[1:-1]
    return _covers(window, ((1,) * (2 - len(size)) + size))
