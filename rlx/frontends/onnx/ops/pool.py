"""Pools.

Tests: tests/unit/frontends/onnx/ops/test_windows.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlx.frontends.onnx.ops.index import window_argmax
from rlx.frontends.onnx.ops.registry import importer
from rlx.frontends.onnx.ops.windows import ceiling, kernel_of, sizes, window_of
from rlx.ops import nn, real
from rlx.ops.nn import Layout
from rlx.ops.real import SpatialWindow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real


def grown(window: SpatialWindow, extra: tuple[int, ...]) -> SpatialWindow:
    """Return a window with more padding after each axis."""
    padding = tuple((b, a + e) for (b, a), e in zip(window.padding, extra, strict=True))
    return SpatialWindow(window.kernel, window.stride, window.dilation, padding)


@importer("MaxPool")
def import_max_pool(call: Call) -> Sequence[Real]:
    """``MaxPool``, with the places of the largest elements if they are read."""
    x = call.value(0)
    size = sizes(call, x.shape)
    window = window_of(call, size, kernel_of(call))
    window = grown(window, ceiling(call, window, size))
    y = x.apply(nn.NnMaxPool(window=window, layout=Layout.CHANNELS_FIRST))
    if not call.wants(1):
        return [y]
    by_column = call.flag("storage_order")
    return [y, window_argmax(call, x, window, by_column=by_column)]


@importer("AveragePool")
def import_average_pool(call: Call) -> Real:
    """``AveragePool``; padding of ``ceil_mode`` is never counted."""
    x = call.value(0)
    size = sizes(call, x.shape)
    window = window_of(call, size, kernel_of(call))
    return _average(x, window, ceiling(call, window, size), counted=call.flag("count_include_pad"))


def _average(x: Real, window: SpatialWindow, extra: tuple[int, ...], *, counted: bool) -> Real:
    """Return the mean of each window, zeros of the padding counted or not."""
    counted = counted and window.is_padded
    if counted and any(extra):
        before, after = zip(*window.padding, strict=True)
        x = x.apply(real.RealPad(before=(0, 0, *before), after=(0, 0, *after)))
        window, counted = SpatialWindow(window.kernel, window.stride, window.dilation), False
    return x.apply(
        nn.NnAveragePool(
            window=grown(window, extra), layout=Layout.CHANNELS_FIRST, count_padding=counted
        )
    )


@importer("LpPool")
def import_lp_pool(call: Call) -> Real:
    """``LpPool``: the p-norm of each window, padding as zeros."""
    x, p = call.value(0), call.integer("p")
    size = sizes(call, x.shape)
    window = window_of(call, size, kernel_of(call))
    powers = abs(x) ** float(p) if p != 2 else x * x
    wide = grown(window, ceiling(call, window, size))
    op = nn.NnAveragePool(window=wide, layout=Layout.CHANNELS_FIRST, count_padding=True)
    total = powers.apply(op) * float(math.prod(window.kernel))
    return total.sqrt() if p == 2 else total ** (1.0 / p)


def _spatial(call: Call) -> tuple[Real, tuple[int, ...]]:
    x = call.value(0)
    if x.ndim < 3:
        raise call.malformed(f"the input is {x.type}, expected spatial dimensions")
    return x, tuple(range(2, x.ndim))


@importer("GlobalAveragePool")
def import_global_average_pool(call: Call) -> Real:
    """``GlobalAveragePool``: the mean over all spatial axes."""
    x, axes = _spatial(call)
    return x.mean(*axes, keep_dims=True)


@importer("GlobalMaxPool")
def import_global_max_pool(call: Call) -> Real:
    """``GlobalMaxPool``: the largest element over all spatial axes."""
    x, axes = _spatial(call)
    return x.max(*axes, keep_dims=True)


@importer("GlobalLpPool")
def import_global_lp_pool(call: Call) -> Real:
    """``GlobalLpPool``: the p-norm over all spatial axes."""
    (x, axes), p = _spatial(call), call.integer("p")
    powers = abs(x) ** float(p) if p != 2 else x * x
    total = powers.sum(*axes, keep_dims=True)
    return total.sqrt() if p == 2 else total ** (1.0 / p)
