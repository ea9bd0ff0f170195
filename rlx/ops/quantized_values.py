"""Arithmetic on quantized values: without their scale, minus their zero points, as real values.

Tests: tests/unit/ops/nn/test_quantized.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rlx.ops.expression import Expression
from rlx.ops.real import RealBitcast, RealDequantize

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import DType, QuantParams

Own = TypeVar("Own", bound=Expression)


def constant_beside(x: Own, array: npt.ArrayLike, dtype: type[Any] = np.float32) -> Own:
    """Return an array as a constant in the graph of ``x``."""
    return x.wrap(x.graph.constant(np.asarray(array, dtype)))


def plain_integers(x: Own) -> Own:
    """Return quantized values as plain integers; others unchanged."""
    return x if x.type.quant is None else x.apply(RealBitcast(dtype=x.dtype))


def centred(x: Own, quant: QuantParams, dtype: DType) -> Own:
    """Return quantized values less their zero points, as numbers of a type that holds them."""
    values = plain_integers(x).cast(dtype)
    if not any(quant.zero_point):
        return values
    points = spread(quant.zero_point, quant.axis, x.ndim)
    return values - constant_beside(x, points, dtype.numpy.type)


def spread(values: npt.ArrayLike, axis: int | None, rank: int) -> npt.NDArray[Any]:
    """Return a scalar, or one value for each index of an axis, so that it broadcasts."""
    array = np.asarray(values)
    if axis is None:
        return array.reshape(())
    return array.reshape(-1, *(1,) * (rank - axis % rank - 1))


def meant(x: Own, quant: QuantParams) -> Own:
    """Return the real values that quantized values represent."""
    return x.apply(RealDequantize(quant=quant))
