"""Dense layers and matrix products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.quantization import check_accumulator, rescale_of, rounded_rescale
from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.frontends.tflite.ops.parts import (
    Bias,
    activation_bounds,
    bias_array,
    bias_constant,
    checked_bias,
    layer_rescale,
    weight_constant,
    weight_scales,
    weights,
)
from rlx.frontends.tflite.ops.reals import (
    biased,
    bind_activated,
    finite,
    require_float,
    weight_tensor,
)
from rlx.frontends.tflite.ops.wide import wide_constants, widened
from rlx.frontends.tflite.schema import TensorType
from rlx.ir import QuantParams
from rlx.ops.checks import ACCUMULATOR_MAX, accumulator_bound
from rlx.ops.nn import NnLinear
from rlx.ops.numerics.products import magnitudes
from rlx.ops.q import QDense, QMatmul, QReshape, QTranspose
from rlx.ops.real import RealMatmul, RealReshape, RealTranspose

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.tflite.file import Tensor
    from rlx.frontends.tflite.ops.call import Call
    from rlx.ir import Value


@importer("FULLY_CONNECTED")
def import_fully_connected(call: Call) -> None:
    """``FULLY_CONNECTED``: the input is read as rows of the weights' length."""
    _check_form(call)
    tensor = weights(call, 1, rank=2, axis=0)
    outputs, length = tensor.shape
    x, result = call.value(0), call.result_quant
    op, bias = _dense(call, tensor)
    shape = _row_shape(call, length)
    if shape is not None:
        x = call.emit(QReshape(shape=shape), x)
    if tensor.type is TensorType.INT16:
        x, array = widened(call, x, tensor.array())
        operands = wide_constants(call, array, bias)
    else:
        operands = weight_constant(call, tensor), bias_constant(call, 2, bias)
    result_shape = _result_shape(call, outputs)
    if result_shape == (*x.type.static_shape[:-1], outputs):
        call.finish(op, x, *operands)
        return
    flat = call.emit(op, x, *operands, quant=result)
    call.finish(QReshape(shape=result_shape), flat)


def _dense(call: Call, tensor: Tensor) -> tuple[QDense, Bias]:
    """Return the op of a dense layer with these weights, and its bias."""
    quant, result = call.quant(0), call.result_quant
    bias = bias_array(call, 2, tensor.shape[0])
    low, high = activation_bounds(call, result)
    rescale = layer_rescale(call, tensor, bias)
    bias = checked_bias(call, tensor, bias, quant.zero_point, rescale)
    if call.is_uint8:
        # LiteRT rounds the product with a factor in double here, and only here.
        (scale,) = weight_scales(tensor)
        bound = accumulator_bound(call.scope.magnitudes[tensor.index, ()], bias, quant.zero_point)
        ends = low - result.zero_point, high - result.zero_point
        rescale = rounded_rescale(quant.real * scale / result.real, int(bound.max()), *ends)
    op = QDense(
        x_zero_point=quant.zero_point,
        rescale=rescale,
        zero_point=result.zero_point,
        low=low,
        high=high,
    )
    return op, bias


@real_importer("FULLY_CONNECTED")
def import_real_fully_connected(call: Call) -> None:
    """``FULLY_CONNECTED`` on float32."""
    _check_form(call)
    tensor = weight_tensor(call, 1, rank=2)
    outputs, length = tensor.shape
    operands = finite(call, tensor), *biased(call, 2, outputs)
    x, shape = call.value(0), _row_shape(call, length)
    if shape is not None:
        x = call.emit(RealReshape(shape=shape), x)
    y = call.emit(NnLinear(), x, *operands)
    result_shape = _result_shape(call, outputs)
    if y.type.shape != result_shape:
        y = call.emit(RealReshape(shape=result_shape), y)
    bind_activated(call, y)


def _check_form(call: Call) -> None:
    """Refuse weights in an order of their own."""
    call.arity(2, 3)
    if call.options["weights_format"]:
        raise UnsupportedError("has shuffled weights", hint="convert with default weights")


