"""Tensors as importers read them: element types, scales and zero points.

Tests: tests/unit/frontends/tflite/ops/test_odd_scales.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.schema import VALUE_RANGE, TensorType
from rlx.ir import DType, QuantParams
from rlx.ir import TensorType as Type
from rlx.ops.numerics.scales import TFLM_POOL, same_scale
from rlx.ops.real import RealDequantize

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from rlx.frontends.tflite.file import Quantization, Tensor

DTYPES: Mapping[TensorType, DType] = {
    TensorType.FLOAT32: DType.F32,
    TensorType.FLOAT16: DType.F16,
    TensorType.INT32: DType.I32,
    TensorType.UINT8: DType.U8,
    TensorType.INT64: DType.I64,
    TensorType.BOOL: DType.BOOL,
    TensorType.INT16: DType.I16,
    TensorType.INT8: DType.I8,
    TensorType.FLOAT64: DType.F64,
    TensorType.UINT32: DType.U32,
    TensorType.BFLOAT16: DType.BF16,
}


QUANTIZED_TYPES = (TensorType.INT8, TensorType.UINT8, TensorType.INT16)
"""Element types of quantized values, with scale and zero point."""

REAL_TYPES = (
    TensorType.FLOAT32,
    TensorType.FLOAT64,
    TensorType.INT32,
    TensorType.INT64,
    TensorType.BOOL,
)
"""Element types of unquantized values that operators compute with."""


@dataclass(frozen=True, slots=True)
class PerTensor:
    """Scale and zero point of a tensor with one scale.

    Attributes:
        scale: As the file holds it. Bounds of activations are divided by it in float32.
        zero_point: Quantized value of 0.
    """

    scale: np.float32
    zero_point: int

    @property
    def real(self) -> float:
        """The scale widened to double, in which the reference multiplies and divides scales.

        A product of two scales is exact there, so that a multiplier of 31 bits is the nearest one;
        in float32 about every multiplier would be another (see ``REFERENCE`` in
        ``rlx.frontends.tflite.frontend``).
        """
        return float(self.scale)

    @property
    def params(self) -> QuantParams:
        """The same for the graph."""
        return QuantParams.per_tensor(self.real, self.zero_point)


def is_near(x: QuantParams | None, y: QuantParams | None) -> bool:
    """Return whether values can be copied from ``x`` to ``y``: they represent the same real values.

    Converters write scales that differ in the last digit. TensorFlow Lite Micro treats those of
    pools as equal that differ by 1e-6 at most (``PoolingPrepare``), and does not look at those of
    other copies. Here they differ by that, or by the last four bits of a float32, and never by so
    much that a value represents a real value half a step away.
    """
    if x is None or y is None or x.axis is not None or y.axis is not None:
        return x == y
    (a,), (b,) = x.scale, y.scale
    small = same_scale(a, b, TFLM_POOL) and 2 * _MAX_DISTANCE * abs(a - b) <= b
    return small and x.zero_point == y.zero_point


_MAX_DISTANCE = 255
"""Steps between an int8 value and a zero point: from -128 to 127."""


def require_type(tensor: Tensor, *types: TensorType) -> None:
    """Refuse a tensor of another element type."""
    if tensor.type not in types:
        names = " or ".join(t.name.lower() for t in types)
        raise UnsupportedError(
            f"{tensor.label} is {tensor.described}, expected {names}", hint=type_hint(tensor.type)
        )


def input_type(tensor: Tensor) -> Type:
    """Return the type of a graph input or state; some are refused by the operator that reads it."""
    if tensor.refusal is not None:
        raise tensor.refusal.inside(tensor.label)
    if tensor.type is TensorType.INT8:
        return Type(tensor.shape, DType.I8, quant_of(tensor).params)
    if tensor.type not in DTYPES:
        raise UnsupportedError(
            f"{tensor.label} is {tensor.described}, expected int8",
            hint=type_hint(tensor.type) or type_hint(TensorType.FLOAT32),
        )
    quant = None
    if tensor.type in QUANTIZED_TYPES and tensor.quantization is not None:
        quant = stated(tensor, tensor.quantization)
    return Type(tensor.shape, DTYPES[tensor.type], quant)


def type_hint(element_type: TensorType) -> str | None:
    """Return the hint for tensors of an element type that is not int8."""
    return _TYPE_HINTS.get(element_type)


def quant_of(tensor: Tensor) -> PerTensor:
    """Return scale and zero point of a tensor that must have one scale."""
    quantization = tensor.quantization
    if quantization is None:
        raise MalformedError(f"{tensor.label} is {tensor.described} without scale and zero point")
    if not quantization.per_tensor:
        raise UnsupportedError(f"{tensor.label} has {len(quantization.scale)} scales, expected one")
    if quantization.scale[0] == 0:
        raise UnsupportedError(
            f"{tensor.label} has the scale 0, expected a scale above 0",
            hint="quantize the model again with samples in which this tensor is not constant",
        )
    return PerTensor(quantization.scale[0], int(quantization.zero_point[0]))


def quant_of_axis(tensor: Tensor) -> QuantParams:
    """Return scales and zero points of a constant, for the whole tensor or along one axis."""
    quant = tensor.quantization
    if quant is None:
        raise MalformedError(f"{tensor.label} is {tensor.described} without scale and zero point")
    if quant.per_tensor:
        return QuantParams.per_tensor(positive(quant.scale)[0], int(quant.zero_point[0]))
    rank, count = len(tensor.shape), len(quant.scale)
    if not 0 <= quant.axis < rank or tensor.shape[quant.axis] != count:
        raise MalformedError(
            f"{tensor.label} is {tensor.described}, but has {count} scales along axis {quant.axis}"
        )
    scales = positive(quant.scale)
    return QuantParams(scales, tuple(int(z) for z in quant.zero_point), quant.axis)


def positive(scales: npt.NDArray[np.float32]) -> tuple[float, ...]:
    """Return scales in double, 1 for those that are 0: their values are 0 (``nonzero``)."""
    return tuple(float(s) if s else 1.0 for s in scales)


def nonzero(tensor: Tensor) -> npt.NDArray[Any]:
    """Return the elements of a constant with the zero point for all whose scale is 0.

    Some converters write the scale 0 for a channel without weights; the values stored there
    represent 0.
    """
    array, quantization = tensor.array(), tensor.quantization
    if quantization is None or quantization.scale.all():
        return array
    if quantization.per_tensor:
        return np.full_like(array, quantization.zero_point[0])
    sizes = [1] * array.ndim
    sizes[quantization.axis] = -1
    scale, point = quantization.scale.reshape(sizes), quantization.zero_point.reshape(sizes)
    return np.where(scale == 0, point, array).astype(array.dtype)


def narrow_dtype(tensor: Tensor) -> DType:
    """Return the element type of int8 weights, which may have fewer bits in the file."""
    if tensor.type is not TensorType.INT8 or tensor.stored is None:
        return DType.I8
    return _NARROW.get(tensor.stored, DType.I8)


_NARROW = {TensorType.INT4: DType.I4, TensorType.INT2: DType.I2}


def real_array(tensor: Tensor) -> npt.NDArray[Any]:
    """Return the unquantized values of a constant; int8 weights are dequantized to float32.

    Raises:
        UnsupportedError: No operator accepts the element type.
        MalformedError: One of them is NaN.
    """
    if tensor.type is TensorType.INT8:
        reals: npt.NDArray[Any]
        (reals,) = RealDequantize(quant=quant_of_axis(tensor)).evaluate(nonzero(tensor))
        return reals
    require_type(tensor, *REAL_TYPES)
    return checked_numbers(tensor, tensor.array())


def checked_numbers(tensor: Tensor, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the elements of a constant after checking that none is NaN.

    Raises:
        MalformedError: One is.
    """
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise MalformedError(
            f"{tensor.label} holds NaN, which is not a number",
            hint="train or convert the model again; its weights are damaged",
        )
    return array


