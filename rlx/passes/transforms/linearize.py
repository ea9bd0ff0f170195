"""Tangents: how the values of a graph change with its inputs.

A rule for each op (``RULES``) appends the tangents of its results. Layers (``nn.*``) without a rule
are decomposed first. Custom rules are registered in the same table::

    @RULES.rule(MyOp)
    def _my_op(op, call):
        (x,), (t,) = call.operands, call.tangents
        return [t * x.exp()]

Tangents must be linear functions of the tangents they are computed from: reverse mode transposes
them (``transpose``).

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from rlx.ir import Origin, Rewriter, RuleTable
from rlx.ir.graph import Source
from rlx.ops.expression import Expression
from rlx.passes.decompose import Decompose
from rlx.passes.transforms.formulas import or_zeros
from rlx.support.errors import UnsupportedOpError, UsageError
from rlx.support.text.suggest import did_you_mean
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rlx.ir import Graph, Node, Op, TensorType, Value

Tangents: TypeAlias = "Sequence[Expression | None]"


@dataclass(frozen=True, slots=True)
class JvpCall:
    """Node whose tangents a rule computes.

    Attributes:
        node: The node, in the graph to which tangents are appended.
        graph: That graph.
        tangents: Tangent of each operand, of its type; None for zeros.
        replacements: New values of the node's results, where a rule computes them otherwise.
    """

    node: Node
    graph: Graph
    tangents: tuple[Expression | None, ...]
    replacements: list[Value]

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The operands."""
        return tuple(Expression(self.graph, o) for o in self.node.operands)

    @property
    def results(self) -> tuple[Expression, ...]:
        """The results."""
        return tuple(Expression(self.graph, r) for r in self.node.results)

    def filled(self, index: int) -> Expression:
        """Return the tangent of an operand, zeros for None."""
        type_ = self.node.operands[index].type
        return or_zeros(self.tangents[index], self.graph, type_)

    def refuse(self, reason: str) -> UnsupportedOpError:
        """Return (not raise) the error for a node whose attributes allow no derivative."""
        return UnsupportedOpError(
            f"{self.node.op.name} ({self.node.label}) has no derivative: {reason}", hint=HINT
        )


JvpRule: TypeAlias = "Callable[[Any, JvpCall], Tangents]"

HINT = (
    "apply stop_gradient to its operand to take it as a constant, or register a rule for your own"
    " op in rlx.passes.transforms.linearize.RULES"
)

RULES: RuleTable[JvpRule] = RuleTable("jvp", hint=HINT)
"""Rule of each op, ``rule(op, call)``: the tangent of each result, None for zeros."""

CONSTANT_OPS: set[type[Op]] = set()
"""Ops whose derivative is zero wherever it exists; their operands need no derivative."""


def zero_derivative(*ops: type[Op]) -> None:
    """Declare ops whose derivative is zero wherever it exists."""
    CONSTANT_OPS.update(ops)
    RULES.rule(*ops)(_zeros)


def _zeros(op: Op, call: JvpCall) -> Tangents:
    del op
    return [None] * len(call.node.types)


class Linearized:
    """A graph with the tangents of its values, in the making.

    Attributes:
        source: The graph that is differentiated, without layers that have no rule.
        graph: The new graph: the nodes of ``source``, and tangents.
        inputs: Tangents of the differentiated sources.
    """

    def __init__(self, graph: Graph, wrt: Sequence[Value], outputs: Sequence[Value]) -> None:
        """Append the tangents.

        Args:
            graph: A graph that :func:`prepared` returned.
            wrt: Its sources with a tangent.
            outputs: Values whose tangents are needed.

        Raises:
            UnsupportedOpError: Ops between ``wrt`` and ``outputs`` have no derivative.
        """
        self.source = graph
        active = active_nodes(graph, wrt, outputs)
        self._tangents: dict[Value, Value] = {}
        sources = [n for n in graph.nodes if isinstance(n.op, Source)]
        op_nodes = [n for n in graph.nodes if not isinstance(n.op, Source)]
        self._rewriter = Rewriter(graph, by="jvp", nodes=[*sources, *op_nodes])
        self.graph = self._rewriter.new
        self.inputs: tuple[Value, ...] = ()
        waiting = len(sources)
        for node in self._rewriter:
            if not waiting:
                self._add_inputs(wrt)
            waiting -= 1
            if node in active:
                self._differentiate(node)
        if waiting >= 0:
            self._add_inputs(wrt)

    def _add_inputs(self, wrt: Sequence[Value]) -> None:
        if self.inputs:
            return
        used = {v.name for v in (*self.source.inputs, *self.source.params)}
        self.inputs = tuple(
            self.graph.input(free_name(v.name, used), v.type, origin=Origin()) for v in wrt
        )
        self._tangents.update(zip(wrt, self.inputs, strict=True))

    def _differentiate(self, node: Node) -> None:
        """Keep a node and append the tangents of its results."""
        tangents = tuple(self.tangent(o) for o in node.operands)
        if all(t is None for t in tangents):
            return
        node_copy = self._rewriter.keep(node)
        call = JvpCall(node_copy, self.graph, tangents, [])
        results = RULES[type(node.op)](node.op, call)
        for old, tangent in zip(node.results, results, strict=True):
            if tangent is not None:
                _check_type(node, old.type, tangent)
                self._tangents[old] = tangent.value
        if call.replacements:
            self._rewriter.replace(node, *call.replacements)

    def __getitem__(self, value: Value) -> Value:
        """Return the new value of a value of ``source``."""
        return self._rewriter[value]

    def tangent(self, value: Value) -> Expression | None:
        """Return the tangent of a value of ``source``, None for zeros."""
        tangent = self._tangents.get(value)
        return None if tangent is None else Expression(self.graph, tangent)


