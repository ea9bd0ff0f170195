"""Scales of all values: given ones, carried through nodes that only move values.

Tests: tests/unit/passes/quantize/test_boundaries.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import Input
from rlx.ops.nn import NnMaxPool
from rlx.ops.real import (
    RealArgmax,
    RealArgmin,
    RealMaximum,
    RealMaxPool,
    RealMinimum,
    RealPad,
    RealQuantize,
    RealReduceMax,
    RealReduceMin,
)
from rlx.passes.quantize.biases import biased_layers, normalized_layers
from rlx.passes.quantize.functions import argument, only_clamps
from rlx.passes.quantize.intervals import exact_params, interval
from rlx.passes.quantize.known import known, stays
from rlx.passes.quantize.rules import RULES, boundary, pool, softmax
from rlx.passes.quantize.scheme import params_of, range_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rlx.ir import Array, Graph, Node, Op, QuantParams, Value
    from rlx.ops.real import Ties
    from rlx.passes.quantize.intervals import Ends


@dataclass(frozen=True, slots=True)
class Needed:
    """The op nodes of a graph that are converted.

    Left out are those whose results are known, those within a unary function, and layers whose bias
    is added after them.

    Attributes:
        nodes: The nodes, in order.
        layers: For an addition that is the bias of a layer, or a normalization of its channels, the
            layer.
    """

    nodes: tuple[Node, ...]
    layers: Mapping[Node, Node]

    @staticmethod
    def of(graph: Graph) -> Needed:
        """Return the nodes that the outputs of ``graph`` depend on."""
        layers_only = Needed((), normalized_layers(graph) | biased_layers(graph))
        live = {o for o in graph.outputs if known(o) is None}
        nodes = []
        for node in reversed(list(graph.op_nodes)):
            if not live.isdisjoint(node.results):
                nodes.append(node)
                live.update(layers_only.reads(node))
        return Needed(tuple(nodes[::-1]), layers_only.layers)

    def reads(self, node: Node) -> tuple[Value, ...]:
        """Return the values whose quantized values a node is computed from."""
        of = argument(node)
        if of is not None:
            return (of,)
        layer = self.layers.get(node, node)
        return tuple(o for o in layer.operands if known(o) is None)


@dataclass(slots=True)
class _Class:
    """Values that share one scale and zero point.

    Attributes:
        members: The values.
        sources: Those that are computed, not moved from another member.
        fixed: Parameters that a model says; None if they may be chosen.
        ties: Rounding of halves, if a model says so.
        constants: Ranges of constants that join the values.
        masks: Constants that are never the extreme, such as the lowest float before a maximum.
    """

    members: list[Value]
    sources: list[Value]
    fixed: QuantParams | None = None
    ties: Ties | None = None
    constants: list[Ends] = field(default_factory=list)
    masks: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Resolver:
    """Finds the parameters of every value that is converted.

    Attributes:
        graph: The float graph, in ops that have rules.
        calibrated: Parameters of values, from calibration.
        needed: The nodes that are converted.
        clamped: Values that are computed into the range of the clamp after them.
        bounded: Values whose range was derived from those of their operands.
    """

    graph: Graph
    calibrated: Mapping[Value, QuantParams]
    needed: Needed
    _classes: dict[Value, _Class] = field(default_factory=dict)
    _readers: dict[Value, list[Node]] = field(default_factory=dict)
    _fixed: dict[Value, QuantParams] = field(default_factory=dict)
    _ties: dict[Value, Ties] = field(default_factory=dict)
    _found: dict[int, QuantParams] = field(default_factory=dict)
    _ends: dict[Value, Ends] = field(default_factory=dict)
    clamped: set[Value] = field(default_factory=set)
    bounded: list[Value] = field(default_factory=list)

    def resolve(self) -> tuple[dict[Value, QuantParams], list[Value]]:
        """Return the parameters of all float values, and the values that have none."""
        self._collect()
        for node in self.needed.nodes:
            self._link(node)
        for value in self._classes:
            self._choose(self._classes[value])
        for node in reversed(self.needed.nodes):
            # Of several clamps in a row the last one decides.
            self._take_range_of_clamp(node)
        for value in self._classes:
            # In order: bounds follow from those of the operands.
            self._bound(value)
        missing = [v for v in self._classes if not self._derive(v)]
        params = {v: p for v, c in self._classes.items() if (p := self._found.get(id(c)))}
        return params, missing

    def ties(self) -> dict[Value, Ties]:
        """Return the rounding of halves of each value, if the graph says so; after ``resolve``."""
        return {v: c.ties for v, c in self._classes.items() if c.ties is not None}

    def _collect(self) -> None:
        """Collect the readers of values, and the parameters that nodes state."""
        values = [o for o in self.graph.outputs if known(o) is None]
        for node in self.needed.nodes:
            for value in self.needed.reads(node):
                self._readers.setdefault(value, []).append(node)
                values.append(value)
            values += node.results
            for value, params in boundary.stated_params(node).items():
                self._fixed.setdefault(value, params)
                if isinstance(node.op, RealQuantize):
                    self._ties.setdefault(value, node.op.ties)
        self._fix_moved_integers()
        for value in sorted(values, key=lambda v: (v.node.index, v.index)):
            if value.type.dtype.is_float or value in self._fixed:
                self._classes.setdefault(
                    value, _Class([value], [value], self._fixed.get(value), self._ties.get(value))
                )

    def _fix_moved_integers(self) -> None:
        """Give integers that are moved before they are dequantized the same parameters."""
        for node in reversed(self.needed.nodes):
            params = next((self._fixed[r] for r in node.results if r in self._fixed), None)
            if params is None or not stays(node) or type(node.op) not in RULES:
                continue
            if RULES[type(node.op)].shares:
                self._fixed |= dict.fromkeys(self.needed.reads(node), params)

    def _link(self, node: Node) -> None:
        """Join the values of a node that only moves them.

        Saturation and rounding to a scale may be done before such a node as well as after it. Not
        so with an average, whose operands keep a range of their own.
        """
        if not moves(node):
            return
        for result in node.results:
            for operand in node.operands:
                numbers = known(operand)
                if numbers is None:
                    self._join(operand, result)
                else:
                    self._classes[result].constants.append(_ends_beside(node, numbers))
            if isinstance(node.op, RealPad):
                result_class, number = self._classes[result], float(node.op.value)
                if self._masks(result, number):
                    result_class.masks.append(number)
                else:
                    result_class.constants.append(_ends_beside(node, np.array([number])))

    def _masks(self, value: Value, number: float) -> bool:
        """Return whether a constant among a value's elements, such as -inf, is never an extreme."""
        outputs, readers = set(self.graph.outputs), self._readers
        return only_extremes(value, number, outputs, lambda v: readers.get(v, ()))

    def _join(self, operand: Value, result: Value) -> None:
        """Put two values into one class, unless a model says different scales for them."""
        merged, other = self._classes[operand], self._classes[result]
        if merged is other or (merged.fixed and other.fixed and merged.fixed != other.fixed):
            return
        merged.members += other.members
        merged.sources += [v for v in other.sources if v != result]
        merged.constants += other.constants
        merged.masks += other.masks
        merged.fixed = merged.fixed or other.fixed
        merged.ties = merged.ties or other.ties
        for member in other.members:
            self._classes[member] = merged

    def _choose(self, value_class: _Class) -> None:
        """Choose the parameters of the members of a class, if any are given."""
        if id(value_class) in self._found:
            return
        if value_class.fixed is not None:
            self._found[id(value_class)] = value_class.fixed
            return
        source_params = [p for v in value_class.sources if (p := self._of_source(v))]
        if not source_params:
            source_params = [
                self.calibrated[v] for v in value_class.members if v in self.calibrated
            ][:1]
        if source_params:
            low, high = _hull([range_of(p) for p in source_params])
            # One that is farther away than the range is wide says nothing of the other elements.
            near = [(m, m) for m in value_class.masks if low - (high - low) <= m <= 2 * high - low]
            self._found[id(value_class)] = _union(source_params, [*value_class.constants, *near])

    def _of_source(self, value: Value) -> QuantParams | None:
        """Return the parameters given for a value, or by the op that makes it."""
        made = type(value.node.op)
        if made in RULES and RULES[made].lower is softmax.softmax:
            return softmax.SOFTMAX
        if pool.is_average(value.node) and not pool.is_mean(value.node):
            # With the scale of the operand it is q.avg_pool2d.
            return self._found.get(id(self._classes[value.node.operands[0]]))
        return self.calibrated.get(value)

    def _take_range_of_clamp(self, node: Node) -> None:
        """Let a layer or input have the range of the clamp after it, if nobody else reads it."""
        of = argument(node)
        if of is None or not only_clamps(node.result, of):
            return
        layer_class = self._classes[of]
        clamp_params = self._found.get(id(self._classes[node.result]))
        if clamp_params is None or layer_class.fixed or layer_class.constants:
            return
        if len(layer_class.sources) != 1:
            return
        if not self._takes_any_range(layer_class.sources[0].node, self._classes[node.result]):
            return
        inner = {v.node for v in layer_class.members} | {node}
        outputs = set(self.graph.outputs)
        if any(v in outputs or not inner.issuperset(self._readers[v]) for v in layer_class.members):
            return
        self._found[id(layer_class)] = clamp_params
        layer_class.ties = self._classes[node.result].ties
        self.clamped.update(layer_class.members)

    def _takes_any_range(self, source: Node, clamp: _Class) -> bool:
        """Return whether a node can compute into any requested range."""
        if isinstance(source.op, Input):
            return True
        if argument(source) is not None or type(source.op) not in RULES:
            return False
        averages = clamp.fixed is not None and pool.is_average(source)
        return RULES[type(source.op)].rescales or averages

    def _bound(self, value: Value) -> None:
        """Find bounds of a value from those that it is computed from, or those of its scale."""
        value_class = self._classes[value]
        params = self._found.get(id(value_class))
        if params is not None:
            self._ends[value] = range_of(params)
            return
        ends: Ends | None
        if value.node in self.needed.layers:
            ends = interval(value, lambda v: self._ends.get(v) or self._of_layer(v))
        elif moves(value.node):
            operand_ends = [self._ends.get(o) for o in value.node.operands if known(o) is None]
            known_ends = [e for e in operand_ends if e is not None]
            complete = len(known_ends) == len(operand_ends)
            ends = _hull([*value_class.constants, *known_ends]) if complete else None
        else:
            ends = interval(value, self._ends.get)
        if ends is not None:
            self._ends[value] = ends

    def _of_layer(self, value: Value) -> Ends | None:
        """Return bounds of a layer without the nodes after it."""
        if value in self._classes:
            return None
        return interval(value, lambda v: self._ends.get(v) or self._of_layer(v))

    def _derive(self, value: Value) -> bool:
        """Choose parameters that cover the bounds of a class that has none."""
        value_class = self._classes[value]
        if id(value_class) in self._found:
            return True
        ends = [self._ends.get(v) for v in value_class.members]
        if None in ends:
            return False
        exact = self._lattice(value_class)
        if exact is None:
            self.bounded += value_class.sources
        self._found[id(value_class)] = exact or params_of(*_hull([e for e in ends if e]))
        return True

    def _lattice(self, value_class: _Class) -> QuantParams | None:
        """Return parameters that hold a function's results to the bit, if there are any."""
        (first, *more), of = value_class.sources, argument(value_class.sources[0].node)
        if more or value_class.constants or of is None or of not in self._classes:
            return None
        params = self._found.get(id(self._classes[of]))
        return None if params is None else exact_params(first, of, params)


