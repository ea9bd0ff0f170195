"""Tensors as importers read them: element types, scales and zero points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite_schema import VALUE_RANGE, TensorType
from rlx.ir import DType, QuantParams
from rlx.ops.real import RealDequantize

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from rlx.frontends.tflite_file import Quantization, Tensor

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
"""Element types that stand for reals by scale and zero point."""

REAL_TYPES = (
    TensorType.FLOAT32,
    TensorType.FLOAT64,
    TensorType.INT32,
    TensorType.INT64,
    TensorType.BOOL,
)
"""Element types of plain numbers that operators compute with."""


@dataclass(frozen=True, slots=True)
class PerTensor:
    """Scale and zero point of a tensor with one scale.

    Attributes:
        scale: As the file holds it. Bounds of activations are divided by it in float32.
        zero_point: Code that stands for zero.
    """

    scale: np.float32
    zero_point: int

    @property
    def real(self) -> float:
        """The scale widened to double, in which the reference multiplies and divides scales.

        A product of two scales is exact there, so that a multiplier of 31 bits is the nearest one;
        in float32 about every multiplier would be another (see ``rlx.frontends.tflite.REFERENCE``).
        """
        return float(self.scale)

    @property
    def params(self) -> QuantParams:
        """The same for the graph."""
        return QuantParams.per_tensor(self.real, self.zero_point)


def require_type(tensor: Tensor, *wanted: TensorType) -> None:
    """Refuse a tensor of another element type."""
    if tensor.type not in wanted:
        names = " or ".join(t.name.lower() for t in wanted)
        raise UnsupportedError(
            f"{tensor.label} is {tensor.described}, want {names}", hint=type_hint(tensor.type)
        )


def type_hint(found: TensorType) -> str | None:
    """Return what to do about tensors of an element type that is not int8."""
    return _TYPE_HINTS.get(found)


def quant_of(tensor: Tensor) -> PerTensor:
    """Return scale and zero point of a tensor that must have one scale."""
    quantization = tensor.quantization
    if quantization is None:
        raise MalformedError(f"{tensor.label} is {tensor.described} without scale and zero point")
    if not quantization.per_tensor:
        raise UnsupportedError(f"{tensor.label} has {len(quantization.scale)} scales, want one")
    return PerTensor(quantization.scale[0], int(quantization.zero_point[0]))


def quant_of_axis(tensor: Tensor) -> QuantParams:
    """Return scales and zero points of a constant, for the whole tensor or along one axis."""
    found = tensor.quantization
    if found is None:
        raise MalformedError(f"{tensor.label} is {tensor.described} without scale and zero point")
    if found.per_tensor:
        return quant_of(tensor).params
    rank, count = len(tensor.shape), len(found.scale)
    if not 0 <= found.axis < rank or tensor.shape[found.axis] != count:
        raise MalformedError(
            f"{tensor.label} is {tensor.described}, but has {count} scales along axis {found.axis}"
        )
    scales = tuple(float(s) for s in found.scale)
    return QuantParams(scales, tuple(int(z) for z in found.zero_point), found.axis)


def real_array(tensor: Tensor) -> npt.NDArray[Any]:
    """Return the plain numbers of a constant; int8 weights are dequantized to float32.

    Raises:
        UnsupportedError: The element type is one that no operator takes.
        MalformedError: One of them is not a number (NaN).
    """
    if tensor.type is TensorType.INT8:
        array: npt.NDArray[Any] = tensor.array()
        (reals,) = RealDequantize(quant=quant_of_axis(tensor)).evaluate(array)
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
    """Return what a constant's only scale says; None if it says nothing that can be meant."""
    if not quantization.per_tensor or tensor.type not in VALUE_RANGE:
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
_TYPE_HINTS = {
    TensorType.FLOAT32: _INT8_HINT,
    TensorType.FLOAT16: _INT8_HINT,
    TensorType.UINT8: _INT8_HINT,
    TensorType.INT16: _INT8_HINT,
}
