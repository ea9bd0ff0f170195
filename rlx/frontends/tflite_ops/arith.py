"""Elementwise arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends import quantization
from rlx.frontends.quantization import rescale_of, sum_scaling
from rlx.frontends.tflite_ops.call import importer
from rlx.frontends.tflite_ops.parts import activation_bounds
from rlx.ir import DType
from rlx.ops.q import QAdd, QClamp, QMul, QRequantize, QSub

if TYPE_CHECKING:
    from rlx.frontends.tflite_ops.call import Call


@importer("ADD")
def import_add(call: Call) -> None:
    """``ADD``."""
    _sum(call, QAdd)


@importer("SUB")
def import_sub(call: Call) -> None:
    """``SUB``."""
    _sum(call, QSub)


def _sum(call: Call, make: type[QAdd]) -> None:
    """Append a sum or a difference."""
    call.arity(2)
    x, y, result = call.quant(0), call.quant(1), call.result_quant
    low, high = activation_bounds(call, result)
    scaling = sum_scaling(x.real, y.real, result.real)
    op = make(
        x_zero_point=x.zero_point,
        y_zero_point=y.zero_point,
        x_rescale=scaling.x_rescale,
        y_rescale=scaling.y_rescale,
        left_shift=scaling.left_shift,
        rescale=scaling.rescale,
        zero_point=result.zero_point,
        low=low,
        high=high,
    )
    call.finish(op, call.value(0), call.value(1))


@importer("MUL")
def import_mul(call: Call) -> None:
    """``MUL``."""
    call.arity(2)
    x, y, result = call.quant(0), call.quant(1), call.result_quant
    low, high = activation_bounds(call, result)
    op = QMul(
        x_zero_point=x.zero_point,
        y_zero_point=y.zero_point,
        rescale=rescale_of(x.real * y.real / result.real),
        zero_point=result.zero_point,
        low=low,
        high=high,
    )
    call.finish(op, call.value(0), call.value(1))


@importer("QUANTIZE")
def import_quantize(call: Call) -> None:
    """``QUANTIZE`` from int8 to int8: a change of scale and zero point."""
    call.arity(1)
    _requantize(call, -128)


@importer("RELU")
def import_relu(call: Call) -> None:
    """``RELU`` as an operator of its own, which may change scale and zero point."""
    call.arity(1)
    low = max(-128, call.result_quant.zero_point)
    if call.quant(0) == call.result_quant:
        call.finish(QClamp(low=low), call.value(0))
    else:
        _requantize(call, low)


def _requantize(call: Call, low: int) -> None:
    x, result = call.quant(0), call.result_quant
    op = QRequantize(
        x_zero_point=x.zero_point,
        rescale=rescale_of(x.real / result.real),
        zero_point=result.zero_point,
        low=low,
    )
    call.finish(op, call.value(0))


@importer("RELU6")
def import_relu6(call: Call) -> None:
    """``RELU6`` as an operator of its own: a clamp, as the interpreter reads only the input."""
    call.arity(1)
    quant = call.same_quant()
    low, high = quantization.activation_bounds(0.0, 6.0, quant.real, quant.zero_point, DType.I8)
    call.finish(QClamp(low=low, high=high), call.value(0))
