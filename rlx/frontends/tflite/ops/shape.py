"""Operators that reshape or join tensors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite.ops import moves
from rlx.frontends.tflite.ops.call import fits
from rlx.frontends.tflite.ops.importers import both_importer, importer, real_importer
from rlx.frontends.tflite.ops.tensors import is_near, quant_of, real_array, require_type
from rlx.frontends.tflite.schema import TensorType
from rlx.frontends.tflite.signed import UINT8_OFFSET
from rlx.ops.q import QConcat, QPad, QTable
from rlx.ops.real import RealConcat, RealPad

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.call import Call
    from rlx.ir import Value


@both_importer("RESHAPE")
def import_reshape(call: Call) -> None:
    """``RESHAPE``; the new shape comes as a constant, as an option or from the output."""
    call.arity(1, 2)
    shape = call.output.shape
    new_shape = tuple(int(d) for d in call.options["new_shape"])
    if call.optional(1) is not None:
        new_shape = call.integers(1)
    # Old writers leave the single entry 0 for a scalar; without any entry the output decides.
    if new_shape not in ((), (0,)):
        if call.scope.model.leaves_open:
            shape = call.shaped(_infer_dimension(call, new_shape)).shape
        if new_shape.count(-1) > 1 or not fits(new_shape, shape):
            raise MalformedError(
                f"asks for the shape {list(new_shape)}, "
                f"but {call.output.label} is {call.output.described}"
            )
    _reshape(call, shape)


def _infer_dimension(call: Call, new_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape with the input's elements that are left for its only -1."""
    rest = math.prod(d for d in new_shape if d != -1)
    size = math.prod(call.input(0).shape)
    return tuple(size // max(rest, 1) if d == -1 else d for d in new_shape)


@both_importer("SQUEEZE")
def import_squeeze(call: Call) -> None:
    """``SQUEEZE``: removes dimensions of 1."""
    call.arity(1)
    shape = call.input(0).shape
    axes = {call.axis(int(a), len(shape)) for a in call.options["squeeze_dims"]}
    if not axes:
        axes = {a for a, size in enumerate(shape) if size == 1}
    if any(shape[a] != 1 for a in axes):
        raise MalformedError(f"takes away axes {sorted(axes)} of {call.input(0).described}")
    _reshape(call, call.makes(tuple(d for a, d in enumerate(shape) if a not in axes)))


@both_importer("EXPAND_DIMS")
def import_expand_dims(call: Call) -> None:
    """``EXPAND_DIMS``: puts in a dimension of 1."""
    call.arity(2)
    given, axes = call.input(0).shape, call.integers(1)
    if len(axes) != 1:
        raise MalformedError(f"has {len(axes)} axes, expected 1")
    axis = call.axis(axes[0], len(given) + 1)
    _reshape(call, call.makes((*given[:axis], 1, *given[axis:])))


def _reshape(call: Call, shape: tuple[int, ...]) -> None:
    call.check_moves()
    given = call.input(0)
    if math.prod(given.shape) != math.prod(shape):
        raise MalformedError(f"turns {given.described} into {call.output.described}")
    call.finish(moves.reshape(call, shape), call.value(0))


@both_importer("TRANSPOSE")
def import_transpose(call: Call) -> None:
    """``TRANSPOSE`` with a constant permutation."""
    call.arity(2)
    call.check_moves()
    rank = len(call.input(0).shape)
    axes = tuple(call.axis(a, rank) for a in call.integers(1))
    call.finish(moves.transpose(call, axes), call.value(0))


@both_importer("CONCATENATION")
def import_concatenation(call: Call) -> None:
    """``CONCATENATION``; quantized values share scale and zero point, except in uint8 models."""
    count = len(call.operator.inputs)
    call.arity(max(count, 1))
    if call.options["activation"]:
        raise UnsupportedError("has a fused activation, which the interpreter refuses too")
    axis = call.axis(call.options["axis"], len(call.input(0).shape))
    if call.is_uint8:
        call.finish(QConcat(axis=axis), *(_rescaled(call, p) for p in range(count)))
        return
    for index in range(count):
        call.check_moves(index)
    make = RealConcat if call.is_real else QConcat
    call.finish(make(axis=axis), *(call.shared(p) for p in range(count)))


def _rescaled(call: Call, index: int) -> Value:
    """Return an input in the scale of the output, all in float32.

    Source: LiteRT ``reference_ops::ConcatenationWithScaling``.
    """
    value, x, result = call.value(index), call.quant(index), call.result_quant
    if is_near(x.params, result.params):
        return call.restated(value, result.params)
    scale = x.scale * (np.float32(1) / result.scale)
    every = np.arange(256, dtype=np.float32)
    steps = every * scale + np.float32(-(x.zero_point + UINT8_OFFSET)) * scale
    rounded = np.trunc(steps) + np.copysign(np.abs(steps - np.trunc(steps)) >= 0.5, steps)
    table = np.clip(rounded + result.zero_point, -128, 127).astype(np.int64)
    return call.emit(QTable(table=tuple(table.tolist()), function="table"), value, quant=result)


@both_importer("PACK")
def import_pack(call: Call) -> None:
    """``PACK``: joins along a new axis."""
    count = len(call.operator.inputs)
    call.arity(max(count, 1))
    if count != call.options["values_count"]:
        raise MalformedError(f"has {count} inputs, but values_count {call.options['values_count']}")
    shape = call.input(0).shape
    axis = call.axis(call.options["axis"], len(shape) + 1)
    concat = RealConcat if call.is_real else QConcat
    parts = []
    for index in range(count):
        call.check_moves(index)
        tensor = call.input(index)
        if tensor.shape != shape:
            raise MalformedError(
                f"{tensor.label} is {tensor.described}, expected the shape {shape}"
            )
        grown = (*shape[:axis], 1, *shape[axis:])
        parts.append(call.emit(moves.reshape(call, grown), call.shared(index)))
    call.finish(concat(axis=axis), *parts)


@importer("PAD", "PADV2")
def import_pad(call: Call) -> None:
    """``PAD`` and ``PADV2`` with constant widths; the former adds real zeros."""
    v2 = call.operator.name == "PADV2"
    before, after = _widths(call, 3 if v2 else 2)
    quant = call.same_quant()
    value = quant.zero_point
    if v2:
        tensor = call.constant(2)
        require_type(tensor, TensorType.INT8)
        if math.prod(tensor.shape) != 1 or not is_near(quant_of(tensor).params, quant.params):
            raise MalformedError(f"{tensor.label} must be one value in the input's scale")
        value = int(tensor.array().reshape(-1)[0])
    call.finish(QPad(before=before, after=after, value=value), call.value(0))


@real_importer("PAD", "PADV2")
def import_real_pad(call: Call) -> None:
    """``PAD`` and ``PADV2`` on unquantized values."""
    v2 = call.operator.name == "PADV2"
    before, after = _widths(call, 3 if v2 else 2)
    value = 0.0
    if v2:
        tensor = call.constant(2)
        if math.prod(tensor.shape) != 1:
            raise MalformedError(f"{tensor.label} is {tensor.described}, expected one number")
        value = float(real_array(tensor).reshape(-1)[0])
    call.finish(RealPad(before=before, after=after, value=value), call.value(0))


def _widths(call: Call, arity: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the padding before and after each axis."""
    call.arity(arity)
    rank, widths = len(call.input(0).shape), call.integers(1)
    if len(widths) != 2 * rank:
        raise MalformedError(f"has {len(widths)} widths for {rank} dimensions")
    if min(widths, default=0) < 0:
        raise MalformedError(f"has the widths {list(widths)}, expected numbers of at least 0")
    return widths[::2], widths[1::2]
