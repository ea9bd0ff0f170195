"""Quantization of every value of a float network, from ranges that were measured or assumed.

Tests: tests/unit/passes/quantize/test_convert.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Protocol

from rlx.ops.nn import (
    NnAveragePool,
    NnClamp,
    NnDepthToSpace,
    NnFlatten,
    NnMaxPool,
    NnRelu,
    NnSpaceToDepth,
    NnSplit,
)
from rlx.ops.real import (
    RealAdd,
    RealAveragePool,
    RealMaxPool,
    RealReshape,
    RealReverse,
    RealSigmoid,
    RealSlice,
    RealTanh,
    RealTranspose,
)
from rlx.passes.quantize.known_ranges import known_params
from rlx.passes.quantize.rules.pool import is_mean
from rlx.passes.quantize.scheme import params_of, range_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Graph, Node, Op, QuantParams, Value
    from rlx.passes.quantize.intervals import Ends

MOVING: Final[tuple[type[Op], ...]] = (
    NnDepthToSpace, NnFlatten, NnMaxPool, NnSpaceToDepth, NnSplit, RealMaxPool, RealReshape,
    RealReverse, RealSlice, RealTranspose,
)  # fmt: skip
"""Ops whose result holds elements of the operand only."""

CLAMPING: Final[tuple[type[Op], ...]] = (NnRelu, NnClamp)
"""Activations that become the limits of the int8 range of the layer before."""

_REACH: Final[dict[type[Op], tuple[float, float]]] = {
    RealSigmoid: (0.5, math.log(255)),
    RealTanh: (0.0, math.atanh(127 / 128)),
}
"""Middle of a score, and the magnitude of its argument at which it is at its end."""

_MAX_RELATIVE_WIDTH: Final = 8
"""Width of a term, relative to the range that does not saturate a sum, from which it is limited."""


class Range(Protocol):
    """Range of a value's elements."""

    @property
    def ends(self) -> Ends:
        """Minimum and maximum."""

    def params(self, *, whole: bool, symmetric: bool) -> QuantParams:
        """Return the parameters of int8 values.

        Args:
            whole: Whether all elements are covered, or those that count.
            symmetric: Whether the zero point is 0.
        """


def activation_params(
    graph: Graph, ranges: Mapping[Value, Range], *, symmetric: bool = False
) -> dict[Value, QuantParams]:
    """Return the quantization of each value that has a range.

    Inputs keep their whole range: their elements are known, not computed. A layer that only an
    activation such as ReLU reads has the range of the activation's result.

    Args:
        graph: The float network.
        ranges: Range of each value.
        symmetric: Whether zero points are 0.
    """
    users, outputs, inputs = graph.users(), set(graph.outputs), set(graph.inputs)
    params: dict[Value, QuantParams] = {}
    of_end: dict[Value, QuantParams] = {}
    for value, range_ in ranges.items():
        node = value.node
        if keeps_quantization(node) and node.operands[0] in params:
            params[value] = params[node.operands[0]]
        elif (stated := known_params(value, symmetric=symmetric)) is not None:
            params[value] = stated
        else:
            end = value if value in inputs else clamped(value, users, outputs)
            if end not in of_end:
                end_range = ranges.get(end, range_)
                of_end[end] = end_range.params(whole=value in inputs, symmetric=symmetric)
            params[value] = of_end[end]
    _limit_terms(graph, params, users, outputs)
    _open_scores(graph, params, ranges, users)
    return params


def _open_scores(
    graph: Graph,
    params: dict[Value, QuantParams],
    ranges: Mapping[Value, Range],
    users: Mapping[Value, list[Node]],
) -> None:
    """Widen the range of a score's operand to a hit, or a miss, where the samples hold none.

    Only where the score leaves the network: gates within one keep the observed range.
    """
    for output in graph.outputs:
        score = _source(output)
        reach = _REACH.get(type(score.node.op))
        if reach is None or score not in ranges:
            continue
        (first, last), (middle, end) = ranges[score].ends, reach
        if first <= middle <= last and max(-first, last) >= 0.5:
            continue
        value = score.node.operands[0]
        while value in params and len(users[value]) == 1:
            low, high = range_of(params[value])
            params[value] = params_of(min(low, -end), max(high, end))
            if not isinstance(value.node.op, MOVING):
                break
            value = value.node.operands[0]


def _source(value: Value) -> Value:
    """Return the value whose elements a value holds in another shape."""
    while isinstance(value.node.op, MOVING):
        value = value.node.operands[0]
    return value


def _limit_terms(
    graph: Graph,
    params: dict[Value, QuantParams],
    users: Mapping[Value, list[Node]],
    outputs: set[Value],
) -> None:
    """Limit the ranges of terms of sums to values that do not saturate the sum alone.

    A computed mask of -1e9 would have steps of millions. Terms that are not much wider keep theirs.
    """
    for node in reversed(list(graph.op_nodes)):
        if not isinstance(node.op, RealAdd) or node.result not in params:
            continue
        for term, other in (node.operands, node.operands[::-1]):
            if (
                term not in params
                or other not in params
                or term in outputs
                or len(users[term]) != 1
            ):
                continue
            (low, high), (first, last) = range_of(params[node.result]), range_of(params[other])
            ends, useful = range_of(params[term]), (low - last, high - first)
            if ends[1] - ends[0] > _MAX_RELATIVE_WIDTH * (useful[1] - useful[0]):
                params[term] = params_of(max(ends[0], useful[0]), min(ends[1], useful[1]))


def keeps_quantization(node: Node) -> bool:
    """Whether the result of a node has the quantization of the operand."""
    averages = isinstance(node.op, NnAveragePool | RealAveragePool)
    return isinstance(node.op, MOVING) or (averages and not is_mean(node))


def clamped(value: Value, users: Mapping[Value, list[Node]], outputs: set[Value]) -> Value:
    """Return the result of the activations that alone read a value, or the value itself."""
    while value not in outputs and len(reading := users[value]) == 1:
        if not isinstance(reading[0].op, CLAMPING):
            break
        value = reading[0].result
    return value
