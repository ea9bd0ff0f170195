"""Tensors that follow from shapes and scalars.

Tests: tests/unit/frontends/onnx/ops/test_versions.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.frontends.onnx.ops.arith import element_type
from rlx.frontends.onnx.ops.index import numbers, one_integer, one_number
from rlx.frontends.onnx.ops.registry import importer
from rlx.frontends.refusal import OverLimitError
from rlx.ir import DType
from rlx.support.limits import raise_hint

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real


def check_size(call: Call, *sizes: int) -> None:
    """Refuse a tensor that is too large to be made."""
    count, limit = math.prod(sizes), call.scope.limits.elements
    if count > limit:
        raise OverLimitError(
            f"makes {count} elements; the limit is {limit}", hint=raise_hint("elements", count)
        )


@importer("ConstantOfShape")
def import_constant_of_shape(call: Call) -> Real:
    """``ConstantOfShape``: one value everywhere."""
    given, shape = call.tensor("value"), call.dims(0)
    number = np.zeros((), np.float32) if given is None else given.array.reshape(())
    if min((d for d in shape if isinstance(d, int)), default=0) < 0:
        raise call.malformed(f"the shape is {list(shape)}")
    return call.constant(number).broadcast_to(*shape)


@importer("Range")
def import_range(call: Call) -> npt.NDArray[Any]:
    """``Range`` between known bounds."""
    start, limit, delta = (one_number(call, i) for i in range(3))
    if float(delta) == 0:
        raise call.malformed("delta is 0")
    steps = (limit.astype(np.float64) - start.astype(np.float64)) / delta.astype(np.float64)
    count = max(math.ceil(float(steps)), 0) if math.isfinite(float(steps)) else -1
    if count < 0:
        raise call.malformed("the numbers are not finite")
    check_size(call, count)
    steps_from_start: Any = np.arange(count).astype(start.dtype)
    return np.asarray(steps_from_start * delta + start, start.dtype)


@importer("EyeLike")
def import_eye_like(call: Call) -> npt.NDArray[Any]:
    """``EyeLike``: ones on a diagonal."""
    type_ = call.type(0)
    number = call.attribute("dtype")
    dtype = type_.dtype if number is None else element_type(call, call.integer("dtype"))
    shape = numbers(call, type_.shape)
    if len(shape) != 2:
        raise call.malformed(f"the input is {type_}, expected a matrix")
    check_size(call, *shape)
    return np.eye(*shape, k=call.integer("k"), dtype=np.bool_).astype(dtype.numpy)


@importer("Trilu")
def import_trilu(call: Call) -> Real:
    """``Trilu``: a triangle of the last two axes; the diagonal may be known at run time only."""
    x = call.value(0)
    if x.ndim < 2:
        raise call.malformed(f"the input is {x.type}, expected at least two dimensions")
    rows, columns = numbers(call, x.shape[-2:])
    check_size(call, rows, columns)
    above = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    diagonal = call.value(1).reshape() if call.has(1) else call.constant(0, DType.I64)
    distance = call.constant(above, DType.I64)
    triangle = distance >= diagonal if call.flag("upper") else distance <= diagonal
    return x.where(triangle, False if x.dtype is DType.BOOL else 0)


@importer("MelWeightMatrix")
def import_mel_weight_matrix(call: Call) -> npt.NDArray[Any]:
    """``MelWeightMatrix``: triangles on the mel scale over the bins of a spectrum."""
    bands, length, rate = (one_integer(call, i) for i in range(3))
    low, high = (float(one_number(call, i)) for i in (3, 4))
    bins = length // 2 + 1
    check_size(call, bins, bands)
    # The mel scale of O'Shaughnessy, as the definition of the operator has it.
    ends = [2595 * math.log10(1 + f / 700) for f in (low, high)]
    mel = ends[0] + np.arange(bands + 2) * (ends[1] - ends[0]) / (bands + 2)
    edges = np.floor((length + 1) * (700 * (10 ** (mel / 2595) - 1)) / rate).astype(np.int64)
    weights = np.zeros((bins, bands), np.float64)
    for band, (left, top, right) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        if left == top:
            weights[top, band] = 1
        else:
            rise = np.arange(left, top + 1)
            weights[rise, band] = (rise - left) / (top - left)
        if right != top:
            fall = np.arange(top, right)
            weights[fall, band] = (right - fall) / (right - top)
    return weights.astype(element_type(call, call.integer("output_datatype")).numpy)
