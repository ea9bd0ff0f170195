"""Softmax."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlx.frontends.quantization import softmax_scaling
from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite_ops.call import importer
from rlx.ops.q import QSoftmax

if TYPE_CHECKING:
    from rlx.frontends.tflite_ops.call import Call


@importer("SOFTMAX")
def import_softmax(call: Call) -> None:
    """``SOFTMAX`` over the last axis; the operator fixes the scale and zero point of the result."""
    call.arity(1)
    quant, result = call.quant(0), call.result_quant
    if (result.real, result.zero_point) != (1 / 256, -128):
        raise MalformedError(
            f"has the output scale {result.real!r} and zero point {result.zero_point}, "
            "want 0.00390625 and -128",
            hint="convert the model again: the operator's output has this scale by definition",
        )
    beta = call.options["beta"]
    if not (math.isfinite(beta) and beta > 0):
        raise UnsupportedError(
            f"has beta {beta!r}, want a finite number above 0",
            hint="use a finite beta, 1.0 in Keras; at 0 every probability is the same",
        )
    scaling = softmax_scaling(quant.real, beta)
    op = QSoftmax(
        multiplier=scaling.multiplier,
        left_shift=scaling.left_shift,
        diff_min=scaling.diff_min,
    )
    call.finish(op, call.value(0))