def _row_shape(call: Call, length: int) -> tuple[int, int] | None:
    """Return the shape of the input as rows of ``length``, None if it has such rows already."""
    image = call.input(0)
    size = int(np.prod(image.shape, dtype=np.int64))
    if size % length:
        raise MalformedError(f"{image.label} is {image.described}, expected rows of {length}")
    return None if image.shape[-1:] == (length,) else (size // length, length)


def _result_shape(call: Call, outputs: int) -> tuple[int, ...]:
    """Return the shape of the result: as the file has it, or where that is open as LiteRT has."""
    if not call.scope.model.leaves_open:
        return call.output.shape
    given, length = call.input(0).shape, call.input(1).shape[1]
    if call.options["keep_num_dims"]:
        return call.shaped((*given[:-1], outputs)).shape
    return call.shaped((math.prod(given) // length, outputs)).shape


@importer("BATCH_MATMUL")
def import_batch_matmul(call: Call) -> None:
    """``BATCH_MATMUL`` of two tensors, of which either may be stored transposed."""
    call.arity(2)
    x, y, result = call.quant(0), call.quant(1), call.result_quant
    rescale = rescale_of(call.factor(x, y, over=result))
    weights = _dense_weights(call)
    if weights is not None:
        bias = np.zeros(len(weights), np.int32)
        check_accumulator(magnitudes(weights), bias, x.zero_point)
        params = QuantParams.per_tensor(y.real)
        op = QDense(x_zero_point=x.zero_point, rescale=rescale, zero_point=result.zero_point)
        constants = (
            call.scope.constant(call.input(1), weights, params),
            bias_constant(call, 2, bias),
        )
        call.finish(op, _matrix(call, 0), *constants)
        return
    product = QMatmul(
        x_zero_point=x.zero_point,
        y_zero_point=y.zero_point,
        rescale=rescale,
        zero_point=result.zero_point,
    )
    left, right = _matrix(call, 0), _matrix(call, 1)
    depth = left.type.static_shape[-1]
    if depth * product.product_bound > ACCUMULATOR_MAX:
        raise UnsupportedError(
            f"a sum of {depth} products of these zero points may not fit 32 bits",
            hint="multiply parts of the matrices, and add the results",
        )
    call.finish(product, left, right)


def _dense_weights(call: Call) -> npt.NDArray[np.int8] | None:
    """Return the right factor as weights of a dense layer, None where it cannot be one."""
    tensor = call.input(1)
    rank = len(tensor.shape)
    if tensor.data is None or not 2 <= rank <= len(call.input(0).shape):
        return None
    if math.prod(tensor.shape[:-2]) != 1:
        return None
    matrix = tensor.array().reshape(tensor.shape[-2:]).astype(np.int16)
    distances = matrix - call.quant(1).zero_point
    narrow = distances.astype(np.int8)
    if not np.array_equal(narrow, distances):
        return None
    return narrow if call.options["adj_y"] else np.ascontiguousarray(narrow.T)


def _matrix(call: Call, index: int) -> Value:
    """Return a factor of ``BATCH_MATMUL``, transposed where the option says so."""
    value, rank = call.value(index), len(call.input(index).shape)
    if rank < 2:
        raise MalformedError(f"{call.input(index).label} has {rank} dimensions, expected 2 or more")
    if not call.options[("adj_x", "adj_y")[index]]:
        return value
    axes = (*range(rank - 2), rank - 1, rank - 2)
    return call.emit(RealTranspose(axes=axes) if call.is_real else QTranspose(axes=axes), value)


@real_importer("BATCH_MATMUL")
def import_real_batch_matmul(call: Call) -> None:
    """``BATCH_MATMUL`` on float32; either matrix may be stored transposed."""
    call.arity(2)
    require_float(*call.inputs, call.output)
    call.finish(RealMatmul(), _matrix(call, 0), _matrix(call, 1))
