"""Functions of one quantized value: tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.gathers import TABLE_SIZE
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.frontends.tflite.ops.reals import require_float
from rlx.frontends.tflite.ops.tensors import quant_of, require_type
from rlx.frontends.tflite.schema import TensorType
from rlx.ops.nn import NnHardSwish, NnLeakyRelu
from rlx.ops.numerics import activations
from rlx.ops.numerics.gates import gate_scaling
from rlx.ops.q import QSigmoid16, QTable, QTanh16
from rlx.ops.real import RealSigmoid, RealTanh

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.call import Call
    from rlx.frontends.tflite.ops.tensors import PerTensor
    from rlx.ir import Op, Value


@importer("LOGISTIC")
def import_logistic(call: Call) -> None:
    """``LOGISTIC``; the operator fixes the scale and zero point of the result."""
    call.arity(1)
    if call.is_int16:
        _finish_gate(call, QSigmoid16)
        return
    quant = _sigmoid_quant(call, 1 / 256, -128)
    finish_table(call, activations.logistic_table(quant.real, quant.zero_point), "logistic")


@real_importer("LOGISTIC", "TANH", "HARD_SWISH")
def import_real_function(call: Call) -> None:
    """``LOGISTIC``, ``TANH`` and ``HARD_SWISH`` on float32."""
    call.arity(1)
    require_float(call.input(0), call.output)
    call.finish(_REAL_FUNCTIONS[call.operator.name], call.value(0))


_REAL_FUNCTIONS: dict[str, Op] = {
    "LOGISTIC": RealSigmoid(),
    "TANH": RealTanh(),
    "HARD_SWISH": NnHardSwish(),
}


@importer("TANH")
def import_tanh(call: Call) -> None:
    """``TANH``; the operator fixes the scale and zero point of the result."""
    call.arity(1)
    if call.is_int16:
        _finish_gate(call, QTanh16)
        return
    # The 8-bit quantization specification of TensorFlow Lite fixes both.
    quant = _sigmoid_quant(call, 1 / 128, 0)
    finish_table(call, activations.tanh_table(quant.real, quant.zero_point), "tanh")


def _finish_gate(call: Call, make: type[QSigmoid16 | QTanh16]) -> None:
    """Append a function of int16 values, whose result has the scale 2^-15."""
    scale, result = call.quant(0).real, call.result_quant.real
    if result != 1 / 32768:
        raise UnsupportedError(
            f"has the output scale {result!r}, expected {1 / 32768!r}",
            hint="convert the model again: the operator's output has this scale by definition",
        )
    multiplier, shift = gate_scaling(scale)
    if multiplier >= 1 << 15:
        raise UnsupportedError(
            f"has the input scale {scale!r}, outside of the fixed point", hint=SCALES_HINT
        )
    call.finish(make(multiplier=multiplier, shift=shift), call.value(0))


def _sigmoid_quant(call: Call, scale: float, zero_point: int) -> PerTensor:
    """Return the input's scale and zero point after checking those of the result."""
    quant, result = call.quant(0), call.result_quant
    if (result.real, result.zero_point) != (scale, zero_point):
        raise UnsupportedError(
            f"has the output scale {result.real!r} and zero point {result.zero_point}, "
            f"expected {scale!r} and {zero_point}",
            hint="convert the model again: the operator's output has this scale by definition",
        )
    if not 2.0**-27 <= quant.real < (_MAX_UINT8_SCALE if call.is_uint8 else 2.0**30):
        raise UnsupportedError(
            f"has the input scale {quant.real!r}, outside of the fixed point", hint=SCALES_HINT
        )
    return quant


_MAX_UINT8_SCALE = 2.0
"""Scale of ``LOGISTIC`` and ``TANH`` up to which LiteRT's kernels for uint8 compute as for int8."""


