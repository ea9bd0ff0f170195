"""Operators between element types: quantize, dequantize, requantize, cast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends.quantization import rescale_of
from rlx.frontends.refusal import UnsupportedError
from rlx.frontends.tflite.ops.importers import both_importer
from rlx.frontends.tflite.ops.tensors import (
    DTYPES,
    QUANTIZED_TYPES,
    REAL_TYPES,
    narrow_dtype,
    quant_of,
    require_type,
    show,
)
from rlx.frontends.tflite.schema import TensorType
from rlx.ir import DType, QuantParams
from rlx.ops.q import QConvert, QRequantize
from rlx.ops.real import RealCast, RealDequantize, RealQuantize

if TYPE_CHECKING:
    from rlx.frontends.tflite.file import Tensor
    from rlx.frontends.tflite.ops.call import Call
    from rlx.ir import Op, Value

_NUMBERS = (*REAL_TYPES, TensorType.FLOAT16)


@both_importer("QUANTIZE")
def import_quantize(call: Call) -> None:
    """``QUANTIZE`` of float32, or of quantized values of another scale or width."""
    call.arity(1)
    x, result = call.input(0), call.output
    require_type(result, *QUANTIZED_TYPES)
    if x.type is TensorType.FLOAT32:
        op: Op = RealQuantize(quant=quant_of(result).params, dtype=DTYPES[result.type])
        call.finish(op, call.scope.real(x))
        return
    require_type(x, TensorType.FLOAT32, *QUANTIZED_TYPES)
    call.finish(_requantize(call), call.scope.value(x.index))


def _requantize(call: Call) -> QRequantize | QConvert:
    """Return the op between two scales and zero points.

    Source: tflite-micro ``PrepareQuantizeReference``: the factor in double.
    """
    x_tensor, y_tensor = call.input(0), call.output
    x, result = quant_of(x_tensor), quant_of(y_tensor)
    rescale = rescale_of(x.real / result.real)
    if x_tensor.type is y_tensor.type is TensorType.INT8:
        return QRequantize(x_zero_point=x.zero_point, rescale=rescale, zero_point=result.zero_point)
    return QConvert(
        x_zero_point=x.zero_point,
        rescale=rescale,
        zero_point=result.zero_point,
        dtype=DTYPES[y_tensor.type],
    )


@both_importer("DEQUANTIZE")
def import_dequantize(call: Call) -> None:
    """``DEQUANTIZE`` of quantized values or float16, to float32."""
    call.arity(1)
    x = call.input(0)
    require_type(call.output, TensorType.FLOAT32)
    require_type(x, *QUANTIZED_TYPES, TensorType.FLOAT16)
    if x.data is not None and narrow_dtype(x) is not DType.I8:
        call.bind(call.scope.real(x))
        return
    value = call.scope.value(x.index)
    if x.type is TensorType.FLOAT16:
        call.finish(RealCast(dtype=DTYPES[TensorType.FLOAT32]), value)
        return
    params = quant_of(x).params
    if x.type is TensorType.INT8:
        value = call.restated(value, params)
    call.finish(RealDequantize(quant=params), value)


@both_importer("CAST")
def import_cast(call: Call) -> None:
    """``CAST``: the same values in another element type, also of quantized integers."""
    call.arity(1)
    given, result = call.input(0), call.output
    for tensor in (given, result):
        require_type(tensor, *_NUMBERS, *QUANTIZED_TYPES)
    op = RealCast(dtype=DTYPES[result.type])
    call.bind(call.emit(op, _numbers(call, given), quant=call.claimed(result)))


def _numbers(call: Call, tensor: Tensor) -> Value:
    """Return a value without quantization.

    Raises:
        UnsupportedError: Its quantized values represent other real values.
    """
    if tensor.type in REAL_TYPES:
        return call.scope.real(tensor)
    value = call.scope.value(tensor.index)
    quant = value.type.quant
    if quant is None:
        return value
    if quant != QuantParams.per_tensor(1.0):
        raise UnsupportedError(
            f"reads the integers of {tensor.label} as values, but the tensor has scale and zero "
            f"point {show(quant_of(tensor))}",
            hint="use DEQUANTIZE in the model, which applies scale and zero point",
        )
    return call.emit(RealDequantize(quant=quant), value)
