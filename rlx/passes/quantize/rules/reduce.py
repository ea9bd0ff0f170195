"""Means, sums and extremes over axes, and the index of the maximum.

Tests: tests/unit/passes/quantize/test_convert.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from rlx.ir import Refusal
from rlx.ops.q import QArgmax, QMean, extremes
from rlx.ops.real import (
    RealArgmax,
    RealArgmin,
    RealReduceMax,
    RealReduceMean,
    RealReduceMin,
    RealReduceSum,
)
from rlx.passes.quantize.rules.call import quant_of, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node, Value
    from rlx.passes.quantize.rules.call import NodeConversion


@rule(RealReduceMean, rescales=True)
def mean(call: NodeConversion) -> Sequence[Value]:
    """``mean(x)`` -> q.mean."""
    op = cast("RealReduceMean", call.node.op)
    return [mean_of(call, call.quantized(0), op.axes, keep_dims=op.keep_dims)]


@rule(RealReduceSum, rescales=True)
def total(call: NodeConversion) -> Sequence[Value]:
    """``sum(x)`` -> q.mean, which is a sum where the factor does not divide."""
    op = cast("RealReduceSum", call.node.op)
    return [mean_of(call, call.quantized(0), op.axes, keep_dims=op.keep_dims, divide=False)]


def mean_of(
    call: NodeConversion, x: Value, axes: tuple[int, ...], *, keep_dims: bool, divide: bool = True
) -> Value:
    """Append a mean, or a sum, of an integer value over axes."""
    x_quant, quant = quant_of(x), call.quant
    rescale = call.rescale(x_quant.scale[0] / quant.scale[0])
    if divide:
        rescale = rescale.divided(math.prod(x.type.static_shape[a] for a in axes))
    op = QMean(
        axes=axes,
        keep_dims=keep_dims,
        x_zero_point=x_quant.zero_point[0],
        rescale=rescale,
        zero_point=quant.zero_point[0],
    )
    return call.emit(op, x, quant=quant)


def _check_reduced(node: Node) -> Refusal | None:
    return None if node.operands[0].type.size else Refusal("it reduces no elements")


@rule(RealReduceMax, check=_check_reduced, shares=True)
def maximum(call: NodeConversion) -> Sequence[Value]:
    """``reduce_max(x)`` -> q.max_pool2d of an image whose windows have the reduced elements."""
    op, x = cast("RealReduceMax", call.node.op), call.quantized(0, call.quant)
    return [extremes.largest(call.emit, x, op.axes, keep_dims=op.keep_dims)]


@rule(RealReduceMin, check=_check_reduced, shares=True)
def minimum(call: NodeConversion) -> Sequence[Value]:
    """``reduce_min(x)`` -> the maximum of -1 - x, which turns the order of int8 values around."""
    op, x = cast("RealReduceMin", call.node.op), call.quantized(0, call.quant)
    return [extremes.smallest(call.emit, x, op.axes, keep_dims=op.keep_dims)]


@rule(RealArgmin)
def argmin(call: NodeConversion) -> Sequence[Value]:
    """``argmin(x)`` -> q.argmax of -1 - x."""
    op = cast("RealArgmin", call.node.op)
    return [call.emit(QArgmax(axis=op.axis), extremes.negate(call.emit, call.quantized(0)))]


@rule(RealArgmax)
def argmax(call: NodeConversion) -> Sequence[Value]:
    """``argmax(x)`` -> q.argmax: the largest code is that of a maximum."""
    op = cast("RealArgmax", call.node.op)
    return [call.emit(QArgmax(axis=op.axis), call.quantized(0))]
