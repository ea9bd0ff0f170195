"""Dense layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite_ops.call import importer
from rlx.frontends.tflite_ops.parts import (
    activation_bounds,
    bias_array,
    bias_constant,
    check_accumulator,
    layer_rescale,
    weight_constant,
    weights,
)
from rlx.ops.q import QDense, QReshape

if TYPE_CHECKING:
    from rlx.frontends.tflite_ops.call import Call


@importer("FULLY_CONNECTED")
def import_fully_connected(call: Call) -> None:
    """``FULLY_CONNECTED``: the input is read as rows of the weights' length."""
    call.arity(2, 3)
    if call.options["weights_format"]:
        raise UnsupportedError("has shuffled weights", hint="convert with default weights")
    tensor, array = weights(call, 1, rank=2, axis=0)
    x, quant, result = call.value(0), call.quant(0), call.result_quant
    bias = bias_array(call, 2, array.shape[0])
    check_accumulator(call, tensor, bias, quant.zero_point)
    low, high = activation_bounds(call, result)
    op = QDense(
        x_zero_point=quant.zero_point,
        rescale=layer_rescale(tensor, quant, result),
        zero_point=result.zero_point,
        low=low,
        high=high,
    )
    operands = weight_constant(call, tensor), bias_constant(call, 2, bias)
    rows = _rows(call, array.shape[1])
    if call.input(0).shape[-1:] != (array.shape[1],):
        x = call.emit(QReshape(shape=(rows, array.shape[1])), x)
    if call.output.shape == (*x.type.static_shape[:-1], array.shape[0]):
        call.finish(op, x, *operands)
        return
    flat = call.emit(op, x, *operands, quant=result)
    call.finish(QReshape(shape=call.output.shape), flat)


def _rows(call: Call, length: int) -> int:
    """Return how many rows of ``length`` the input holds."""
    image = call.input(0)
    size = int(np.prod(image.shape, dtype=np.int64))
    if size % length:
        raise MalformedError(f"{image.label} is {image.described}, which has no rows of {length}")
    return size // length
