"""Pools, means, softmax and the index of the largest number."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from rlx.ir import QuantParams, Refusal
from rlx.ops.nn import Layout, NnAveragePool, NnMaxPool, NnSoftmax
from rlx.ops.q import QArgmax, QAveragePool2d, QMaxPool2d, QMean, QPad, QSoftmax, Window
from rlx.ops.real import RealArgmax, RealAveragePool, RealMaxPool, RealReduceMean, RealReduceSum
from rlx.quant.rescale import rescale_of, softmax_scaling
from rlx.quant.rules.call import quant_of, rule
from rlx.quant.rules.linear import as_image, check_window, from_image, image_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node, Value
    from rlx.quant.rules.call import Call

SOFTMAX = QuantParams.per_tensor(1 / 256, -128)
"""What the quantized values of a softmax stand for, by definition of ``q.softmax``."""

_MOST_VALUES = 4095


def _layout(node: Node) -> Layout:
    op = node.op
    return op.layout if isinstance(op, NnMaxPool | NnAveragePool) else Layout.CHANNELS_LAST


@rule(NnMaxPool, RealMaxPool, check=check_window, shares=True)
def max_pool(call: Call) -> Sequence[Value]:
    """``max_pool(x)`` -> q.max_pool2d."""
    op, layout = cast("NnMaxPool | RealMaxPool", call.node.op), _layout(call.node)
    image = as_image(call, layout, call.quantized(0, call.quant))
    pooled = call.emit(QMaxPool2d(window=image_window(op.window)), image, quant=call.quant)
    return [from_image(call, layout, pooled)]


@rule(NnAveragePool, RealAveragePool, check=check_window, shares=True)
def average_pool(call: Call) -> Sequence[Value]:
    """``average_pool(x)`` -> q.avg_pool2d; padding that counts is added beforehand."""
    op, layout = cast("NnAveragePool | RealAveragePool", call.node.op), _layout(call.node)
    image = as_image(call, layout, call.quantized(0))
    quant, window = quant_of(image), image_window(op.window)
    if op.count_padding and window.is_padded:
        (top, bottom), (left, right) = window.padding
        pad = QPad(before=(0, top, left, 0), after=(0, bottom, right, 0), value=quant.zero_point[0])
        image = call.emit(pad, image, quant=quant)
        window = replace(window, padding=((0, 0), (0, 0)))
    if _covers(window, image.type.static_shape[1:3]) and quant != call.quant:
        pooled = _mean(call, image, (1, 2), keep_dims=True)
    else:
        pooled = call.emit(QAveragePool2d(window=window), image, quant=quant)
    return [from_image(call, layout, call.brought(pooled, call.quant))]


def _covers(window: Window, size: tuple[int, ...]) -> bool:
    """Whether there is one window, which holds the whole image of ``size``."""
    return window.kernel == size and not window.is_padded and window.dilation == (1, 1)


def is_mean(node: Node) -> bool:
    """Whether a node averages whole images: their means lie closer together than the elements."""
    op = node.op
    if not isinstance(op, NnAveragePool | RealAveragePool) or op.window.rank not in (1, 2):
        return False
    shape, window = node.operands[0].type.static_shape, image_window(op.window)
    size = shape[2:] if _layout(node) is Layout.CHANNELS_FIRST else shape[1:-1]
    return _covers(window, ((1,) * (2 - len(size)) + size))


@rule(RealReduceMean, rescales=True)
def mean(call: Call) -> Sequence[Value]:
    """``mean(x)`` -> q.mean."""
    op = cast("RealReduceMean", call.node.op)
    return [_mean(call, call.quantized(0), op.axes, keep_dims=op.keep_dims)]


@rule(RealReduceSum, rescales=True)
def total(call: Call) -> Sequence[Value]:
    """``sum(x)`` -> q.mean, which is a sum where the factor does not divide."""
    op = cast("RealReduceSum", call.node.op)
    return [_mean(call, call.quantized(0), op.axes, keep_dims=op.keep_dims, divide=False)]


def _mean(
    call: Call, x: Value, axes: tuple[int, ...], *, keep_dims: bool, divide: bool = True
) -> Value:
    given, quant = quant_of(x), call.quant
    rescale = rescale_of(given.scale[0] / quant.scale[0])
    if divide:
        rescale = rescale.divided(math.prod(x.type.static_shape[a] for a in axes))
    op = QMean(
        axes=axes,
        keep_dims=keep_dims,
        x_zero_point=given.zero_point[0],
        rescale=rescale,
        zero_point=quant.zero_point[0],
    )
    return call.emit(op, x, quant=quant)


def _check_softmax(node: Node) -> Refusal | None:
    axis = cast("NnSoftmax", node.op).axis
    count = node.types[0].static_shape[axis]
    if count > _MOST_VALUES:
        return Refusal(f"it sums {count} exponentials, and q.softmax at most {_MOST_VALUES}")
    return None


@rule(NnSoftmax, check=_check_softmax)
def softmax(call: Call) -> Sequence[Value]:
    """``softmax(x)`` -> q.softmax along the last axis, whose scale is 1/256 by definition."""
    x, rank = call.quantized(0), call.node.types[0].rank
    axis = cast("NnSoftmax", call.node.op).axis % rank
    last = (*(a for a in range(rank) if a != axis), axis)
    scaling = softmax_scaling(quant_of(x).scale[0], 1.0)
    op = QSoftmax(
        multiplier=scaling.multiplier, left_shift=scaling.left_shift, diff_min=scaling.diff_min
    )
    shares = call.emit(op, call.transposed(x, last), quant=SOFTMAX)
    return [call.transposed(shares, tuple(last.index(a) for a in range(rank)))]


@rule(RealArgmax)
def argmax(call: Call) -> Sequence[Value]:
    """``argmax(x)`` -> q.argmax: the largest code is that of a largest number."""
    op = cast("RealArgmax", call.node.op)
    return [call.emit(QArgmax(axis=op.axis), call.quantized(0))]
