"""Softmax.

Tests: tests/unit/frontends/tflite/ops/test_table.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlx.frontends.quantization import softmax_scaling
from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.frontends.tflite.ops.reals import require_float
from rlx.ops.nn import NnLogSoftmax, NnSoftmax
from rlx.ops.q import QSoftmax
from rlx.ops.real import RealMul

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.call import Call


@importer("SOFTMAX")
def import_softmax(call: Call) -> None:
    """``SOFTMAX`` over the last axis; the operator fixes the scale and zero point of the result."""
    call.arity(1)
    quant, result = call.quant(0), call.result_quant
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


def _beta(call: Call) -> float:
    """Return the factor of the exponents."""
    beta = float(call.options["beta"])
    if not (math.isfinite(beta) and beta > 0):
        raise UnsupportedError(
            f"has beta {beta!r}, expected a finite number above 0",
            hint="use a finite beta, 1.0 in Keras; at 0 every probability is the same",
        )
    return beta
