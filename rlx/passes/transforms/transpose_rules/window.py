"""Transposes of convolutions and average pools.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rlx.ops import real
from rlx.ops.real import SpatialWindow
from rlx.passes.transforms.formulas import constant, window_sizes
from rlx.passes.transforms.transpose import RULES

if TYPE_CHECKING:
    from rlx.ops.expression import Expression
    from rlx.passes.transforms.transpose import Gradients, TransposeCall


@RULES.rule(real.RealConv)
def _conv(op: real.RealConv, call: TransposeCall) -> Gradients:
    x, w = call.operands
    if not all(t.is_static for t in call.types):
        raise call.refuse(f"the size of {call.types[0]} must be known")
    if w is not None:
        return [_by_image(op, call.types[0].static_shape, w, call.gradient), None]
    assert x is not None
    return [None, _by_weights(op, x, call.types[1].static_shape, call.gradient)]


def _by_image(
    op: real.RealConv, shape: tuple[int, ...], w: Expression, gradient: Expression
) -> Expression:
    """Return the convolution of the spread gradient with the reversed kernels.

    Args:
        op: The convolution.
        shape: Shape of its image.
        w: Its weights [O, kernel..., C / groups].
        gradient: Gradient of its result.
    """
    window, rank = op.window, len(shape) - 2
    spread = _spread(gradient, window)
    rows = zip(shape[1:-1], spread.type.static_shape[1:-1], window.padding, window.extent,
               strict=True)  # fmt: skip
    margins = [(e - 1 - low, n + low - m) for n, m, (low, _), e in rows]
    padding = tuple((max(a, 0), max(b, 0)) for a, b in margins)
    whole = SpatialWindow(window.kernel, (), window.dilation, padding)
    kernels = _swap_channels(w, op.groups).apply(real.RealReverse(axes=tuple(range(1, rank + 1))))
    image = spread.apply(real.RealConv(window=whole, groups=op.groups), kernels)
    if all(min(m) >= 0 for m in margins):
        return image
    cuts = [
        slice(max(-a, 0), max(-a, 0) + n) for (a, _), n in zip(margins, shape[1:-1], strict=True)
    ]
    return image[(slice(None), *cuts)]


def _spread(gradient: Expression, window: SpatialWindow) -> Expression:
    """Return a gradient with zeros between its elements, one element for each index of strides."""
    if set(window.stride) <= {1}:
        return gradient
    none = (0,) * gradient.ndim
    interior = (0, *(s - 1 for s in window.stride), 0)
    return gradient.apply(real.RealPad(before=none, after=none, interior=interior))


def _swap_channels(w: Expression, groups: int) -> Expression:
    """[O, kernel..., C / groups] -> [C, kernel..., O / groups]."""
    outputs, *kernel, inner = w.type.static_shape
    spatial = range(2, 2 + len(kernel))
    split = w.reshape(groups, outputs // groups, *kernel, inner)
    turned = split.transpose(0, 2 + len(kernel), *spatial, 1)
    return turned.reshape(groups * inner, *kernel, outputs // groups)


def _by_weights(
    op: real.RealConv, x: Expression, shape: tuple[int, ...], gradient: Expression
) -> Expression:
    """Return the convolution of the image with the gradient as kernels, over the batch.

    Args:
        op: The convolution.
        x: Its image.
        shape: Shape of its weights.
        gradient: Gradient of its result.
    """
    window, groups = op.window, op.groups
    batch, *size, channels = x.type.static_shape
    rank = len(size)
    spatial = range(1, rank + 1)
    turned = SpatialWindow(
        gradient.type.static_shape[1:-1], window.dilation, window.stride, window.padding
    )
    image = x.reshape(batch, *size, groups, channels // groups)
    image = image.transpose(rank + 2, *spatial, rank + 1, 0)
    image = image.reshape(channels // groups, *size, groups * batch)
    kernels = gradient.transpose(rank + 1, *spatial, 0)
    product = image.apply(real.RealConv(window=turned, groups=groups), kernels)
    index = (slice(None), *(slice(k) for k in window.kernel))
    return product[index].transpose(rank + 1, *spatial, 0).reshape(*shape)


@RULES.rule(real.RealAveragePool)
def _average_pool(op: real.RealAveragePool, call: TransposeCall) -> Gradients:
    """Each gradient's share for every element of its window."""
    (x,) = call.types
    if not x.is_static:
        raise call.refuse(f"the size of {x} must be known")
    gradient, channels = call.gradient, x.static_shape[-1]
    if op.window.is_padded and not op.count_padding:
        sizes = window_sizes(x, op.window).astype(x.dtype.numpy)
        share = gradient / constant(call.graph, sizes)
    else:
        share = gradient / float(math.prod(op.window.kernel))
    ones = constant(call.graph, np.ones((channels, *op.window.kernel, 1), x.dtype.numpy))
    conv = real.RealConv(window=op.window, groups=channels)
    return [_by_image(conv, x.static_shape, ones, share)]
