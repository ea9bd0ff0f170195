"""Scales of all values: given ones, carried through what only moves values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Input
from rlx.ops.nn import NnAveragePool
from rlx.ops.real import RealAveragePool, RealPad, RealQuantize
from rlx.quant.biases import biased_layers
from rlx.quant.functions import argument, only_clamps
from rlx.quant.intervals import interval
from rlx.quant.known import known, stays
from rlx.quant.observers import params_of
from rlx.quant.rules import RULES, boundary, pool, softmax
from rlx.quant.scheme import range_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rlx.ir import Graph, Node, QuantParams, Value
    from rlx.ops.real import Ties


@dataclass(frozen=True, slots=True)
class Needed:
    """The op nodes of a graph that are converted.

    Left out are those whose results are known, those within a function of one number, and layers
    whose bias is added behind them.

    Attributes:
        nodes: The nodes, in order.
        layers: For an addition that is the bias of a layer, the layer.
    """

    nodes: tuple[Node, ...]
    layers: Mapping[Node, Node]

    @staticmethod
    def of(graph: Graph) -> Needed:
        """Return the nodes that the outputs of ``graph`` depend on."""
        made = Needed((), biased_layers(graph))
        wanted = {o for o in graph.outputs if known(o) is None}
        found = []
        for node in reversed(list(graph.op_nodes)):
            if not wanted.isdisjoint(node.results):
                found.append(node)
                wanted.update(made.reads(node))
        return Needed(tuple(found[::-1]), made.layers)

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
        ties: Where halves go, if a model says so.
        constants: Ranges of constants that join the values.
        averages: Whether a member is an average of another.
    """

    members: list[Value]
    sources: list[Value]
    fixed: QuantParams | None = None
    ties: Ties | None = None
    constants: list[tuple[float, float]] = field(default_factory=list)
    averages: bool = False


