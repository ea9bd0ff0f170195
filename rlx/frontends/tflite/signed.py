"""uint8 models as int8 models: every stored value 128 less, and every zero point too.

``scale * (value - zero_point)`` is unchanged, and so is the arithmetic of operators, which see
values only by their distance to the zero point. ``AVERAGE_POOL_2D`` does not: its importer refuses
windows in which that matters.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.frontends.tflite.schema import TensorType

if TYPE_CHECKING:
    from rlx.frontends.tflite.file import Model, Quantization, Tensor

UINT8_OFFSET: Final = 128
"""Offset of a uint8 value from the int8 value of the same real: ``uint8 = int8 + 128``."""

BETWEEN_TYPES: Final = ("QUANTIZE", "DEQUANTIZE", "CAST")
"""Operators that read and write uint8 without an offset."""

_LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
_INT8_MIN, _INT8_MAX = -128, 127


def signed(model: Model) -> tuple[Model, frozenset[int]]:
    """Return a model with int8 for uint8 between layers, and the numbers of those tensors.

    Weights whose distances to their zero point fit int8 become those distances, so that their zero
    point is 0; layers do not support others.
    """
    inner = [o for o in model.operators if o.name not in BETWEEN_TYPES]
    used = {index for o in inner for index in (*o.inputs, *o.outputs)}
    uint8_tensors = frozenset(
        t.index
        for t in model.tensors
        if t.index in used and t.type is TensorType.UINT8 and t.quantization is not None
    )
    if not uint8_tensors:
        return model, uint8_tensors
    weights = {o.inputs[1] for o in inner if o.name in _LAYERS and len(o.inputs) > 1}
    tensors = tuple(
        _signed(t, t.quantization, centre=t.index in weights)
        if t.index in uint8_tensors and t.quantization is not None
        else t
        for t in model.tensors
    )
    return replace(model, tensors=tensors), uint8_tensors


def _signed(tensor: Tensor, quantization: Quantization, *, centre: bool) -> Tensor:
    """Return a uint8 tensor as int8; weights around 0 if ``centre``, and if they fit."""
    point, data = quantization.zero_point - UINT8_OFFSET, tensor.data
    if data is not None:
        stored = data.astype(np.int64) - UINT8_OFFSET
        distances = stored - point[0] if len(point) == 1 else stored
        fits = _INT8_MIN <= distances.min() <= distances.max() <= _INT8_MAX
        if centre and len(point) == 1 and fits:
            stored, point = distances, np.zeros_like(point)
        data = stored.astype(np.int8).view(np.uint8)
    return replace(
        tensor,
        type=TensorType.INT8,
        stored=tensor.type,
        data=data,
        quantization=replace(quantization, zero_point=point),
    )
