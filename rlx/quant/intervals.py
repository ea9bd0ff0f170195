"""Bounds of values that no calibration has seen: parts of layers that were written in other ops.

Calibrated ranges are narrower; these hold for any input whose values keep to the ranges of what
they are computed from.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from rlx.ir import RuleTable
from rlx.ops import real
from rlx.quant.functions import argument, evaluate_function
from rlx.quant.known import known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir import Node, Value

Ends: TypeAlias = tuple[float, float]

_POINTS = 4096
"""Numbers at which a function without calibrated range is evaluated."""

INTERVALS: RuleTable[Callable[[Node, Sequence[Ends]], Ends]] = RuleTable("interval arithmetic")
"""Range of an op's result, given those of its operands."""


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
    found = []
    for operand in node.operands:
        numbers = known(operand)
        if numbers is not None and numbers.size and np.isfinite(numbers).all():
            found.append((float(numbers.min()), float(numbers.max())))
        elif numbers is None and (ends := range_of(operand)) is not None:
            found.append(ends)
    if len(found) != len(node.operands):
        return None
    low, high = INTERVALS[type(node.op)](node, found)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def _of_function(value: Value, of: Value, ends: Ends) -> Ends | None:
    """Return the extremes of a function over the numbers of a range."""
    numbers = np.linspace(*ends, _POINTS, dtype=np.float32)
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


@INTERVALS.rule(real.RealConv, real.RealMatmul)
def _weighted(node: Node, ends: Sequence[Ends]) -> Ends:
    """Return the sums in which each weight meets the end that suits it."""
    weights = known(node.operands[1])
    if weights is None:
        return -math.inf, math.inf
    axes = cast("tuple[int, ...]", (0,) if weights.ndim == 2 else tuple(range(1, weights.ndim)))
    (low, high), array = ends[0], np.asarray(weights, np.float64)
    above, below = np.maximum(array, 0), np.minimum(array, 0)
    smallest = (above * min(low, 0.0) + below * max(high, 0.0)).sum(axis=axes)
    largest = (above * max(high, 0.0) + below * min(low, 0.0)).sum(axis=axes)
    return float(smallest.min()), float(largest.max())
