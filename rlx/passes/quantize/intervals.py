"""Bounds of values that no calibration has seen: parts of layers that were written in other ops.

Calibrated ranges are narrower; these hold for any input whose values are within the calibrated
ranges of their operands.

Tests: tests/unit/passes/quantize/test_convert.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from rlx.ir import QuantParams, RuleTable
from rlx.ops import nn, real
from rlx.ops.numerics.scales import LATTICE
from rlx.passes.quantize.functions import argument, evaluate_function
from rlx.passes.quantize.known import known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from rlx.ir import Node, Value

    Doubles: TypeAlias = npt.NDArray[np.float64]

Ends: TypeAlias = tuple[float, float]

_SAMPLE_COUNT = 4096
"""Numbers at which a function without calibrated range is evaluated."""

_INT8_VALUES = 256
"""Number of values of int8."""

INTERVALS: RuleTable[Callable[[Node, Sequence[Ends]], Ends]] = RuleTable("interval arithmetic")
"""Range of an op's result from those of its operands."""


def interval(value: Value, range_of: Callable[[Value], Ends | None]) -> Ends | None:
    """Return bounds of a value, or None where none are known.

    Args:
        value: The value.
        range_of: Returns the range of a value that it is computed from, if it is known.
    """
    node = value.node
    of = argument(node)
    if of is not None:
        ends = range_of(of)
        return None if ends is None else _of_function(value, of, ends)
    if type(node.op) not in INTERVALS:
        return None
    operand_ends = []
    for operand in node.operands:
        numbers = known(operand)
        if numbers is not None and numbers.size and np.isfinite(numbers).all():
            operand_ends.append((float(numbers.min()), float(numbers.max())))
        elif numbers is None and (ends := range_of(operand)) is not None:
            operand_ends.append(ends)
    if len(operand_ends) != len(node.operands):
        return None
    low, high = INTERVALS[type(node.op)](node, operand_ends)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def _of_function(value: Value, of: Value, ends: Ends) -> Ends | None:
    """Return the extremes of a function over the numbers of a range."""
    numbers = np.linspace(*ends, _SAMPLE_COUNT, dtype=np.float32)
    results = evaluate_function(value, of, numbers).astype(np.float64)
    finite = results[np.isfinite(results)]
    return (float(finite.min()), float(finite.max())) if finite.size else None


@INTERVALS.rule(real.RealAdd)
def _sum(node: Node, ends: Sequence[Ends]) -> Ends:
    del node
    (a, b), (c, d) = ends
    return a + c, b + d


@INTERVALS.rule(real.RealSub)
def _difference(node: Node, ends: Sequence[Ends]) -> Ends:
    del node
    (a, b), (c, d) = ends
    return a - d, b - c


@INTERVALS.rule(real.RealMul)
def _product(node: Node, ends: Sequence[Ends]) -> Ends:
    del node
    corners = [x * y for x in ends[0] for y in ends[1]]
    return min(corners), max(corners)


@INTERVALS.rule(real.RealMaximum)
def _maximum(node: Node, ends: Sequence[Ends]) -> Ends:
    del node
    (a, b), (c, d) = ends
    return max(a, c), max(b, d)


@INTERVALS.rule(real.RealMinimum)
def _minimum(node: Node, ends: Sequence[Ends]) -> Ends:
    del node
    (a, b), (c, d) = ends
    return min(a, c), min(b, d)


@INTERVALS.rule(real.RealReduceMean)
def _mean(node: Node, ends: Sequence[Ends]) -> Ends:
    del node
    return ends[0]


@INTERVALS.rule(real.RealReduceSum)
def _total(node: Node, ends: Sequence[Ends]) -> Ends:
    count = math.prod(node.operands[0].type.static_shape) // max(
        math.prod(node.types[0].static_shape), 1
    )
    return count * ends[0][0], count * ends[0][1]


@INTERVALS.rule(nn.NnAveragePool, real.RealAveragePool)
def _average(node: Node, ends: Sequence[Ends]) -> Ends:
    del node
    return min(ends[0][0], 0.0), max(ends[0][1], 0.0)


@INTERVALS.rule(real.RealConv, real.RealMatmul, nn.NnConv, nn.NnLinear)
def _layer_ends(node: Node, ends: Sequence[Ends]) -> Ends:
    """Return the sums in which each weight meets the end that suits it."""
    weights, bias = known(node.operands[1]), 0.0
    if len(node.operands) > 2:
        bias = cast("float", known(node.operands[2]))
    if weights is None or bias is None:
        return -math.inf, math.inf
    array = np.asarray(weights, np.float64)
    rows = array.T if isinstance(node.op, real.RealMatmul) else array.reshape(len(array), -1)
    return _affine(rows, np.asarray(bias, np.float64), ends[0])


def _affine(rows: Doubles, bias: Doubles, ends: Ends) -> Ends:
    """Return the bounds of ``rows @ x + bias`` for numbers of a range, or zeros."""
    low, high = min(ends[0], 0.0), max(ends[1], 0.0)
    above, below = np.maximum(rows, 0), np.minimum(rows, 0)
    smallest = (above * low + below * high).sum(axis=-1) + bias
    largest = (above * high + below * low).sum(axis=-1) + bias
    return float(smallest.min()), float(largest.max())


@INTERVALS.rule(nn.NnBatchNorm)
def _norm_ends(node: Node, ends: Sequence[Ends]) -> Ends:
    constants = [known(o) for o in node.operands[1:]]
    if any(c is None for c in constants):
        return -math.inf, math.inf
    gamma, beta, mean, variance = (np.asarray(c, np.float64) for c in constants)
    factor = gamma / np.sqrt(variance + cast("nn.NnBatchNorm", node.op).epsilon)
    return _affine(factor[:, np.newaxis], beta - mean * factor, ends[0])


def exact_params(value: Value, of: Value, params: QuantParams) -> QuantParams | None:
    """Return parameters with which int8 values hold all results of a function exactly, or None.

    Such as those of a floor, or of a comparison: multiples of one value.

    Args:
        value: Result of the function.
        of: Its argument.
        params: Quantization parameters of int8 values of the argument.
    """
    steps = np.arange(-128, 128, dtype=np.float32) - np.float32(params.zero_point[0])
    results = evaluate_function(value, of, steps * np.float32(params.scale[0])).astype(np.float64)
    if not np.isfinite(results).all():
        return None
    different = np.unique([0.0, *results])
    if len(different) < 2:
        return None
    gap = float(np.diff(different).min())
    # The widest range has the most exact estimate of the step.
    step = (different[-1] - different[0]) / max(round((different[-1] - different[0]) / gap), 1)
    multiples = different / step
    near = np.abs(multiples - np.rint(multiples)) < LATTICE
    low, high = round(multiples[0]), round(multiples[-1])
    if not near.all() or high - low > _INT8_VALUES - 1:
        return None
    scale = float(np.float32(step))
    return QuantParams.per_tensor(scale, min(-128 - low, 127)) if scale > 0 else None
