"""Softmax.

Tests: tests/unit/frontends/tflite/ops/test_table.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlx.frontends.quantization import rescale_of, softmax_scaling
from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.frontends.tflite.ops.reals import require_float
from rlx.ops.nn import NnLogSoftmax, NnSoftmax
from rlx.ops.numerics.lookup16 import EXP_SCALE
from rlx.ops.q import QSoftmax, QSoftmax16
from rlx.ops.real import RealMul

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.call import Call
    from rlx.frontends.tflite.ops.tensors import PerTensor


@importer("SOFTMAX")
def import_softmax(call: Call) -> None:
    """``SOFTMAX`` over the last axis; the operator fixes the scale and zero point of the result."""
    call.arity(1)
    quant, result = call.quant(0), call.result_quant
    if call.is_int16:
        _check_scale(result)
        factor = quant.real * _beta(call) / EXP_SCALE
        if factor >= _MAX_FACTOR:
            raise UnsupportedError(
                f"has the input scale {quant.real!r}, outside of the fixed point",
                hint="quantize the model again with representative samples",
            )
        call.finish(QSoftmax16(rescale=rescale_of(factor)), call.value(0))
        return
    # The 8-bit quantization specification of TensorFlow Lite fixes both.
    if (result.real, result.zero_point) != (1 / 256, -128):
        raise MalformedError(
            f"has the output scale {result.real!r} and zero point {result.zero_point}, "
            "expected 0.00390625 and -128",
            hint="convert the model again: the operator's output has this scale by definition",
        )
    scaling = softmax_scaling(quant.real, _beta(call))
    op = QSoftmax(
        multiplier=scaling.multiplier,
        left_shift=scaling.left_shift,
        diff_min=scaling.diff_min,
    )
    call.finish(op, call.value(0))


@real_importer("SOFTMAX")
def import_real_softmax(call: Call) -> None:
    """``SOFTMAX`` on float32."""
    call.arity(1)
    require_float(call.input(0), call.output)
    beta, x = _beta(call), call.value(0)
    if beta != 1.0:
        x = call.emit(RealMul(), x, call.number(beta))
    call.finish(NnSoftmax(), x)


@real_importer("LOG_SOFTMAX")
def import_log_softmax(call: Call) -> None:
    """``LOG_SOFTMAX`` on float32."""
    call.arity(1)
    require_float(call.input(0), call.output)
    call.finish(NnLogSoftmax(), call.value(0))


_MAX_FACTOR = 2.0**15
"""Factor of differences from which they may leave int32."""


def _check_scale(result: PerTensor) -> None:
    """Refuse a result of int16 whose scale is not 2^-15."""
    if result.real != 1 / 32768:
        raise MalformedError(
            f"has the output scale {result.real!r}, expected {1 / 32768!r}",
            hint="convert the model again: the operator's output has this scale by definition",
        )


def _beta(call: Call) -> float:
    """Return the factor of the exponents."""
    beta = float(call.options["beta"])
    if not (math.isfinite(beta) and beta > 0):
        raise UnsupportedError(
            f"has beta {beta!r}, expected a finite number above 0",
            hint="use a finite beta, 1.0 in Keras; at 0 every probability is the same",
        )
    return beta
