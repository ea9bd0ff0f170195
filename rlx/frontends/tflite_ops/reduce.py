"""Reductions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlx.frontends.quantization import rescale_of
from rlx.frontends.refusal import MalformedError
from rlx.frontends.tflite_ops.importers import importer
from rlx.frontends.tflite_ops.tensors import require_type
from rlx.frontends.tflite_schema import TensorType
from rlx.ops.q import QArgmax, QMean

if TYPE_CHECKING:
    from rlx.frontends.tflite_ops.call import Call


@importer("MEAN")
def import_mean(call: Call) -> None:
    """``MEAN`` over constant axes; an axis given twice counts once."""
    call.arity(2)
    x, result = call.quant(0), call.result_quant
    shape = call.input(0).shape
    axes = tuple(sorted({call.axis(a, len(shape)) for a in call.integers(1)}))
    op = QMean(
        axes=axes,
        keep_dims=call.options["keep_dims"],
        x_zero_point=x.zero_point,
        rescale=rescale_of(x.real / result.real).divided(math.prod(shape[a] for a in axes)),
        zero_point=result.zero_point,
    )
    call.finish(op, call.value(0))


@importer("ARG_MAX")
def import_arg_max(call: Call) -> None:
    """``ARG_MAX`` along a constant axis, to int32."""
    call.arity(2)
    require_type(call.output, TensorType.INT32)
    axes = call.integers(1)
    if len(axes) != 1:
        raise MalformedError(f"has {len(axes)} axes, want 1")
    axis = call.axis(axes[0], len(call.input(0).shape))
    call.quant(0)
    call.finish(QArgmax(axis=axis), call.value(0))
