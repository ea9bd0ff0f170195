"""Reductions, scans and choices along axes.

Tests: tests/unit/frontends/onnx/ops/test_versions.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlx.frontends.onnx.ops.index import one_integer
from rlx.frontends.onnx.ops.registry import importer
from rlx.ir import DType
from rlx.ir.dims import product
from rlx.ops import real

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real
    from rlx.ops.real.reduce import RealReduce

    Axes = tuple[int, ...]


def axes_of(call: Call, rank: int) -> Axes | None:
    """Return the axes that are reduced: an attribute, or an input in later versions.

    Returns:
        Axes counted from the front; None where the operator is to do nothing.
    """
    listed_axes, noop = call.integers("axes"), call.integer("noop_with_empty_axes", 0)
    if listed_axes is None and call.has(1):
        listed_axes = call.ints(1)
    if not listed_axes:
        if listed_axes is not None and call.version < 13:
            return ()
        return None if noop else tuple(range(rank))
    return tuple(call.axis(a, rank) for a in listed_axes)


def _reduced(call: Call, op: type[RealReduce], x: Real, axes: Axes | None) -> Real:
    """Return ``x`` reduced over axes, unchanged without any."""
    if axes is None:
        return x
    return x.apply(op(axes=axes, keep_dims=call.integer("keepdims") != 0))


def _sum(call: Call, x: Real, axes: Axes | None) -> Real:
    return _reduced(call, real.RealReduceSum, x, axes)


def _mean(call: Call, x: Real, axes: Axes | None) -> Real:
    if x.dtype.is_float:
        return _reduced(call, real.RealReduceMean, x, axes)
    count = product(x.shape[a] for a in axes or ())
    if not isinstance(count, int):
        raise call.refuse(f"the number of elements that are averaged, {count}, is not known")
    return _sum(call, x, axes) / count


def _log_sum_exp(call: Call, x: Real, axes: Axes | None) -> Real:
    if axes is None:
        return x
    maximum = x.apply(real.RealReduceMax(axes=axes, keep_dims=True))
    # Infinity minus infinity would be NaN.
    finite = maximum.where(abs(maximum) < math.inf, 0.0)
    total = (x - finite).exp().apply(real.RealReduceSum(axes=axes, keep_dims=True))
    result = total.log() + finite
    if call.integer("keepdims"):
        return result
    return result.reshape(*(n for a, n in enumerate(result.shape) if a not in axes))


_FORMULAS: dict[str, Callable[[Call, Real, Axes | None], Real]] = {
    "ReduceSum": _sum,
    "ReduceMean": _mean,
    "ReduceProd": lambda call, x, axes: _reduced(call, real.RealReduceProd, x, axes),
    "ReduceMax": lambda call, x, axes: _reduced(call, real.RealReduceMax, x, axes),
    "ReduceMin": lambda call, x, axes: _reduced(call, real.RealReduceMin, x, axes),
    "ReduceL1": lambda call, x, axes: _sum(call, abs(x), axes),
    "ReduceL2": lambda call, x, axes: _sum(call, x * x, axes).sqrt(),
    "ReduceSumSquare": lambda call, x, axes: _sum(call, x * x, axes),
    "ReduceLogSum": lambda call, x, axes: _sum(call, x, axes).log(),
    "ReduceLogSumExp": _log_sum_exp,
}

_OF_FLOATS = ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp")


@importer(*_FORMULAS)
def import_reduction(call: Call) -> Real:
    """Reductions; those with a root or logarithm compute integers in f64."""
    x, name = call.value(0), call.node.type
    axes = axes_of(call, x.ndim)
    if name in _OF_FLOATS and not x.dtype.is_float:
        return _FORMULAS[name](call, x.cast(DType.F64), axes).cast(x.dtype)
    return _FORMULAS[name](call, x, axes)


@importer("ArgMax", "ArgMin")
def import_arg(call: Call) -> Real:
    """``ArgMax`` and ``ArgMin``, the first or the last of equal elements."""
    x = call.value(0)
    axis = call.axis(call.integer("axis"), x.ndim)
    kind = real.RealArgmax if call.node.type == "ArgMax" else real.RealArgmin
    last = bool(call.integer("select_last_index", 0))
    found = x.apply(kind(axis=axis, last=last)).cast(DType.I64)
    return found.expand_dims(axis) if call.integer("keepdims") else found


@importer("CumSum", "CumProd")
def import_running(call: Call) -> Real:
    """``CumSum`` and ``CumProd``, from either end."""
    x = call.value(0)
    axis = call.axis(one_integer(call, 1), x.ndim)
    kind = real.RealCumsum if call.node.type == "CumSum" else real.RealCumprod
    turn = real.RealReverse(axes=(axis,))
    backwards = call.flag("reverse")
    x = x.apply(turn) if backwards else x
    x = x.apply(kind(axis=axis, exclusive=call.flag("exclusive")))
    return x.apply(turn) if backwards else x


@importer("TopK")
def import_top_k(call: Call) -> Sequence[Real]:
    """``TopK``; the results are sorted whether that is asked for or not."""
    x = call.value(0)
    call.integer("sorted", 1)
    count = call.integer("k") if call.version < 10 else one_integer(call, 1)
    axis = call.axis(call.integer("axis"), x.ndim)
    smallest = not call.integer("largest", 1)
    values, places = x.apply_all(real.RealTopK(count=count, axis=axis, smallest=smallest))
    return values, places.cast(DType.I64)
