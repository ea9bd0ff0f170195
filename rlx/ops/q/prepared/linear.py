"""Convolutions and dense layers: exact sums by floating-point products, then requantization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rlx.numerics.products import exact_float, sum_range
from rlx.numerics.requantizer import Requantization, Requantizer
from rlx.ops.q.linear_view import Linear

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Array
    from rlx.ir.op import Evaluator
    from rlx.ops.q.conv import QConv2d
    from rlx.ops.q.linear import QDense
    from rlx.ops.q.window import Window

Float: TypeAlias = npt.NDArray[np.floating[Any]]

# Numbers of a temporary that stay in the cache together.
_BLOCK = 1 << 16


def prepare_dense(op: QDense, w: Array, bias: Array) -> Evaluator:
    """Return the evaluator of a dense layer with these weights."""
    matrix, requantize = _matrix(op, w, bias)

    def evaluate(*operands: Array) -> tuple[Array, ...]:
        x = operands[0]
        return (requantize(x.astype(matrix.dtype) @ matrix),)

    return evaluate


def prepare_conv(op: QConv2d, w: Array, bias: Array) -> Evaluator:
    """Return the evaluator of a convolution with these weights."""
    if op.groups > 1 and w.shape[-1] == 1:
        sums, requantize = _depthwise_sums(op, w), _requantizer(op, w, bias)
    else:
        sums, requantize = _grouped_sums(op, w), _requantizer(op, w, bias)

    def evaluate(*operands: Array) -> tuple[Array, ...]:
        x = operands[0]
        rows, columns = op.window.output_size((x.shape[1], x.shape[2]))
        results = np.empty((len(x), rows, columns, len(w)), np.int8)
        step = max(1, _BLOCK // results[0].size)
        for start in range(0, len(x), step):
            results[start : start + step] = requantize(sums(x[start : start + step]))
        return (results,)

    return evaluate


def _requantizer(op: QConv2d | QDense, w: Array, bias: Array) -> Requantizer:
    """Return the requantizer of sums of inputs whose zero point is not subtracted."""
    linear = Linear.of(op, w, bias)
    what = Requantization(
        rescale=op.rescale, offset=linear.bias, zero_point=op.zero_point, low=op.low, high=op.high
    )
    return Requantizer(what, *sum_range(linear.weights.T))


def _matrix(op: QDense, w: Array, bias: Array) -> tuple[Float, Requantizer]:
    columns = w.T
    return np.ascontiguousarray(columns.astype(exact_float(columns))), _requantizer(op, w, bias)


def _grouped_sums(op: QConv2d, w: Array) -> Callable[[Array], Float]:
    """Return a function from NHWC inputs to sums: a matrix product for each group."""
    window, groups = op.window, op.groups
    outputs, inner = w.shape[0] // groups, w.shape[-1]
    dtype = exact_float(w.reshape(len(w), -1).T)
    matrices = [
        np.ascontiguousarray(part.reshape(outputs, -1).T.astype(dtype))
        for part in np.split(w, groups)
    ]

    def sums(x: Array) -> Float:
        views = window.views(window.padded(x, op.x_zero_point, dtype))
        batch, rows, columns = views.shape[:3]
        # One product of two long dimensions, not one for each row of the image.
        parts = [
            views[..., inner * g : inner * (g + 1)].reshape(batch * rows * columns, -1) @ matrix
            for g, matrix in enumerate(matrices)
        ]
        flat = parts[0] if groups == 1 else np.concatenate(parts, axis=-1)
        return flat.reshape(batch, rows, columns, -1)

    return sums


def _depthwise_sums(op: QConv2d, w: Array) -> Callable[[Array], Float]:
    """Return a function from NHWC inputs to sums: a product and an addition for each tap."""
    window, multiplier = op.window, len(w) // op.groups
    dtype = exact_float(w.reshape(len(w), -1).T)
    taps = np.ascontiguousarray(w[..., 0].transpose(1, 2, 0).astype(dtype))

    def sums(x: Array) -> Float:
        padded = window.padded(x, op.x_zero_point, dtype)
        if multiplier > 1:
            padded = padded.repeat(multiplier, axis=3)
        return _slide(window, padded, taps)

    return sums


def _slide(window: Window, padded: Float, taps: Float) -> Float:
    """Return the sums of taps [KH, KW, C] times shifted images, [N, OH, OW, C]."""
    views = window.views(padded)
    batch, rows, columns, kernel_h, kernel_w, channels = views.shape
    shape = (batch, rows, columns * channels)
    total = np.zeros(shape, padded.dtype)
    product = np.empty(shape, padded.dtype)
    # Columns and channels as one long axis: fewer, longer loops.
    long_taps = np.tile(taps, columns)
    for tap_w in range(kernel_w):
        for tap_h in range(kernel_h):
            shifted = views[:, :, :, tap_h, tap_w].reshape(shape)
            np.multiply(shifted, long_taps[tap_h, tap_w], out=product)
            total += product
    return total.reshape(batch, rows, columns, channels)
