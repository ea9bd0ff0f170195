"""Pools of images."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from rlx.ops.nn import Layout, NnAveragePool, NnMaxPool
from rlx.ops.q import QAveragePool2d, QMaxPool2d, QPad, Window
from rlx.ops.real import RealAveragePool, RealMaxPool
from rlx.quant.rules.call import quant_of, rule
from rlx.quant.rules.image import as_image, check_window, from_image, image_window
from rlx.quant.rules.reduce import mean_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node, Value
    from rlx.quant.rules.call import Call


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
        pooled = mean_of(call, image, (1, 2), keep_dims=True)
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
