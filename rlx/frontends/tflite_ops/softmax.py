"""Softmax."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite_ops.call import importer
from rlx.numerics.activations import input_radius
from rlx.numerics.fixed_point import quantize_multiplier
from rlx.ops.q import QSoftmax

if TYPE_CHECKING:
    from rlx.frontends.tflite_ops.call import Call

_INTEGER_BITS = 5


@importer("SOFTMAX")
def import_softmax(call: Call) -> None:
    """``SOFTMAX`` over the last axis.

    Source: tflite-micro ``CalculateSoftmaxParams``, ``PreprocessSoftmaxScaling``.
    """
    call.arity(1)
    codes, result = call.codes(0), call.result_codes
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
    real = min(beta * codes.real * 2 ** (31 - _INTEGER_BITS), 2**31 - 1)
    if real <= 1:
        raise UnsupportedError(
            f"has the input scale {codes.real!r}, outside of the fixed point",
            hint="quantize the model again with representative samples",
        )
    multiplier, shift = quantize_multiplier(real)
    op = QSoftmax(
        multiplier=multiplier,
        # At 31 only the greatest input counts (diff_min is 0): any shift gives the same.
        left_shift=min(shift, 30),
        diff_min=-input_radius(shift, _INTEGER_BITS),
    )
    call.finish(op, call.value(0))