def moves(node: Node) -> bool:
    """Return whether the results of a node hold elements of its operands."""
    if stays(node) or argument(node) is not None or type(node.op) not in RULES:
        return False
    return RULES[type(node.op)].shares


def only_extremes(
    value: Value, number: float, outputs: set[Value], readers: Callable[[Value], Iterable[Node]]
) -> bool:
    """Return whether only a value's largest elements count, or its smallest if number is above 0.

    Args:
        value: The value.
        number: A constant among its elements.
        outputs: Values that leave the graph.
        readers: Returns the nodes that read a value.
    """
    ops: tuple[type[Op], ...] = _MINIMUM_OPS if number > 0 else _MAXIMUM_OPS
    reading = list(readers(value))
    return bool(reading and number and value not in outputs) and all(
        isinstance(n.op, ops)
        or (
            moves(n)
            and not isinstance(n.op, (*_MAXIMUM_OPS, *_MINIMUM_OPS))
            and all(only_extremes(r, number, outputs, readers) for r in n.results)
        )
        for n in reading
    )


_MAXIMUM_OPS: Final = (NnMaxPool, RealMaxPool, RealReduceMax, RealArgmax, RealMaximum)
_MINIMUM_OPS: Final = (RealReduceMin, RealArgmin, RealMinimum)
"""Ops of whose operands only the largest, or the smallest, elements count."""


def _ends_beside(node: Node, numbers: Array) -> Ends:
    """Return the range of constants that join computed values.

    Of a maximum none is smaller than the computed values, and likewise of a minimum.
    """
    finite = numbers[np.isfinite(numbers)]
    low, high = float(finite.min(initial=0)), float(finite.max(initial=0))
    if isinstance(node.op, RealMaximum):
        return 0.0, high
    return (low, 0.0) if isinstance(node.op, RealMinimum) else (low, high)


def _hull(ends: Sequence[Ends]) -> Ends:
    return min(low for low, _ in ends), max(high for _, high in ends)


def _union(candidates: Sequence[QuantParams], more: Iterable[Ends]) -> QuantParams:
    """Return parameters for all ranges of ``candidates`` and ``more``: a candidate if one does."""
    ends = [*(range_of(p) for p in candidates), *more]
    low, high = _hull(ends)
    for params in candidates:
        first, last = range_of(params)
        slack = params.scale[0] / 2
        if first - slack <= low and last + slack >= high:
            return params
    return params_of(low, high)
