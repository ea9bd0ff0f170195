"""uint8 models as int8 models: every stored value 128 less, and every zero point too.

``scale * (value - zero_point)`` is unchanged, and so is the arithmetic of operators, which see
values only by their distance to the zero point. ``AVERAGE_POOL_2D`` does not: halves are rounded up
in uint8. Factors are computed from scales as LiteRT's kernels for uint8 do (``Call.precision``).
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

EXACT_ON_UINT8: Final = frozenset(
    (
        "ADD", "ARG_MAX", "AVERAGE_POOL_2D", "BATCH_TO_SPACE_ND", "CONCATENATION", "CONV_2D",
        "DEPTHWISE_CONV_2D", "DEPTH_TO_SPACE", "EXPAND_DIMS", "FULLY_CONNECTED", "GATHER_ND",
        "HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "MAXIMUM", "MAX_POOL_2D", "MEAN", "MINIMUM",
        "MIRROR_PAD", "MUL", "PACK", "PAD", "PADV2", "PRELU", "REDUCE_MAX", "REDUCE_MIN", "RELU",
        "RELU6", "RESHAPE", "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2", "SLICE", "SOFTMAX",
        "SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH", "SPLIT", "SPLIT_V", "SQUEEZE", "STRIDED_SLICE",
        "SUB", "TANH", "TILE", "TRANSPOSE", "UNPACK",
    )
)  # fmt: skip
"""Operators whose results on uint8 are those of LiteRT; others may compute int8 by other rules."""


def signed(model: Model) -> tuple[Model, frozenset[int]]:
    """Return a model with int8 for uint8 between layers, and the numbers of those tensors."""
    inner = [o for o in model.operators if o.name not in BETWEEN_TYPES]
    used = {index for o in inner for index in (*o.inputs, *o.outputs)}
    uint8_tensors = frozenset(
        t.index
        for t in model.tensors
        if t.index in used and t.type is TensorType.UINT8 and t.quantization is not None
    )
    if not uint8_tensors:
        return model, uint8_tensors
    tensors = tuple(
        _signed(t, t.quantization) if t.index in uint8_tensors and t.quantization is not None else t
        for t in model.tensors
    )
    return replace(model, tensors=tensors), uint8_tensors


def _signed(tensor: Tensor, quantization: Quantization) -> Tensor:
    """Return a uint8 tensor as int8."""
    return replace(
        tensor,
        type=TensorType.INT8,
        stored=tensor.type,
        data=None if tensor.data is None else tensor.data ^ np.uint8(UINT8_OFFSET),
        quantization=replace(quantization, zero_point=quantization.zero_point - UINT8_OFFSET),
    )
