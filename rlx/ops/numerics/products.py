"""Exact integer products through floating-point matrix multiplication.

NumPy multiplies integer matrices some twenty times slower than floating-point ones. A sum of
products whose every partial sum stays below 2^24 (2^53) in magnitude is exact in float32 (float64)
in any order of summation, so the fast form has the same results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from rlx.ir.types import Array
    from rlx.ops.numerics.fixed_point import Int64

Int32: TypeAlias = npt.NDArray[np.int32]

_MAX_EXACT_FLOAT32 = 1 << 24
"""Magnitude up to which float32, with a significand of 24 bits, holds every integer."""

_BLOCK_WEIGHTS = 1 << 18
"""Weights that are widened at a time, so that sums over large tensors need no wide copy."""


def _rows_at_once(weights: Array) -> int:
    """Return the rows of axis 0 in a block."""
    return max(_BLOCK_WEIGHTS * len(weights) // max(weights.size, 1), 1)


def magnitudes(weights: Array) -> Int64:
    """Return ``sum(|w|)`` of each output channel (axis 0) of integer weights, int64[O]."""
    rows = weights.reshape(len(weights), -1)
    step = _rows_at_once(rows)
    sums = np.zeros(len(rows), np.int64)
    for top in range(0, len(rows), step):
        for left in range(0, rows.shape[1], _BLOCK_WEIGHTS):
            block = _widen(rows[top : top + step, left : left + _BLOCK_WEIGHTS])
            sums[top : top + step] += np.abs(block, out=block).sum(axis=1, dtype=np.int64)
    return sums


def sum_bound(weights: Array) -> int:
    """Return a bound on ``|sum(x * w)|`` for any int8 ``x``; products run over axis 0."""
    step = _rows_at_once(weights)
    magnitude = np.zeros(weights.shape[1:], np.int64)
    for start in range(0, len(weights), step):
        block = _widen(weights[start : start + step])
        magnitude += np.abs(block).sum(axis=0, dtype=np.int64)
    return 128 * int(magnitude.max(initial=0))


def _widen(block: Array) -> Array:
    """Return a block as integers that hold the magnitude of every element."""
    return block.astype(np.int16 if block.dtype.itemsize == 1 else np.int64)


def sum_range(weights: Array) -> tuple[Int64, Int64]:
    """Return the minimum and maximum of ``sum(x * w)`` over int8 ``x``, for each column.

    Args:
        weights: Products run over axis 0, [K, N].
    """
    wide = weights.astype(np.int64)
    # The extreme of each product is at an end of int8, for both signs of the weight.
    a, b = wide * -128, wide * 127
    return np.minimum(a, b).sum(axis=0), np.maximum(a, b).sum(axis=0)


def exact_float(weights: Array) -> np.dtype[np.floating[Any]]:
    """Return the cheapest float type in which sums of int8 times ``weights``, axis 0, are exact."""
    return np.dtype(np.float32 if sum_bound(weights) < _MAX_EXACT_FLOAT32 else np.float64)


def exact_matmul(
    x: Array, weights: Array, *, x_zero_point: int = 0, bias: Array | None = None
) -> Int32 | Int64:
    """Return ``(x - x_zero_point) @ weights + bias``, exactly.

    Args:
        x: int8|int16[..., K], or int8|int16[G, M, K] for a stack of weights.
        weights: int8 (or narrower)[K, N] or a stack of matrices [G, K, N].
        x_zero_point: Subtracted from ``x``; folded into the bias, so that sums stay small.
        bias: Integers [N], [G, N] for a stack, or None.

    Returns:
        int32[..., N] or int32[G, M, N]; int64 if ``x`` is int16.
    """
    wide = x.dtype.itemsize > 1
    float_type = np.dtype(np.float64) if wide else exact_float(np.moveaxis(weights, -2, 0))
    product = x.astype(float_type) @ weights.astype(float_type)
    offset = -x_zero_point * weights.sum(axis=-2, dtype=np.int64)
    if bias is not None:
        offset = offset + bias
    if weights.ndim > 2:
        offset = offset[:, np.newaxis]
    total: Int64 = product.astype(np.int64) + offset
    return total if wide else total.astype(np.int32)


def exact_product(x: Array, y: Array, bound: int) -> Int64:
    """Return ``x @ y`` of integers, exactly; stacks of matrices broadcast.

    Args:
        x: [..., M, K].
        y: [..., K, N].
        bound: Largest magnitude of a product of two elements; sums of K of them are below 2^53.
    """
    exact_float32 = x.shape[-1] * bound < _MAX_EXACT_FLOAT32
    float_type = np.float32 if exact_float32 else np.float64
    product: Int64 = (x.astype(float_type) @ y.astype(float_type)).astype(np.int64)
    return product
