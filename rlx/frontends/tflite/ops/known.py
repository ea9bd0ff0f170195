"""Tensors that are known when a model is imported: shapes and values computed from them, weights.

Converters compute the shape for a ``RESHAPE`` at run time (``SHAPE``, ``STRIDED_SLICE``,
``PACK``) where the batch was not fixed. In a file all shapes are fixed, so these operators have
one result, and nothing of them enters the graph. Files with weights in float16 or int8 have an
operator that makes float32 of them, which is done here as well.

Tests: tests/unit/frontends/tflite/test_open.py
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rlx.frontends.refusal import MalformedError
from rlx.frontends.tflite.ops.importers import REAL_IMPORTERS
from rlx.frontends.tflite.ops.tensors import (
    DTYPES,
    checked_numbers,
    narrow_dtype,
    real_array,
    require_type,
)
from rlx.frontends.tflite.schema import TensorType
from rlx.ir import DType, Graph
from rlx.ir.evaluate import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from rlx.frontends.tflite.ops.call import Call

Numbers: TypeAlias = "npt.NDArray[Any]"

_MAX_ELEMENTS = 1024
_WHOLE = (TensorType.INT32, TensorType.INT64, TensorType.BOOL)


def fold(call: Call) -> bool:
    """Compute the operator's elements and keep them for those that read them.

    Returns:
        Whether they can be known now; if not, nothing was done.
    """
    arrays = _arrays(call)
    for tensor, array in zip(call.outputs, arrays or (), strict=arrays is not None):
        wanted = call.makes(array.shape, output=tensor)
        call.scope.known[tensor.index] = array.astype(DTYPES[tensor.type].numpy).reshape(wanted)
    return arrays is not None


def _arrays(call: Call) -> list[Numbers] | None:
    name, known = call.operator.name, call.scope.known
    if name in OF_SHAPES:
        return [OF_SHAPES[name](call)]
    if name == "DEQUANTIZE" and all(t.data is not None for t in call.inputs):
        narrow = any(narrow_dtype(t) is not DType.I8 for t in call.inputs)
        return None if narrow else [_dequantize(call)]
    if name not in REAL_IMPORTERS or not call.is_real:
        return None
    if any(t.data is None and t.index not in known for t in call.inputs):
        return None
    if any(math.prod(t.shape) > _MAX_ELEMENTS for t in call.inputs):
        return None
    whole = all(t.type in _WHOLE for t in call.outputs)
    of_shapes = any(t.index in known for t in call.inputs)
    return _computed(call) if whole or of_shapes else None


def _computed(call: Call) -> list[Numbers] | None:
    """Return the results of the operator's importer for constants, in a graph of its own.

    Lists joined with themselves grow without bound; no list of dimensions is that long. Larger
    tensors become ops of the graph.
    """
    graph = Graph("known")
    scope = replace(call.scope, graph=graph, values={}, weights={}, reals={})
    REAL_IMPORTERS[call.operator.name](replace(call, scope=scope))
    if any(type_.size > _MAX_ELEMENTS for node in graph.nodes for type_ in node.types):
        return None
    graph.output(*(scope.values[t.index] for t in call.outputs))
    return [np.asarray(array) for array in evaluate(graph, {})]


def _dequantize(call: Call) -> Numbers:
    """Return the real values of a constant of int8, float16 or in blocks."""
    call.arity(1)
    x, result = call.input(0), call.output
    require_type(result, TensorType.FLOAT32)
    in_blocks = x.type is TensorType.FLOAT32 and x.stored is not None
    if not in_blocks:
        require_type(x, TensorType.FLOAT16, TensorType.INT8)
    if x.shape != result.shape:
        raise MalformedError(f"turns {x.label}, which is {x.described}, into {result.described}")
    array = real_array(x) if x.type is TensorType.INT8 else x.array()
    return checked_numbers(x, array.astype(np.float32))


def _shape(call: Call) -> Numbers:
    call.arity(1)
    return np.array(call.input(0).shape, np.int64)


def _rank(call: Call) -> Numbers:
    call.arity(1)
    return np.array(len(call.input(0).shape), np.int64)


OF_SHAPES: Mapping[str, Callable[[Call], Numbers]] = {"SHAPE": _shape, "RANK": _rank}
"""Results of operators that depend on shapes alone, not on their input's elements."""
