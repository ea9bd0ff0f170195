"""Round halves up where they are not reached, so that targets can use their cheapest form.

Likewise replace float32 factors by fixed-point ones, where no product is rounded to a half.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import numpy as np

from rlx.ir import RuleTable, rebuild
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.numerics.float32 import fixed_point_form
from rlx.ops.numerics.halves import Accumulators, rounds_up
from rlx.ops.q import (
    CODE_RANGE,
    QAdd,
    QConv2d,
    QConvert,
    QDense,
    QMean,
    QMul,
    QPrelu,
    QRequantize,
    QSub,
    computes_int16,
)
from rlx.ops.shapes import normalize_axes
from rlx.passes.base import Pass
from rlx.passes.ranges import channel_ranges, sum_range

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.ir import Array, Graph, Node, Op, Value
    from rlx.passes.ranges import Range

    Rule = Callable[[Node, Mapping[Value, Range]], bool]

_FACTORS: Final = ("x_rescale", "y_rescale", "slope_rescale", "rescale")

_REACHED: RuleTable[Rule] = RuleTable("halves")
"""Rules that tell whether a node with factors computes the same if halves are rounded up."""


@dataclass(frozen=True, slots=True)
class RoundHalvesUp(Pass):
    """Halves to even or odd integers become halves up in ops that compute the same either way.

    Factors in float32 become fixed-point ones in layers that compute the same with them. Proven for
    each node from its factors and the range of its accumulators.
    """

    name: ClassVar[str] = "round-halves-up"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph with cheaper factors."""
        nodes = [
            n
            for n in graph.op_nodes
            if (_to_parity(n.op) or _in_float32(n.op)) and not computes_int16(n)
        ]
        if not nodes:
            return graph
        ranges = channel_ranges(graph)
        cheaper = {node: op for node in nodes if (op := _cheaper(node, ranges)) is not node.op}

        def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
            if node not in cheaper:
                return None
            return [new.apply(cheaper[node], *operands, quant=node.types[0].quant)]

        return rebuild(graph, visit, by=self.name)


def _to_parity(op: Op) -> tuple[str, ...]:
    """Return the names of the factors that round halves to even or to odd integers."""
    own = ((name, getattr(op, name, None)) for name in _FACTORS)
    return tuple(
        name for name, f in own if isinstance(f, Rescale) and f.rounding.to_parity is not None
    )


def _up(op: Op, names: Sequence[str]) -> Op:
    """Return an op with some factors that round halves up."""
    factors = {n: replace(getattr(op, n), rounding=Rounding.SINGLE) for n in names}
    return cast("Op", replace(cast("Any", op), **factors))


def _cheaper(node: Node, ranges: Mapping[Value, Range]) -> Op:
    """Return the op with as many factors as possible rounding halves up."""
    names = _to_parity(node.op)
    if _in_float32(node.op):
        return _in_fixed_point(node, ranges)
    if type(node.op) not in _REACHED:
        return node.op
    if _REACHED[type(node.op)](node, ranges):
        return _up(node.op, names)
    inner = [n for n in names if n != "rescale"]
    if isinstance(node.op, QAdd) and inner:
        scaled = _up(node.op, inner)
        return scaled if _same(node, scaled, ranges) else node.op
    return node.op


@_REACHED.rule(QAdd, QSub, QMul, QRequantize, QConvert, QPrelu)
def _elementwise(node: Node, ranges: Mapping[Value, Range]) -> bool:
    return _same(node, _up(node.op, _to_parity(node.op)), ranges)


def _same(node: Node, other: Op, ranges: Mapping[Value, Range]) -> bool:
    """Return whether two elementwise ops agree for all operands that there can be."""
    first, *rest = [_values(o, ranges) for o in node.operands]
    if isinstance(node.op, QPrelu):
        operands = [first.reshape(-1, 1), *rest]
    else:
        operands = [first.reshape(-1, *(1,) * len(rest)), *rest]
    return all(
        np.array_equal(a, b)
        for a, b in zip(node.op.evaluate(*operands), other.evaluate(*operands), strict=True)
    )


def _values(value: Value, ranges: Mapping[Value, Range]) -> Array:
    """Return every number of an operand: its constants, or all within its range."""
    if value.constant is not None:
        return np.unique(value.constant)
    dtype = value.type.dtype
    low, high = ranges[value].union() if value in ranges else CODE_RANGE[dtype]
    return np.arange(low, high + 1).astype(dtype.numpy)


@_REACHED.rule(QMean)
def _mean(node: Node, ranges: Mapping[Value, Range]) -> bool:
    op, x = node.op, node.operands[0]
    assert isinstance(op, QMean)
    shape = x.type.static_shape
    count = int(np.prod([shape[a] for a in normalize_axes(op, op.axes, len(shape))]))
    low, high = (count * (end - op.x_zero_point) for end in ranges[x].union())
    ends = op.low - op.zero_point, op.high - op.zero_point
    return rounds_up(op.rescale, 0, Accumulators(low, high), ends)


def _in_float32(op: Op) -> bool:
    """Return whether a layer scales its sums by float32 factors."""
    return isinstance(op, QConv2d | QDense) and op.rescale.rounding is Rounding.FLOAT32


def _in_fixed_point(node: Node, ranges: Mapping[Value, Range]) -> Op:
    """Return a layer with fixed-point factors, if there are any with the same results."""
    op, sums = node.op, _sums(node, ranges)
    assert isinstance(op, QConv2d | QDense)
    form = sums and fixed_point_form(op.rescale, sums, _ends(op))
    return replace(op, rescale=form) if form else op


def _ends(op: QConv2d | QDense) -> tuple[int, int]:
    """Return the minimum and maximum of a layer's results less the zero point."""
    return op.low - op.zero_point, op.high - op.zero_point


def _sums(node: Node, ranges: Mapping[Value, Range]) -> list[Accumulators]:
    """Return the possible sums of each channel; none if weights or bias are computed."""
    sums = sum_range(node, ranges[node.operands[0]])
    weights, bias = (operand.constant for operand in node.operands[1:])
    if sums is None or weights is None or bias is None:
        return []
    # A term is a weight times any integer, so that sums are the bias and multiples of the divisor.
    steps = np.gcd.reduce(weights.reshape(len(weights), -1).astype(np.int64), axis=1)
    columns = zip(sums.low.tolist(), sums.high.tolist(), bias.tolist(), steps.tolist(), strict=True)
    return [Accumulators(*own) for own in columns]


@_REACHED.rule(QConv2d, QDense)
def _layer(node: Node, ranges: Mapping[Value, Range]) -> bool:
    op, sums = node.op, _sums(node, ranges)
    assert isinstance(op, QConv2d | QDense)
    single = op.rescale.channels == 1
    return bool(sums) and all(
        rounds_up(op.rescale, 0 if single else channel, own, _ends(op))
        for channel, own in enumerate(sums)
    )