@importer("LEAKY_RELU")
def import_leaky_relu(call: Call) -> None:
    """``LEAKY_RELU``."""
    alpha = _slope(call, negative=False)
    x, result = call.quant(0), call.result_quant
    check_ratio(x, result)
    if alpha * x.real / result.real > 2.0**23:
        raise UnsupportedError(
            f"has the slope {alpha!r}, too steep for the fixed point",
            hint="check the slope; it is multiplied by the input's scale over the result's",
        )
    table = activations.leaky_relu_table(
        x.real, x.zero_point, alpha, result.real, result.zero_point, call.precision
    )
    finish_table(call, table, "leaky_relu")


@real_importer("LEAKY_RELU")
def import_real_leaky_relu(call: Call) -> None:
    """``LEAKY_RELU`` on float32."""
    slope = _slope(call, negative=True)
    require_float(call.input(0), call.output)
    call.finish(NnLeakyRelu(slope=slope), call.value(0))


def _slope(call: Call, *, negative: bool) -> float:
    """Return the factor of negative values, itself perhaps ``negative``."""
    call.arity(1)
    alpha = float(call.options["alpha"])
    if not math.isfinite(alpha) or (alpha < 0 and not negative):
        raise UnsupportedError(
            f"has the slope {alpha!r}, expected a finite number"
            f"{'' if negative else ' of at least 0'}",
            hint="use a slope of at least 0, such as alpha=0.1 in Keras",
        )
    return alpha


@importer("HARD_SWISH")
def import_hard_swish(call: Call) -> None:
    """``HARD_SWISH``."""
    call.arity(1)
    x, result = call.quant(0), call.result_quant
    check_ratio(x, result)
    output, relu = activations.hard_swish_multipliers(x.real, result.real, call.precision)
    # Shifts that ``hard_swish_table`` can compute with.
    if not (-15 <= output[1] <= 0 and -15 <= relu[1] <= 31):
        raise UnsupportedError(
            f"has the scales {x.real!r} and {result.real!r}, outside of the fixed point",
            hint=SCALES_HINT,
        )
    table = activations.hard_swish_table(output, relu, x.zero_point, result.zero_point)
    finish_table(call, table, "hard_swish")


SCALES_HINT = "quantize the model again with representative samples; no layer needs such scales"
"""Hint for scales that fixed point cannot hold."""


def finish_joined_table(call: Call) -> None:
    """Append the table of 256 values that ``CAST``, ``ADD`` of 128 and ``GATHER`` compute."""
    table = call.constant(0)
    if table.shape != (TABLE_SIZE,):
        raise UnsupportedError(
            f"{table.label} is {table.described}, expected {TABLE_SIZE} values",
            hint="gather by constant indices, or in float",
        )
    require_type(table, TensorType.INT8)
    if quant_of(table) != call.result_quant:
        raise MalformedError(f"{table.label} and the result have other scales or zero points")
    op = QTable(table=tuple(table.array().tolist()), function="table")
    call.finish(op, call.value(1))


def check_ratio(x: PerTensor, result: PerTensor) -> None:
    """Refuse scales whose ratio overflows the type that tables are computed in."""
    if not 2.0**-31 <= x.real / result.real <= 2.0**23:
        raise UnsupportedError(
            f"has the scales {x.real!r} and {result.real!r}, outside of the fixed point",
            hint=SCALES_HINT,
        )


def constant_table(call: Call, op: Op) -> tuple[activations.Table, Value] | None:
    """Return the results of an op for each value of its only computed operand, and that operand.

    None if both operands are computed, or the constant is not a single value that broadcasts.
    """
    x, y = call.value(0), call.value(1)
    values = np.arange(-128, 128).astype(np.int8)
    for operand, constant, order in ((x, y, 1), (y, x, -1)):
        array = constant.constant
        if operand.constant is None and array is not None and array.size == 1:
            if array.ndim > operand.type.rank:
                return None
            pair = (values, array.reshape(-1))[::order]
            return tuple(op.evaluate(*pair)[0].tolist()), operand
    return None


def finish_table(call: Call, table: activations.Table, function: str) -> None:
    """Append a table that makes the output."""
    call.finish(QTable(table=table, function=function), call.value(0))
