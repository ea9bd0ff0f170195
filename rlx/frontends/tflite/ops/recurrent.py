"""Layers with a state that outlives a run.

The state is a variable tensor of the file, which becomes a state of the graph (see ``variables``).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.quantization import check_accumulator, rescale_of
from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.ops.importers import importer
from rlx.frontends.tflite.ops.parts import (
    bias_array,
    bias_constant,
    checked_bias,
    weight_constant,
    weights,
)
from rlx.frontends.tflite.ops.tensors import quant_of, require_type
from rlx.frontends.tflite.schema import TensorType
from rlx.ops.numerics.products import magnitudes
from rlx.ops.q import QConcat, QConv2d, QDense, QReshape, QSlice, QSvdf, QSvdfState, Window

if TYPE_CHECKING:
    from rlx.frontends.tflite.file import Tensor
    from rlx.frontends.tflite.ops.call import Call
    from rlx.ir import Value
    from rlx.ops.numerics.fixed_point import Rescale

_FEATURES, _TIME, _BIAS, _STATE = 1, 2, 3, 4
"""Indices of the inputs of ``SVDF`` after the first."""


@importer("SVDF")
def import_svdf(call: Call) -> None:
    """``SVDF`` with a state of int16 or int8; as in the reference, no activation is applied.

    A state of int8 takes ops that every target has; one of int16 has ops of its own.
    """
    call.arity(5)
    features, units = _check_svdf(call)
    state, time = (
        state_tensor(call, _STATE, TensorType.INT16, TensorType.INT8),
        call.constant(_TIME),
    )
    x, result, state_quant = call.quant(0), call.result_quant, quant_of(state)
    to_state = rescale_of(x.real * quant_of(features).real / state_quant.real)
    to_result = rescale_of(state_quant.real * quant_of(time).real / result.real)
    no_bias = np.zeros(features.shape[0], np.int32)
    checked_bias(call, features, no_bias, x.zero_point, to_state)
    if state.type is TensorType.INT8:
        _int8_svdf(call, to_state, to_result, units)
        return
    op = QSvdfState(x_zero_point=x.zero_point, rescale=to_state)
    w = weight_constant(call, features)
    following = call.emit(op, call.value(0), call.scope.value(state.index), w, quant=state_quant)
    call.scope.following[state.index] = following
    bias = bias_constant(call, _BIAS, bias_array(call, _BIAS, units))
    output = QSvdf(rescale=to_result, zero_point=result.zero_point)
    call.finish(output, following, call.scope.value(time.index), bias)


def _check_svdf(call: Call) -> tuple[Tensor, int]:
    """Check the shapes and types of ``SVDF``; return its filters and the number of its units."""
    features, time, state = weights(call, _FEATURES, 2, 0), call.constant(_TIME), call.input(_STATE)
    rank, image = call.options["rank"], call.input(0)
    require_type(time, state.type)
    filters = features.shape[0]
    memory = time.shape[-1]
    batch = image.shape[0] if image.shape else 1
    units = filters // rank
    for tensor, shape in (
        (image, (batch, features.shape[1])),
        (time, (filters, memory)),
        (state, (batch, filters * memory)),
        (call.output, (batch, units)),
    ):
        if tensor.shape != shape or units * rank != filters:
            raise MalformedError(
                f"{tensor.label} is {tensor.described}, expected the shape {list(shape)} for "
                f"{filters} filters, {rank} for each unit"
            )
    if quant_of(time).zero_point:
        raise UnsupportedError(
            f"{time.label} has the zero point {quant_of(time).zero_point}, expected 0",
            hint="quantize the weights symmetrically",
        )
    return features, units


def state_tensor(call: Call, index: int, *types: TensorType) -> Tensor:
    """Return the tensor of a state: a variable; all but hidden states have the zero point 0."""
    tensor = call.input(index)
    require_type(tensor, *types)
    if tensor.index not in call.scope.values or not tensor.is_variable:
        raise UnsupportedError(
            f"input {index} is {tensor.label}, expected a variable that no other operator names",
            hint="convert the model again; converters mark the state of a layer as a variable",
        )
    is_hidden = call.operator.name != "SVDF" and tensor.type is TensorType.INT8
    if quant_of(tensor).zero_point and not is_hidden:
        raise UnsupportedError(
            f"{tensor.label} has the zero point {quant_of(tensor).zero_point}, expected 0",
            hint="convert the model again with a symmetric state, as converters do by default",
        )
    return tensor


def _int8_svdf(call: Call, to_state: Rescale, to_result: Rescale, units: int) -> None:
    """Append an SVDF layer with a state of int8 as a dense layer, moves and a convolution."""
    features, time, state = (call.input(i) for i in (_FEATURES, _TIME, _STATE))
    quant, result = quant_of(state), call.result_quant
    (batch, size), filters = state.shape, features.shape[0]
    memory = size // filters
    dense = QDense(x_zero_point=call.quant(0).zero_point, rescale=to_state, zero_point=0)
    graph, no_bias = call.scope.graph, np.zeros(filters, np.int32)
    operands = weight_constant(call, features), graph.constant(no_bias, origin=call.origin)
    following = call.emit(dense, call.value(0), *operands, quant=quant)
    if memory > 1:
        following = _shifted(call, following, (batch, filters, memory))
    call.scope.following[state.index] = following
    bias = bias_array(call, _BIAS, units)
    grouped = weights(call, _TIME, 2, 0).array().reshape(units, 1, 1, -1)
    check_accumulator(magnitudes(grouped), bias, 0)
    op = QConv2d(
        window=Window((1, 1)),
        groups=units,
        x_zero_point=0,
        rescale=to_result,
        zero_point=result.zero_point,
    )
    image = call.emit(QReshape(shape=(batch, 1, 1, size)), following)
    w = call.scope.constant(time, grouped), graph.constant(bias, origin=call.origin)
    sums = call.emit(op, image, *w, quant=result)
    call.finish(QReshape(shape=(batch, units)), sums)


def _shifted(call: Call, newest: Value, shape: tuple[int, int, int]) -> Value:
    """Return a state after its oldest values gave way to the newest ones."""
    state = call.scope.value(call.input(_STATE).index)
    whole = call.emit(QReshape(shape=shape), state)
    later = call.emit(QSlice(start=(0, 0, 1), stop=shape, step=(1, 1, 1)), whole)
    column = call.emit(QReshape(shape=(*shape[:2], 1)), newest)
    joined = call.emit(QConcat(axis=2), later, column)
    return call.emit(QReshape(shape=(shape[0], math.prod(shape[1:]))), joined)
