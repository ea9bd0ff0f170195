"""Tensors that are known when a model is imported: shapes and what is made of them, weights.

Converters compute the shape for a ``RESHAPE`` at run time (``SHAPE``, ``STRIDED_SLICE``,
``PACK``) where the batch was not fixed. In a file all shapes are fixed, so these operators have
one result, and nothing of them enters the graph. Files with weights in float16 or int8 have an
operator that makes float32 of them, which is done here as well.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.frontends.tflite_ops.tensors import (
    DTYPES,
    checked_numbers,
    real_array,
    require_type,
)
from rlx.frontends.tflite_schema import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from rlx.frontends.tflite_ops.call import Call

Numbers: TypeAlias = "npt.NDArray[Any]"

_MOST_NUMBERS = 1024


def folds(call: Call) -> bool:
    """Return whether the operator makes numbers that can be known now."""
    if call.operator.name == "DEQUANTIZE":
        return all(t.data is not None for t in call.inputs)
    return (
        call.operator.name in _FOLDERS
        and len(call.outputs) == 1
        and call.output.type in (TensorType.INT32, TensorType.INT64)
    )


def fold(call: Call) -> None:
    """Compute the operator's numbers and keep them for those that read them."""
    if call.operator.name == "DEQUANTIZE":
        _dequantize(call)
        return
    tensor = call.output
    if math.prod(tensor.shape) > _MOST_NUMBERS:
        # Lists joined with themselves grow without bound; no list of dimensions is that long.
        raise UnsupportedError(
            f"makes {math.prod(tensor.shape)} numbers out of shapes, want at most {_MOST_NUMBERS}"
        )
    array = _FOLDERS[call.operator.name](call).astype(DTYPES[tensor.type].numpy)
    if array.shape != tensor.shape:
        raise MalformedError(
            f"makes the shape {list(array.shape)}, but {tensor.label} is {tensor.described}"
        )
    call.scope.known[tensor.index] = array


def _dequantize(call: Call) -> None:
    """Keep the real numbers of a constant of int8 or float16."""
    call.arity(1)
    given, result = call.input(0), call.output
    require_type(result, TensorType.FLOAT32)
    require_type(given, TensorType.FLOAT16, TensorType.INT8)
    if given.shape != result.shape:
        raise MalformedError(
            f"turns {given.label}, which is {given.described}, into {result.described}"
        )
    array = real_array(given) if given.type is TensorType.INT8 else given.array()
    call.scope.known[result.index] = checked_numbers(given, array.astype(np.float32))


def _shape(call: Call) -> Numbers:
    call.arity(1)
    return np.array(call.input(0).shape, np.int64)


def _pack(call: Call) -> Numbers:
    parts = [call.numbers(place) for place in range(len(call.operator.inputs))]
    if not parts or any(p.shape for p in parts):
        raise UnsupportedError("packs something other than single numbers")
    return np.stack(parts)


def _concatenation(call: Call) -> Numbers:
    parts = [call.numbers(place) for place in range(len(call.operator.inputs))]
    if not parts or any(p.ndim != 1 for p in parts):
        raise UnsupportedError("joins something other than lists of numbers")
    return np.concatenate(parts)


def _strided_slice(call: Call) -> Numbers:
    call.arity(4)
    numbers, options = call.numbers(0), call.options
    if numbers.ndim != 1 or options["ellipsis_mask"] or options["new_axis_mask"]:
        raise UnsupportedError("takes a part of something other than a list of numbers")
    bounds = [call.integers(place) for place in (1, 2, 3)]
    if any(len(b) != 1 for b in bounds):
        raise MalformedError("has more than one bound for a list of numbers")
    (begin,), (end,), (step,) = bounds
    if step < 1:
        raise UnsupportedError(f"has the stride {step}, want none below 1")
    if options["shrink_axis_mask"] & 1:
        index = begin + len(numbers) if begin < 0 else begin
        if not 0 <= index < len(numbers):
            raise MalformedError(f"takes index {begin} of {len(numbers)} numbers")
        return np.array(numbers[index])
    first = None if options["begin_mask"] & 1 else begin
    last = None if options["end_mask"] & 1 else end
    return numbers[first:last:step]


_FOLDERS: Mapping[str, Callable[[Call], Numbers]] = {
    "SHAPE": _shape,
    "PACK": _pack,
    "CONCATENATION": _concatenation,
    "STRIDED_SLICE": _strided_slice,
}
