"""Reductions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from rlx.frontends.quantization import rescale_of
from rlx.frontends.refusal import MalformedError
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.frontends.tflite.ops.reals import require_float
from rlx.frontends.tflite.ops.tensors import require_type
from rlx.frontends.tflite.schema import TensorType
from rlx.ir import DType
from rlx.ops.q import CODE_RANGE, QArgmax, QMean, extremes
from rlx.ops.real import (
    RealArgmax,
    RealArgmin,
    RealCast,
    RealCumsum,
    RealReduceMax,
    RealReduceMean,
    RealReduceMin,
    RealReduceProd,
    RealReduceSum,
    RealReverse,
    RealTopK,
)

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.call import Call
    from rlx.ops.real.reduce import RealReduce


@importer("MEAN")
def import_mean(call: Call) -> None:
    """``MEAN`` over constant axes; an axis given twice counts once."""
    _scaled_sum(call, mean=True)


@importer("SUM")
def import_sum(call: Call) -> None:
    """``SUM`` over constant axes; an axis given twice counts once."""
    _scaled_sum(call, mean=False)


def _scaled_sum(call: Call, *, mean: bool) -> None:
    """Append a sum whose factor divides by the number of elements if it is a mean."""
    call.arity(2)
    x, result = call.quant(0), call.result_quant
    shape, axes = call.input(0).shape, _axes(call)
    rescale = rescale_of(x.real / result.real)
    low, high = CODE_RANGE[call.dtype]
    op = QMean(
        axes=axes,
        keep_dims=call.options["keep_dims"],
        x_zero_point=x.zero_point,
        rescale=rescale.divided(math.prod(shape[a] for a in axes)) if mean else rescale,
        zero_point=result.zero_point,
        low=low,
        high=high,
    )
    call.finish(op, call.value(0))


@importer("REDUCE_MAX", "REDUCE_MIN")
def import_extreme(call: Call) -> None:
    """``REDUCE_MAX`` and ``REDUCE_MIN`` over constant axes; an axis given twice counts once."""
    call.arity(2)
    call.same_quant()
    make = extremes.largest if call.operator.name == "REDUCE_MAX" else extremes.smallest
    value = call.value(0)
    call.bind(make(call.emit, value, _axes(call), keep_dims=call.options["keep_dims"]))


@real_importer("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD")
def import_reduction(call: Call) -> None:
    """Reductions of unquantized values over constant axes; the mean of float32 only."""
    call.arity(2)
    if call.operator.name == "MEAN":
        require_float(call.input(0), call.output)
    make = _REDUCTIONS[call.operator.name]
    call.finish(make(axes=_axes(call), keep_dims=call.options["keep_dims"]), call.value(0))


_REDUCTIONS: dict[str, type[RealReduce]] = {
    "MEAN": RealReduceMean,
    "SUM": RealReduceSum,
    "REDUCE_MAX": RealReduceMax,
    "REDUCE_MIN": RealReduceMin,
    "REDUCE_PROD": RealReduceProd,
}


@real_importer("REDUCE_ANY", "REDUCE_ALL")
def import_truth_reduction(call: Call) -> None:
    """``REDUCE_ANY`` and ``REDUCE_ALL``: the maximum and the minimum of booleans."""
    call.arity(2)
    for tensor in (call.input(0), call.output):
        require_type(tensor, TensorType.BOOL)
    make = RealReduceMax if call.operator.name == "REDUCE_ANY" else RealReduceMin
    call.finish(make(axes=_axes(call), keep_dims=call.options["keep_dims"]), call.value(0))


def _axes(call: Call) -> tuple[int, ...]:
    """Return the axes that input 1 names; one that is given twice counts once."""
    rank = len(call.input(0).shape)
    return tuple(sorted({call.axis(a, rank) for a in call.integers(1)}))


@importer("ARG_MAX", "ARG_MIN")
def import_arg(call: Call) -> None:
    """``ARG_MAX`` and ``ARG_MIN`` along a constant axis, to int32; of equal values the first."""
    call.arity(2)
    require_type(call.output, TensorType.INT32)
    axis, value = only_axis(call), call.value(0)
    call.quant(0)
    _drop_ones(call, axis)
    if call.operator.name == "ARG_MIN":
        value = extremes.negate(call.emit, value)
    call.finish(QArgmax(axis=axis), value)


@real_importer("ARG_MAX", "ARG_MIN")
def import_real_arg(call: Call) -> None:
    """``ARG_MAX`` and ``ARG_MIN`` of unquantized values along a constant axis, to int32 or 64."""
    call.arity(2)
    require_type(call.output, TensorType.INT32, TensorType.INT64)
    make = RealArgmax if call.operator.name == "ARG_MAX" else RealArgmin
    axis = only_axis(call)
    _drop_ones(call, axis)
    extremum_index = call.emit(make(axis=axis), call.value(0))
    if call.output.type is TensorType.INT64:
        extremum_index = call.emit(RealCast(dtype=DType.I64), extremum_index)
    call.bind(extremum_index)


def _drop_ones(call: Call, axis: int) -> None:
    """Give the output the shape that interpreters compute, if the file keeps dimensions of 1."""
    shape, tensor = call.input(0).shape, call.output
    reduced = (*shape[:axis], *shape[axis + 1 :])
    if [d for d in reduced if d > 1] == [d for d in tensor.shape if d > 1]:
        call.scope.tensors[tensor.index] = replace(tensor, shape=reduced)


def only_axis(call: Call) -> int:
    """Return the only axis that input 1 names."""
    axes = call.integers(1)
    if len(axes) != 1:
        raise MalformedError(f"has {len(axes)} axes, expected 1")
    return call.axis(axes[0], len(call.input(0).shape))


@real_importer("CUMSUM")
def import_real_cumsum(call: Call) -> None:
    """``CUMSUM`` along a constant axis, from either end."""
    call.arity(2)
    axis, x = only_axis(call), call.value(0)
    turn = RealReverse(axes=(axis,))
    if call.options["reverse"]:
        x = call.emit(turn, x)
    sums = call.emit(RealCumsum(axis=axis, exclusive=call.options["exclusive"]), x)
    call.bind(call.emit(turn, sums) if call.options["reverse"] else sums)


@real_importer("TOPK_V2")
def import_top_k(call: Call) -> None:
    """``TOPK_V2``: the largest numbers of the last axis, and where they are."""
    call.arity(2, outputs=2)
    counts = call.integers(1)
    if len(counts) != 1:
        raise MalformedError(f"has {len(counts)} counts, expected 1")
    results = call.emit_all(RealTopK(count=counts[0]), call.value(0))
    for value, output in zip(results, call.outputs, strict=True):
        call.bind(value, output=output)