def stated(tensor: Tensor, quantization: Quantization) -> QuantParams | None:
    """Return the quantization of a constant's only scale; None if it has no meaning."""
    if not quantization.per_tensor or tensor.type not in VALUE_RANGE:
        return None
    if tensor.type is TensorType.INT64:
        # A bias of sums of int16 values, whose scale is that of the sums.
        return None
    low, high = VALUE_RANGE[tensor.type]
    scale, point = float(quantization.scale[0]), int(quantization.zero_point[0])
    sound = 0 < scale < float("inf") and low <= point <= high
    return QuantParams.per_tensor(scale, point) if sound else None


def show(quant: PerTensor) -> str:
    """Return scale and zero point for a message."""
    return f"({quant.real!r}, {quant.zero_point})"


_INT8_HINT = (
    "convert with full int8 quantization (TFLITE_BUILTINS_INT8, inference_input_type and "
    "inference_output_type int8)"
)
_NARROW_HINT = (
    "store weights as int8 in the model (or float32, and let 'rlx quantize --weights 4' make them "
    "narrow); values that are computed are int8"
)
_TYPE_HINTS = {
    TensorType.INT4: _NARROW_HINT,
    TensorType.INT2: _NARROW_HINT,
    TensorType.UINT4: _NARROW_HINT,
    TensorType.FLOAT32: _INT8_HINT,
    TensorType.FLOAT16: _INT8_HINT,
    TensorType.UINT8: _INT8_HINT,
    TensorType.INT16: _INT8_HINT,
}