@dataclass(slots=True)
class Resolver:
    """Finds the parameters of every value that is converted.

    Attributes:
        graph: The float graph, in ops that have rules.
        given: Parameters of values, from calibration.
        needed: The nodes that are converted.
    """

    graph: Graph
    given: Mapping[Value, QuantParams]
    needed: Needed
    _classes: dict[Value, _Class] = field(default_factory=dict)
    _readers: dict[Value, list[Node]] = field(default_factory=dict)
    _fixed: dict[Value, QuantParams] = field(default_factory=dict)
    _ties: dict[Value, Ties] = field(default_factory=dict)
    _found: dict[int, QuantParams] = field(default_factory=dict)
    clamped: set[Value] = field(default_factory=set)

    def resolve(self) -> tuple[dict[Value, QuantParams], list[Value]]:
        """Return the parameters of all float values, and the values that have none."""
        self._collect()
        for node in self.needed.nodes:
            self._link(node)
        for value in self._classes:
            self._choose(self._classes[value])
        for node in reversed(self.needed.nodes):
            self._take_range_of_clamp(node)
        missing = [v for v in self._classes if not self._derive(v)]
        found = {v: p for v, c in self._classes.items() if (p := self._found.get(id(c)))}
        return found, missing

    def ties(self) -> dict[Value, Ties]:
        """Return where halves of each value go, if the graph says so; after ``resolve``."""
        return {v: c.ties for v, c in self._classes.items() if c.ties is not None}

    def _collect(self) -> None:
        """Find out who reads what, and the parameters that nodes state."""
        values = [o for o in self.graph.outputs if known(o) is None]
        for node in self.needed.nodes:
            for value in self.needed.reads(node):
                self._readers.setdefault(value, []).append(node)
                values.append(value)
            values += node.results
            params = boundary.boundary_params(node)
            if params is not None:
                for value in (*node.operands, *node.results):
                    self._fixed.setdefault(value, params)
                    if isinstance(node.op, RealQuantize):
                        self._ties.setdefault(value, node.op.ties)
        for value in sorted(values, key=lambda v: (v.node.index, v.index)):
            if value.type.dtype.is_float or value in self._fixed:
                self._classes.setdefault(
                    value, _Class([value], [value], self._fixed.get(value), self._ties.get(value))
                )

    def _link(self, node: Node) -> None:
        """Join the values of a node that only moves them."""
        if (
            stays(node)
            or argument(node) is not None
            or not RULES[type(node.op)].shares
            or pool.is_mean(node)
        ):
            return
        for result in node.results:
            for operand in node.operands:
                numbers = known(operand)
                if numbers is None:
                    self._join(operand, result)
                else:
                    ends = float(numbers.min(initial=0)), float(numbers.max(initial=0))
                    self._classes[result].constants.append(ends)
            own = self._classes[result]
            own.averages |= isinstance(node.op, NnAveragePool | RealAveragePool)
            if isinstance(node.op, RealPad) and np.isfinite(node.op.value) and node.op.value:
                own.constants.append((min(node.op.value, 0.0), max(node.op.value, 0.0)))

    def _join(self, operand: Value, result: Value) -> None:
        """Put two values into one class, unless a model says different scales for them."""
        one, other = self._classes[operand], self._classes[result]
        if one is other or (one.fixed and other.fixed and one.fixed != other.fixed):
            return
        one.members += other.members
        one.sources += [v for v in other.sources if v != result]
        one.constants += other.constants
        one.fixed = one.fixed or other.fixed
        one.ties = one.ties or other.ties
        one.averages |= other.averages
        for member in other.members:
            self._classes[member] = one

    def _choose(self, own: _Class) -> None:
        """Choose what the members of a class stand for, if anything is given."""
        if id(own) in self._found:
            return
        if own.fixed is not None:
            self._found[id(own)] = own.fixed
            return
        given = [p for v in own.sources if (p := self._of_source(v))]
        if not given:
            given = [self.given[v] for v in own.members if v in self.given][:1]
        if given:
            self._found[id(own)] = _union(given, own.constants)

    def _of_source(self, value: Value) -> QuantParams | None:
        """Return what is given for a value, or by the op that makes it."""
        made = type(value.node.op)
        if made in RULES and RULES[made].lower is softmax.softmax:
            return softmax.SOFTMAX
        return self.given.get(value)

    def _take_range_of_clamp(self, node: Node) -> None:
        """Let a layer or input have the range of the clamp behind it, if nobody else reads it."""
        of = argument(node)
        if of is None or not only_clamps(node.result, of):
            return
        own, wanted = self._classes[of], self._found.get(id(self._classes[node.result]))
        if wanted is None or own.fixed or own.averages or own.constants or len(own.sources) != 1:
            return
        source = own.sources[0].node
        computes = argument(source) is None and type(source.op) in RULES
        if not isinstance(source.op, Input) and not (computes and RULES[type(source.op)].rescales):
            return
        inner = {v.node for v in own.members} | {node}
        outputs = set(self.graph.outputs)
        if any(v in outputs or not inner.issuperset(self._readers[v]) for v in own.members):
            return
        self._found[id(own)] = wanted
        own.ties = self._classes[node.result].ties
        self.clamped.update(own.members)

    def _derive(self, value: Value) -> bool:
        """Find bounds of a value without parameters from those that it is computed from."""
        own = self._classes[value]
        if id(own) in self._found:
            return True
        ends = interval(value, self._range)
        if ends is None:
            return False
        self._found[id(own)] = params_of(*ends)
        return True

    def _range(self, value: Value) -> tuple[float, float] | None:
        """Return the range of a value, if it is known."""
        own = self._classes.get(value)
        params = None if own is None else self._found.get(id(own))
        return None if params is None else range_of(params)


def _union(given: Sequence[QuantParams], more: Iterable[tuple[float, float]]) -> QuantParams:
    """Return parameters that cover all of ``given`` and further ranges; the same if one does."""
    ends = [*(range_of(p) for p in given), *more]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    for params in given:
        first, last = range_of(params)
        slack = params.scale[0] / 2
        if first - slack <= low and last + slack >= high:
            return params
    return params_of(low, high)
