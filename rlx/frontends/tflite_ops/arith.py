"""Elementwise arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.tflite_ops.call import importer
from rlx.frontends.tflite_ops.parts import activation_bounds, quantized, rescale_of
from rlx.ops.q import QAdd, QClamp, QMul, QRequantize, QSub

if TYPE_CHECKING:
    from rlx.frontends.tflite_ops.call import Call

_LEFT_SHIFT = 20


@importer("ADD")
def import_add(call: Call) -> None:
    """``ADD``: both operands go to twice the greater scale, in double precision."""
    call.arity(2)
    x, y, result = call.codes(0), call.codes(1), call.result_codes
    twice = 2 * max(x.real, y.real)
    _sum(
        call,
        QAdd,
        (x.real / twice, y.real / twice, twice / ((1 << _LEFT_SHIFT) * result.real)),
    )


@importer("SUB")
def import_sub(call: Call) -> None:
    """``SUB``: as ``ADD``, but the interpreter combines the scales in float32."""
    call.arity(2)
    x, y, result = call.codes(0), call.codes(1), call.result_codes
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        twice = np.float32(2) * max(x.scale, y.scale)
        reals = (
            float(x.scale / twice),
            float(y.scale / twice),
            float(twice / (np.float32(1 << _LEFT_SHIFT) * result.scale)),
        )
    _sum(call, QSub, reals)


def _sum(call: Call, make: type[QAdd], reals: tuple[float, float, float]) -> None:
    x, y, result = call.codes(0), call.codes(1), call.result_codes
    low, high = activation_bounds(call, result)
    to_x, to_y, to_result = (rescale_of(r) for r in reals)
    op = make(
        x_zero_point=x.zero_point,
        y_zero_point=y.zero_point,
        x_rescale=to_x,
        y_rescale=to_y,
        left_shift=_LEFT_SHIFT,
        rescale=to_result,
        zero_point=result.zero_point,
        low=low,
        high=high,
    )
    call.finish(op, call.value(0), call.value(1))


@importer("MUL")
def import_mul(call: Call) -> None:
    """``MUL``."""
    call.arity(2)
    x, y, result = call.codes(0), call.codes(1), call.result_codes
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
    low = max(-128, call.result_codes.zero_point)
    if call.codes(0) == call.result_codes:
        call.finish(QClamp(low=low), call.value(0))
    else:
        _requantize(call, low)


def _requantize(call: Call, low: int) -> None:
    x, result = call.codes(0), call.result_codes
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
    codes = call.same_codes()
    high = min(127, quantized(6.0, codes))
    call.finish(QClamp(low=codes.zero_point, high=high), call.value(0))
