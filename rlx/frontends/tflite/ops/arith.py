"""Elementwise arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.frontends import quantization
from rlx.frontends.quantization import rescale_of, square_scaling, sum_scaling
from rlx.frontends.refusal import UnsupportedError
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.frontends.tflite.ops.parts import activation_bounds
from rlx.frontends.tflite.ops.reals import finish_activated, require_float
from rlx.frontends.tflite.ops.table import constant_table
from rlx.ir import DType
from rlx.ops.nn import NnClamp, NnElu, NnGelu, NnRelu
from rlx.ops.q import QAdd, QClamp, QDiv, QMul, QRequantize, QSquaredDifference, QSub, QTable
from rlx.ops.real import (
    RealAbs,
    RealAdd,
    RealCeil,
    RealCos,
    RealDiv,
    RealExp,
    RealFloor,
    RealLog,
    RealMul,
    RealNeg,
    RealPow,
    RealRemainder,
    RealRound,
    RealRsqrt,
    RealSign,
    RealSin,
    RealSqrt,
    RealSub,
)

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.call import Call
    from rlx.ir import Op


@importer("ADD")
def import_add(call: Call) -> None:
    """``ADD`` of two tensors, or of a tensor and a constant; shapes broadcast."""
    _sum(call, QAdd, activation_bounds(call, call.result_quant))


@importer("SUB")
def import_sub(call: Call) -> None:
    """``SUB`` of two tensors, or of a tensor and a constant; shapes broadcast."""
    _sum(call, QSub, activation_bounds(call, call.result_quant))


@importer("SQUARED_DIFFERENCE")
def import_squared_difference(call: Call) -> None:
    """``SQUARED_DIFFERENCE`` of two tensors, or of a tensor and a constant; shapes broadcast."""
    _sum(call, QSquaredDifference, (-128, 127))


def _sum(call: Call, make: type[QAdd | QSquaredDifference], bounds: tuple[int, int]) -> None:
    """Append a sum, a difference or its square."""
    call.arity(2)
    x, y, result = call.quant(0), call.quant(1), call.result_quant
    low, high = bounds
    scale_operands = square_scaling if make is QSquaredDifference else sum_scaling
    scaling = scale_operands(x.real, y.real, result.real, bits=call.dtype.bits)
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
    """``MUL`` of two tensors, or of a tensor and a constant; shapes broadcast."""
    call.arity(2)
    x, y, result = call.quant(0), call.quant(1), call.result_quant
    low, high = activation_bounds(call, result)
    op = QMul(
        x_zero_point=x.zero_point,
        y_zero_point=y.zero_point,
        rescale=rescale_of(call.factor(x, y, over=result)),
        zero_point=result.zero_point,
        low=low,
        high=high,
    )
    call.finish(op, call.value(0), call.value(1))


@importer("DIV")
def import_div(call: Call) -> None:
    """``DIV``; quotients below half a step are 0, and those by 0 are an end of the range.

    TensorFlow Lite Micro returns neither: its shifts by more than 31 bits are undefined in C.
    """
    call.arity(2)
    x, y, result = call.quant(0), call.quant(1), call.result_quant
    low, high = activation_bounds(call, result)
    factor = x.real / (y.real * result.real)
    if not 2.0**-31 <= factor < _MAX_QUOTIENT:
        raise UnsupportedError(
            f"has the scales {x.real!r}, {y.real!r} and {result.real!r}, outside of the fixed "
            "point",
            hint="quantize the model again; a scale is out of proportion",
        )
    op = QDiv(
        x_zero_point=x.zero_point,
        y_zero_point=y.zero_point,
        rescale=rescale_of(factor),
        zero_point=result.zero_point,
        low=low,
        high=high,
    )
    tabulated = constant_table(call, op)
    if tabulated is None:
        call.finish(op, call.value(0), call.value(1))
        return
    table, value = tabulated
    call.finish(QTable(table=table, function="div"), value)


_MAX_QUOTIENT: Final = 2.0**22
"""Factor from which shifts of quotients could be to the left."""


@real_importer("ADD", "SUB", "MUL", "DIV")
def import_real_arithmetic(call: Call) -> None:
    """``ADD``, ``SUB``, ``MUL`` and ``DIV`` on unquantized values."""
    call.arity(2)
    finish_activated(call, _ARITHMETIC[call.operator.name], call.value(0), call.value(1))


_ARITHMETIC = {"ADD": RealAdd(), "SUB": RealSub(), "MUL": RealMul(), "DIV": RealDiv()}


@importer("RELU")
def import_relu(call: Call) -> None:
    """``RELU`` as an operator of its own, which may change scale and zero point."""
    call.arity(1)
    x, result = call.quant(0), call.result_quant
    low, high = quantization.activation_bounds(
        0.0, None, result.real, result.zero_point, call.dtype
    )
    if x == result:
        call.finish(QClamp(low=low, high=high), call.value(0))
        return
    op = QRequantize(
        x_zero_point=x.zero_point,
        rescale=rescale_of(call.factor(x, over=result)),
        zero_point=result.zero_point,
        low=low,
        high=high,
    )
    call.finish(op, call.value(0))


@importer("RELU6")
def import_relu6(call: Call) -> None:
    """``RELU6`` as an operator of its own: a clamp, as the interpreter reads only the input."""
    call.arity(1)
    quant = call.same_quant()
    low, high = quantization.activation_bounds(0.0, 6.0, quant.real, quant.zero_point, call.dtype)
    call.finish(QClamp(low=low, high=high), call.value(0))


@importer("RELU_N1_TO_1", "RELU_0_TO_1")
def import_unit_relu(call: Call) -> None:
    """``RELU_N1_TO_1`` and ``RELU_0_TO_1``: the bits of LiteRT; TFLM lacks both."""
    call.arity(1)
    x, result = call.quant(0), call.result_quant
    lower = -1.0 if call.operator.name == "RELU_N1_TO_1" else 0.0
    low, high = quantization.activation_bounds(lower, 1.0, result.real, result.zero_point, DType.I8)
    op = QRequantize(
        x_zero_point=x.zero_point,
        rescale=rescale_of(call.factor(x, over=result)),
        zero_point=result.zero_point,
        low=low,
        high=high,
    )
    call.finish(op, call.value(0))


@real_importer("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1")
def import_real_relu(call: Call) -> None:
    """``RELU`` and the clamps on float32."""
    call.arity(1)
    require_float(call.input(0), call.output)
    call.finish(_RELUS[call.operator.name], call.value(0))


_RELUS = {
    "RELU": NnRelu(),
    "RELU6": NnClamp(low=0.0, high=6.0),
    "RELU_N1_TO_1": NnClamp(low=-1.0, high=1.0),
    "RELU_0_TO_1": NnClamp(low=0.0, high=1.0),
}


@real_importer("ADD_N")
def import_add_n(call: Call) -> None:
    """``ADD_N``: a sum of any number of tensors, from the front."""
    call.arity(1, len(call.operator.inputs))
    total = call.value(0)
    for place in range(1, len(call.operator.inputs)):
        total = call.emit(RealAdd(), total, call.value(place))
    call.bind(total)


@real_importer("POW", "FLOOR_MOD")
def import_real_pair(call: Call) -> None:
    """``POW`` on float32, and ``FLOOR_MOD``."""
    call.arity(2)
    op = RealPow() if call.operator.name == "POW" else RealRemainder()
    if isinstance(op, RealPow):
        require_float(*call.inputs, call.output)
    call.finish(op, call.value(0), call.value(1))


@real_importer("FLOOR_DIV")
def import_floor_div(call: Call) -> None:
    """``FLOOR_DIV``: a quotient, rounded down."""
    call.arity(2)
    x, y = call.value(0), call.value(1)
    if x.type.dtype.is_integer:
        # x minus its remainder is a multiple of y.
        multiple = call.emit(RealSub(), x, call.emit(RealRemainder(), x, y))
        call.finish(RealDiv(), multiple, y)
        return
    call.finish(RealFloor(), call.emit(RealDiv(), x, y))


@real_importer("SQUARED_DIFFERENCE")
def import_real_squared_difference(call: Call) -> None:
    """``SQUARED_DIFFERENCE``: ``(x - y)^2``."""
    call.arity(2)
    difference = call.emit(RealSub(), call.value(0), call.value(1))
    call.finish(RealMul(), difference, difference)


@real_importer("SQUARE")
def import_square(call: Call) -> None:
    """``SQUARE``."""
    call.arity(1)
    call.finish(RealMul(), call.value(0), call.value(0))


_FUNCTIONS: dict[str, Op] = {
    "ABS": RealAbs(),
    "CEIL": RealCeil(),
    "COS": RealCos(),
    "ELU": NnElu(),
    "EXP": RealExp(),
    "FLOOR": RealFloor(),
    "LOG": RealLog(),
    "NEG": RealNeg(),
    "ROUND": RealRound(),
    "RSQRT": RealRsqrt(),
    "SIGN": RealSign(),
    "SIN": RealSin(),
    "SQRT": RealSqrt(),
}
_OF_INTEGERS = ("ABS", "NEG", "SIGN")


@real_importer(*_FUNCTIONS)
def import_function(call: Call) -> None:
    """Functions of one variable."""
    call.arity(1)
    if call.operator.name not in _OF_INTEGERS:
        require_float(call.input(0), call.output)
    call.finish(_FUNCTIONS[call.operator.name], call.value(0))


@real_importer("GELU")
def import_gelu(call: Call) -> None:
    """``GELU``, exact or by tanh."""
    call.arity(1)
    require_float(call.input(0), call.output)
    call.finish(NnGelu(approximate=call.options["approximate"]), call.value(0))
