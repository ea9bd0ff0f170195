"""Normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends.refusal import UnsupportedError
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.frontends.tflite.ops.reals import finish_activated, require_float
from rlx.frontends.tflite.schema import Activation
from rlx.ops.checks import ACCUMULATOR_MAX
from rlx.ops.nn import NnL2Norm
from rlx.ops.q import QL2Norm

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.call import Call

# The square of the smallest length that is divided by.
_EPSILON = 1e-12


@importer("L2_NORMALIZATION")
def import_l2_normalization(call: Call) -> None:
    """``L2_NORMALIZATION`` over the last axis; the operator fixes the result's scale."""
    call.arity(1)
    x, result = call.quant(0), call.result_quant
    activation = Activation(call.options["activation"])
    if activation is not Activation.NONE:
        raise UnsupportedError(
            f"has the fused activation {activation.name}",
            hint="make the activation a separate layer after this one",
        )
    # The 8-bit quantization specification of TensorFlow Lite fixes both.
    if (result.real, result.zero_point) != (1 / 128, 0):
        raise UnsupportedError(
            f"has the output scale {result.real!r} and zero point {result.zero_point}, "
            "expected 0.0078125 and 0",
            hint="convert the model again: the operator's output has this scale by definition",
        )
    length = call.input(0).shape[-1] if call.input(0).shape else 1
    if length * (128 + abs(x.zero_point)) ** 2 > ACCUMULATOR_MAX:
        raise UnsupportedError(
            f"a sum of {length} squares with the zero point {x.zero_point} may not fit 32 bits",
            hint="normalize shorter vectors, or quantize the input with a zero point near 0",
        )
    call.finish(QL2Norm(x_zero_point=x.zero_point), call.value(0))


@real_importer("L2_NORMALIZATION")
def import_real_l2_normalization(call: Call) -> None:
    """``L2_NORMALIZATION`` on float32 over the last axis."""
    call.arity(1)
    require_float(call.input(0), call.output)
    finish_activated(call, NnL2Norm(axes=(-1,), epsilon=_EPSILON), call.value(0))
