"""Elementwise operators that compare."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.quantization import rescale_of
from rlx.frontends.refusal import UnsupportedError
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.frontends.tflite.ops.reals import require_float
from rlx.frontends.tflite.ops.tensors import is_near, quant_of, require_type
from rlx.frontends.tflite.schema import TensorType
from rlx.ops.nn import NnPrelu
from rlx.ops.q import QMaximum, QMinimum, QPrelu, QTable
from rlx.ops.real import (
    Comparison,
    RealCompare,
    RealMaximum,
    RealMinimum,
    RealReshape,
    RealWhere,
)
from rlx.support.errors import ModelWarning

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.tflite.file import Tensor
    from rlx.frontends.tflite.ops.call import Call


@importer("MAXIMUM")
def import_maximum(call: Call) -> None:
    """``MAXIMUM``; values of other scales are compared as they are, with a warning."""
    _extreme(call, QMaximum())


@importer("MINIMUM")
def import_minimum(call: Call) -> None:
    """``MINIMUM``; values of other scales are compared as they are, with a warning."""
    _extreme(call, QMinimum())


def _extreme(call: Call, op: QMaximum | QMinimum) -> None:
    """Append a comparison; the interpreters ignore the quantization of int8 values."""
    call.arity(2)
    result = call.result_quant.params
    if all(is_near(call.quant(place).params, result) for place in (0, 1)):
        call.finish(op, call.shared(0), call.shared(1))
        return
    warnings.warn(
        f"{call.scope.model.source}: {call.operator.label}: its inputs and its output differ in "
        "scale or zero point, which TensorFlow Lite Micro and LiteRT ignore; imported the same way",
        ModelWarning,
        stacklevel=2,
    )
    call.finish(op, *(call.emit(_SAME_INTEGERS, call.value(n), quant=result) for n in (0, 1)))


_SAME_INTEGERS = QTable(table=tuple(range(-128, 128)), function="integers")
"""Table that returns the integers as they are, with another quantization."""


@real_importer("MAXIMUM", "MINIMUM")
def import_real_extreme(call: Call) -> None:
    """``MAXIMUM`` and ``MINIMUM`` on unquantized values."""
    call.arity(2)
    op = RealMaximum() if call.operator.name == "MAXIMUM" else RealMinimum()
    call.finish(op, call.value(0), call.value(1))


@importer("PRELU")
def import_prelu(call: Call) -> None:
    """``PRELU`` with one slope for each channel, or one for all.

    Source: tflite-micro ``CalculatePreluParams``.
    """
    call.arity(2)
    x, result = call.quant(0), call.result_quant
    tensor = call.constant(1)
    require_type(tensor, TensorType.INT8)
    slopes = quant_of(tensor)
    op = QPrelu(
        x_zero_point=x.zero_point,
        y_zero_point=slopes.zero_point,
        rescale=rescale_of(call.factor(x, over=result)),
        slope_rescale=rescale_of(call.factor(x, slopes, over=result)),
        zero_point=result.zero_point,
    )
    array = _slope_of_each_channel(tensor, call.input(0))
    call.finish(op, call.value(0), call.scope.constant(tensor, array))


@real_importer("PRELU")
def import_real_prelu(call: Call) -> None:
    """``PRELU`` on float32; slopes broadcast."""
    call.arity(2)
    require_float(*call.inputs, call.output)
    call.finish(NnPrelu(), call.value(0), call.value(1))


@real_importer("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
def import_relation(call: Call) -> None:
    """Relations of unquantized values, to bool."""
    call.arity(2)
    relation = Comparison(call.operator.name.lower())
    call.finish(RealCompare(relation=relation), call.value(0), call.value(1))


@real_importer("LOGICAL_AND", "LOGICAL_OR")
def import_logical(call: Call) -> None:
    """``LOGICAL_AND`` and ``LOGICAL_OR``: the minimum and the maximum of booleans."""
    call.arity(2)
    for tensor in (*call.inputs, call.output):
        require_type(tensor, TensorType.BOOL)
    op = RealMinimum() if call.operator.name == "LOGICAL_AND" else RealMaximum()
    call.finish(op, call.value(0), call.value(1))


@real_importer("LOGICAL_NOT")
def import_logical_not(call: Call) -> None:
    """``LOGICAL_NOT``: whether a boolean equals false."""
    call.arity(1)
    for tensor in (*call.inputs, call.output):
        require_type(tensor, TensorType.BOOL)
    no = call.scope.graph.constant(np.array(False), origin=call.origin)
    call.finish(RealCompare(relation=Comparison.EQUAL), call.value(0), no)


@real_importer("SELECT", "SELECT_V2")
def import_select(call: Call) -> None:
    """``SELECT`` and ``SELECT_V2``; a vector of booleans in the former chooses slices."""
    call.arity(3)
    condition, x = call.input(0), call.input(1)
    require_type(condition, TensorType.BOOL)
    value = call.value(0)
    if call.operator.name == "SELECT" and len(condition.shape) == 1 < len(x.shape):
        slices = (*condition.shape, *(1,) * (len(x.shape) - 1))
        value = call.emit(RealReshape(shape=slices), value)
    call.finish(RealWhere(), value, call.value(1), call.value(2))


def _slope_of_each_channel(tensor: Tensor, image: Tensor) -> npt.NDArray[np.int8]:
    """Return the slopes as int8[C].

    Raises:
        UnsupportedError: They differ along another axis than the last.
    """
    slopes, channels = tensor.array().reshape(-1), image.shape[-1:]
    if not channels or (slopes.size > 1 and tensor.shape[-1:] != (slopes.size,)):
        raise UnsupportedError(
            f"{tensor.label} is {tensor.described}, expected one slope for each channel of "
            f"{image.label}, which is {image.described}",
            hint="share the slopes over the image, such as PReLU(shared_axes=[1, 2]) in Keras",
        )
    return np.broadcast_to(slopes, channels) if slopes.size == 1 else slopes