def _check_type(node: Node, type_: TensorType, tangent: Expression) -> None:
    """Raise AssertionError if the rule of a node made a tangent of another type."""
    if (tangent.shape, tangent.dtype) != (type_.shape, type_.dtype):
        raise AssertionError(
            f"the jvp rule of {node.op.name} made {tangent.type} of {type_} at {node.label}"
        )


def free_name(name: str, used: set[str]) -> str:
    """Return the name of a derivative by the value ``name``, ``d_NAME``; and mark it as used."""
    derivative = f"d_{name}"
    while derivative in used:
        derivative = f"d_{derivative}"
    used.add(derivative)
    return derivative


def free_names(names: Iterable[str], used: Iterable[str]) -> list[str]:
    """Return the names of derivatives by the values called ``names``, none of them in ``used``."""
    marked = set(used)
    return [free_name(name, marked) for name in names]


def prepared(graph: Graph) -> Graph:
    """Return a graph with the layers decomposed that have no rule."""
    return Decompose(kept_ops=RULES).apply(graph)


def active_nodes(graph: Graph, wrt: Sequence[Value], outputs: Sequence[Value]) -> set[Node]:
    """Return the nodes through which ``outputs`` depend on ``wrt`` by derivatives.

    Raises:
        UnsupportedOpError: Some of them have no derivative; the message names all.
    """
    reached = set(wrt)
    for node in graph.nodes:
        if type(node.op) not in CONSTANT_OPS and any(o in reached for o in node.operands):
            reached.update(node.results)
    needed = set(outputs)
    active: set[Node] = set()
    for node in reversed(graph.nodes):
        if any(r in needed and r in reached for r in node.results) and node.operands:
            active.add(node)
            needed.update(o for o in node.operands if o in reached)
    _check_rules(node for node in graph.nodes if node in active)
    return active


def _check_rules(nodes: Any) -> None:  # noqa: ANN401 - an iterator of nodes
    """Raise UnsupportedOpError, which names every node whose op has no rule."""
    labels: dict[type[Op], list[str]] = {}
    for node in nodes:
        if type(node.op) not in RULES:
            labels.setdefault(type(node.op), []).append(node.label)
    if not labels:
        return
    lines = [f"{op.name} at {', '.join(p)} ({RULES.reason(op)})" for op, p in labels.items()]
    count = counted(sum(map(len, labels.values())), "op")
    raise UnsupportedOpError(f"no derivative of {count}: {'; '.join(lines)}", hint=HINT)


def sources_of(graph: Graph, wrt: Sequence[str] | str | None) -> tuple[Value, ...]:
    """Return the inputs and parameters of the given names, by default every float input.

    Raises:
        UsageError: There is none of that name, or it does not hold floats.
    """
    sources = {v.name: v for v in (*graph.run_inputs, *graph.params)}
    if wrt is None:
        floats = tuple(v for v in graph.run_inputs if v.type.dtype.is_float)
        if not floats:
            raise UsageError(
                f"graph {graph.name!r} has no floating-point input to differentiate by",
                hint="differentiate the float network before it is quantized, or name parameters",
            )
        return floats
    names = [wrt] if isinstance(wrt, str) else list(wrt)
    for name in names:
        _check_source(graph, name, sources)
    if len(set(names)) != len(names) or not names:
        raise UsageError(
            f"expected distinct names of inputs or parameters, got {names}",
            hint=f"name each once: {', '.join(sources)}",
        )
    return tuple(sources[name] for name in names)


def _check_source(graph: Graph, name: str, sources: Mapping[str, Value]) -> None:
    """Raise UsageError unless a source of this name holds floats."""
    if name not in sources:
        raise UsageError(
            f"graph {graph.name!r} has no input or parameter {name!r}",
            hint=did_you_mean(name, sorted(sources), what="inputs and parameters"),
        )
    if not sources[name].type.dtype.is_float:
        raise UsageError(
            f"cannot differentiate by {name!r}: expected floats, got {sources[name].type}",
            hint="differentiate by floating-point inputs and parameters only",
        )


def float_outputs(graph: Graph) -> dict[str, Value]:
    """Return the floating-point outputs by name, without the next values of states.

    Raises:
        UsageError: There is none.
    """
    floats = {name: v for name, v in graph.run_outputs if v.type.dtype.is_float}
    if not floats:
        listed = "; ".join(
            f"{name!r} is {v.type}, the result of {v.node.op.name} at {v.node.label}"
            for name, v in graph.run_outputs
        )
        raise UsageError(
            f"graph {graph.name!r} has no floating-point output to differentiate: {listed}",
            hint="differentiate the float network before it is quantized; integers are constants"
            " to derivatives, as if stop_gradient were applied to them",
        )
    return floats
