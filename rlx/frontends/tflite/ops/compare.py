"""Elementwise operators that compare."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.frontends.quantization import rescale_of
from rlx.frontends.refusal import UnsupportedError
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.frontends.tflite.ops.reals import require_float
from rlx.frontends.tflite.ops.table import constant_table
from rlx.frontends.tflite.ops.tensors import is_near, quant_of, require_type
from rlx.frontends.tflite.schema import TensorType
from rlx.ir import DType, QuantParams
from rlx.ops.nn import NnPrelu
from rlx.ops.q import QMaximum, QMinimum, QPrelu, QReshape, QSub, QTable
from rlx.ops.real import (
    Comparison,
    RealCast,
    RealCompare,
    RealMaximum,
    RealMinimum,
    RealReshape,
    RealWhere,
)
from rlx.support.errors import ModelWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from rlx.frontends.tflite.file import Tensor
    from rlx.frontends.tflite.ops.call import Call
    from rlx.ir import Value


_INTEGERS: Final = QuantParams.per_tensor(1.0)
"""Quantization of signs and flags."""

_FRACTION_BITS: Final = 8
"""Fraction bits of values that are compared."""

_RELATIONS: Final[Mapping[str, Callable[[int], bool]]] = {
    "EQUAL": lambda sign: sign == 0,
    "NOT_EQUAL": lambda sign: sign != 0,
    "LESS": lambda sign: sign < 0,
    "LESS_EQUAL": lambda sign: sign <= 0,
    "GREATER": lambda sign: sign > 0,
    "GREATER_EQUAL": lambda sign: sign >= 0,
}
"""For each relation whether it holds, by the sign of the difference of both values."""


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
    call.finish(op, *_same_integers(call, 0, 1))


def _same_integers(call: Call, *indices: int) -> tuple[Value, ...]:
    """Return int8 inputs with the output's quantization, with a warning if theirs differ."""
    result = call.result_quant.params
    if all(is_near(call.quant(index).params, result) for index in indices):
        quant = call.value(indices[0]).type.quant
        return tuple(call.restated(call.value(index), quant) for index in indices)
    warnings.warn(
        f"{call.scope.model.source}: {call.operator.label}: its inputs and its output differ in "
        "scale or zero point, which TensorFlow Lite Micro and LiteRT ignore; imported the same way",
        ModelWarning,
        stacklevel=2,
    )
    return tuple(call.emit(_SAME_INTEGERS, call.value(n), quant=result) for n in indices)


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


@importer(*_RELATIONS)
def import_relation(call: Call) -> None:
    """Relations of two tensors, each rescaled to fixed point with 8 fraction bits, to bool.

    Source: tflite-micro ``comparisons.cc``.
    """
    call.arity(2)
    require_type(call.output, TensorType.BOOL)
    x, y = call.quant(0), call.quant(1)
    if max(x.real, y.real) >= 1:
        raise UnsupportedError(
            f"has the scales {x.real!r} and {y.real!r}, expected scales below 1, at which "
            "TensorFlow Lite Micro and LiteRT stop",
            hint="compare smaller values, or their difference with 0, in the model",
        )
    difference = QSub(
        x_zero_point=x.zero_point,
        y_zero_point=y.zero_point,
        x_rescale=rescale_of(x.real),
        y_rescale=rescale_of(y.real),
        left_shift=_FRACTION_BITS,
        rescale=rescale_of(1.0),
        zero_point=0,
        low=-1,
        high=1,
    )
    tabulated = constant_table(call, difference)
    if tabulated is None:
        sign = call.emit(difference, call.value(0), call.value(1), quant=_INTEGERS)
        tabulated = tuple(range(-128, 128)), sign
    signs, operand = tabulated
    holds = [int(_RELATIONS[call.operator.name](sign)) for sign in signs]
    op = QTable(table=tuple(holds), function=call.operator.name.lower())
    call.bind(call.emit(RealCast(dtype=DType.BOOL), call.emit(op, operand)))


@real_importer(*_RELATIONS)
def import_real_relation(call: Call) -> None:
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


@importer("SELECT", "SELECT_V2")
def import_select(call: Call) -> None:
    """``SELECT`` and ``SELECT_V2``; a vector of booleans in the former chooses slices."""
    call.arity(3)
    flags = _flags(call, 0)
    slices = _slices(call)
    if slices is not None:
        flags = call.emit(QReshape(shape=slices), flags)
    x, y = _same_integers(call, 1, 2)
    # A bound of 127 leaves a value as it is, and one of -128 replaces it by the minimum.
    bounds = (_bound(127, -128, "where"), _bound(-128, 127, "where not"))
    bounded = [
        call.emit(QMinimum(), value, call.emit(bound, flags, quant=x.type.quant))
        for value, bound in zip((x, y), bounds, strict=True)
    ]
    call.finish(QMaximum(), *bounded)


def _bound(otherwise: int, at_zero: int, function: str) -> QTable:
    """Return the table of a bound for flags: one at 0, another one elsewhere."""
    table = tuple(at_zero if flag == 0 else otherwise for flag in range(-128, 128))
    return QTable(table=table, function=function)


def _flags(call: Call, index: int) -> Value:
    """Return booleans as int8, 0 or 1."""
    tensor = call.input(index)
    require_type(tensor, TensorType.BOOL)
    if tensor.data is not None:
        flags = tensor.array().astype(np.int8)
        return call.scope.graph.constant(flags, quant=_INTEGERS, origin=call.origin)
    value = call.scope.real(tensor)
    cast = value.node
    if isinstance(cast.op, RealCast) and cast.operands[0].type.dtype is DType.I8:
        source = cast.operands[0]
        if not isinstance(source.node.op, QTable):
            return source
        # Operands of a cast have no scale; this table of the same values has one.
        return call.emit(source.node.op, *source.node.operands, quant=_INTEGERS)
    return call.emit(RealCast(dtype=DType.I8), value, quant=_INTEGERS)


def _slices(call: Call) -> tuple[int, ...] | None:
    """Return the shape in which the condition of ``SELECT`` chooses slices, None for its own."""
    condition, x = call.input(0), call.input(1)
    if call.operator.name == "SELECT" and len(condition.shape) == 1 < len(x.shape):
        return (*condition.shape, *(1,) * (len(x.shape) - 1))
    return None


@real_importer("SELECT", "SELECT_V2")
def import_real_select(call: Call) -> None:
    """``SELECT`` and ``SELECT_V2``; a vector of booleans in the former chooses slices."""
    call.arity(3)
    require_type(call.input(0), TensorType.BOOL)
    value, slices = call.value(0), _slices(call)
    if slices is not None:
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
