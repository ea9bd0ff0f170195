"""Quantized integers of floats, and the floats that quantized integers represent.

Tests: tests/unit/runtime/test_batching.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ops.real import RealQuantize

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import Array, QuantParams, TensorType


def quantized(array: npt.NDArray[Any], type_: TensorType) -> Array:
    """Return floats as the integers of a quantized type, as ``real.quantize`` does.

    Args:
        array: Finite numbers of any shape; where the type has a scale for each channel, its axes.
        type_: An integer type with quantization.
    """
    assert type_.quant is not None
    op = RealQuantize(quant=type_.quant, dtype=type_.dtype)
    return op.evaluate(array.astype(np.float32))[0]


def reals(array: Array, quant: QuantParams | None) -> npt.NDArray[Any]:
    """Return the real values that quantized values represent, as float64; others unchanged."""
    if quant is None:
        return np.asarray(array)
    scale, zero = np.asarray(quant.scale), np.asarray(quant.zero_point)
    if quant.axis is not None:
        shape = [1] * array.ndim
        shape[quant.axis] = -1
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    result: npt.NDArray[Any] = (array.astype(np.float64) - zero) * scale
    return result


def sample_reals(array: npt.NDArray[Any], type_: TensorType) -> npt.NDArray[Any]:
    """Return the real values of an array of a type, or of several samples, as float64.

    Args:
        array: ``[samples, *shape]``, where a leading dimension of 1 that the type has is that of
            the samples; values without quantization are returned unchanged.
        type_: The type of one sample.
    """
    quant = type_.quant
    if quant is not None and quant.axis is not None and array.ndim > type_.rank:
        quant = replace(quant, axis=quant.axis + 1)
    return reals(array, quant)
