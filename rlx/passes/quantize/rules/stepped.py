"""A function of an average, computed from the exact sum where that is one rounding.

Such as the low bits that QONNX's ``Trunc`` drops of a sum, or a constant factor after a pool:
rounded to int8 first, the function would read another value.

Tests: tests/unit/passes/quantize/test_averages.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.ops.nn import NnAveragePool
from rlx.ops.numerics.fixed_point import Rounding
from rlx.ops.q import Window
from rlx.ops.real import RealAveragePool, RealQuantize, RealReduceMean
from rlx.ops.rescale import rescale_of
from rlx.passes.quantize.functions import argument, evaluate_function
from rlx.passes.quantize.known import known
from rlx.passes.quantize.offsets import turn_halves
from rlx.passes.quantize.rules.call import quant_of
from rlx.passes.quantize.rules.image import as_image, from_image, image_window
from rlx.passes.quantize.rules.pool import layout_of, pad, windows_sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir import Graph, Node, QuantParams, Value
    from rlx.ops.numerics.fixed_point import Int64, Rescale
    from rlx.passes.quantize.rules.call import NodeConversion

_MAX_SUMS = 1 << 20
"""Sums that a function is evaluated at."""


def averages_of(graph: Graph) -> set[Node]:
    """Return the averages whose results are read by unary functions only."""
    users, outputs = graph.users(), set(graph.outputs)
    return {
        node
        for node in graph.op_nodes
        if len(node.types) == 1
        and _count(node) is not None
        and known(node.operands[0]) is None
        and node.result not in outputs
        and users[node.result]
        and all(argument(reader) == node.result for reader in users[node.result])
    }


def _count(node: Node) -> int | None:
    """Return the elements of an average, where all of a node's have the same number; else None."""
    op = node.op
    if isinstance(op, RealReduceMean):
        return node.operands[0].type.size // max(node.types[0].size, 1)
    if not isinstance(op, NnAveragePool | RealAveragePool) or op.window.rank not in (1, 2):
        return None
    window = image_window(op.window)
    return window.taps if op.count_padding or not window.is_padded else None


def _image(call: NodeConversion, average: Node) -> tuple[Value, Window]:
    """Return the averaged value as an image, and the window of the average's elements."""
    x, op = call.conversion.values[average.operands[0]], average.op
    if isinstance(op, RealReduceMean):
        rank, shape = x.type.rank, x.type.static_shape
        axes = tuple(sorted(a % rank for a in op.axes))
        channel_axes = tuple(a for a in range(rank) if a not in axes)
        rows, channels = (math.prod(shape[a] for a in some) for some in (axes, channel_axes))
        transposed = call.transpose(x, (*axes, *channel_axes))
        return call.reshape(transposed, (1, rows, 1, channels)), Window((rows, 1))
    image = as_image(call, layout_of(average), x)
    window = image_window(cast("NnAveragePool | RealAveragePool", op).window)
    return pad(call, image, window) if window.is_padded else (image, window)


@dataclass(frozen=True, slots=True)
class _Steps:
    """``clip(rescale(weight * sum + bias) + zero_point, low, high)`` of a sum of int8 values."""

    weight: int
    bias: int
    rescale: Rescale
    low: int
    high: int

    def values(self, sums: Int64, zero_point: int) -> Int64:
        """Return the int8 values of sums."""
        scaled = self.rescale.apply(self.weight * sums + self.bias) + zero_point
        return np.clip(scaled, self.low, self.high)


def append_stated(call: NodeConversion) -> Value | None:
    """Append an average whose rounding the float graph says and its own op does not do."""
    if call.stated is None or call.nearest is not Rounding.SINGLE or _count(call.node) is None:
        return None
    return append_stepped(call, call.node)


def append_stepped(call: NodeConversion, average: Node) -> Value | None:
    """Append a function of an average as the sum that it is rounded from; None if it is not one.

    Args:
        call: The node whose result is a function of the average.
        average: A node of :func:`averages_of`.
    """
    count = _count(average)
    if count is None or call.conversion.rounding is Rounding.DOUBLE:
        return None
    steps = _fit_steps(
        call, average.result, quant_of(call.conversion.values[average.operands[0]]), count
    )
    if steps is None:
        return None
    image, window = _image(call, average)
    line, ends = (steps.weight, steps.bias), (steps.low, steps.high)
    total = windows_sum(call, image, window, steps.rescale, line, ends)
    if isinstance(average.op, RealReduceMean):
        return call.reshape(total, average.types[0].static_shape)
    return from_image(call, layout_of(average), total)


def _fit_steps(call: NodeConversion, mean: Value, x: QuantParams, count: int) -> _Steps | None:
    """Return a function of a mean as steps of the sum, if it is that at every sum."""
    (scale,), (zero,) = x.scale, x.zero_point
    first, last = count * (-128 - zero), count * (127 - zero)
    if last - first > _MAX_SUMS:
        return None
    sums = np.arange(first, last + 1, dtype=np.int64)
    means = (sums * (scale / count)).astype(np.float32)
    results = evaluate_function(call.node.result, mean, means)
    if not np.isfinite(results).all():
        return None
    values = RealQuantize(quant=call.quant, ties=call.ties).evaluate(results)[0].astype(np.int64)
    (point,) = call.quant.zero_point
    for steps in _candidates(sums, values, results, call):
        if np.array_equal(steps.values(sums, point), values):
            return steps
    return None


def _candidates(
    sums: Int64, values: Int64, results: np.ndarray, call: NodeConversion
) -> Iterator[_Steps]:
    """Yield candidates for a function: a floor of sums, or a factor."""
    jumps = np.flatnonzero(np.diff(values)) + 1
    if len(jumps) < 2:
        return
    low, high = int(values.min()), int(values.max())
    begin, end = int(jumps[0]), int(jumps[-1])
    (scale,), (point,) = call.quant.scale, call.quant.zero_point
    period, rest = divmod(end - begin, len(jumps) - 1)
    if not rest and (np.diff(values)[jumps - 1] == 1).all():
        # Twice the sum, so that the middle between two ends of a floor is an integer.
        start = int(sums[begin]) - period * (int(values[begin]) - point)
        bias = -2 * start - (period - 1)
        yield _Steps(2, bias, rescale_of(0.5 / period, rounding=call.nearest), low, high)
    slope = float(results[end] - results[begin]) / (int(sums[end]) - int(sums[begin])) / scale
    if slope > 0:
        rescale = rescale_of(slope, rounding=call.nearest)
        yield _Steps(1, 0, rescale, low, high)
        yield _Steps(1, 0, turn_halves(rescale, call.ties, int(np.abs(sums).max())), low, high)
