"""Formulas that rules of derivatives share: zeros, sums to an operand's shape, windows as taps.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rlx.ops import real
from rlx.ops.expression import Expression

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Graph, TensorType


def constant(graph: Graph, value: Array) -> Expression:
    """Return a constant as an expression."""
    return Expression(graph, graph.constant(value))


def zeros(graph: Graph, type_: TensorType) -> Expression:
    """Return zeros of a type, whose dimensions may be symbols."""
    zero = constant(graph, np.zeros((), type_.dtype.numpy))
    return zero.broadcast_to(*type_.shape)


def or_zeros(x: Expression | None, graph: Graph, type_: TensorType) -> Expression:
    """Return ``x``, or zeros of ``type_`` for None."""
    return zeros(graph, type_) if x is None else x


def sum_to(x: Expression, type_: TensorType) -> Expression:
    """Return ``x`` summed over the axes along which an operand of ``type_`` was broadcast."""
    lead = x.ndim - type_.rank
    axes = [a for a in range(x.ndim) if a < lead or type_.shape[a - lead] != x.shape[a]]
    if not axes:
        return x
    keeps = lead == 0
    summed = x.apply(real.RealReduceSum(axes=tuple(axes), keep_dims=keeps))
    return summed.reshape(*type_.shape)


def with_axes(x: Expression, axes: Sequence[int], rank: int) -> Expression:
    """Return ``x`` with a dimension of 1 at each of ``axes`` of ``rank``, if it lacks them."""
    if x.ndim == rank:
        return x
    removed = {a % rank for a in axes}
    sizes = iter(x.shape)
    return x.reshape(*(1 if a in removed else next(sizes) for a in range(rank)))


def depthwise(x: Expression, window: real.SpatialWindow, taps: Array) -> Expression:
    """Return the convolution of each channel with its own copy of kernels.

    Args:
        x: [N, spatial..., C], its channels a number.
        window: The window.
        taps: Kernels [K, kernel...].

    Returns:
        [N, output size..., C * K].
    """
    channels = x.type.static_shape[-1]
    kernels = np.tile(taps, (channels, *[1] * (taps.ndim - 1)))[..., None]
    weights = constant(x.graph, kernels.astype(x.dtype.numpy))
    return x.apply(real.RealConv(window=window, groups=channels), weights)


def one_hot_taps(window: real.SpatialWindow) -> Array:
    """Return kernels [K, kernel...] of which each reads one element of the window."""
    count = math.prod(window.kernel)
    return np.eye(count).reshape(count, *window.kernel)


def window_elements(x: Expression, window: real.SpatialWindow) -> Expression:
    """Return the elements of each window, [N, output size..., C, K], padding as zeros."""
    elements = depthwise(x, window, one_hot_taps(window))
    count = math.prod(window.kernel)
    *lead, channels = elements.shape
    assert isinstance(channels, int)
    return elements.reshape(*lead, channels // count, count)


def window_sizes(x: TensorType, window: real.SpatialWindow) -> Array:
    """Return the number of elements of the image in each window, [1, output size..., 1]."""
    ones = np.ones((1, *x.static_shape[1:-1], 1))
    taps = window.taps(window.pad(ones, 0))
    total: Array = np.sum([view for _, view in taps], axis=0)
    return total
