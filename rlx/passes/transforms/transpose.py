"""Transposes of linear graphs: from the gradients of results to those of operands.

Tangents are linear in the tangents that they are computed from. A rule for each linear op
(``RULES``) maps the gradients of its results to those of its linear operands. Custom rules are
registered in the same table::

    @RULES.rule(MyLinearOp)
    def _my_op(op, call):
        (gradient,) = call.gradients
        return [gradient.apply(MyTransposedOp())]

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from rlx.ir import RuleTable
from rlx.ops.expression import Expression
from rlx.passes.transforms.formulas import or_zeros
from rlx.support.errors import UnsupportedOpError
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.ir import Graph, Node, TensorType, Value

Gradients: TypeAlias = "Sequence[Expression | None]"


@dataclass(frozen=True, slots=True)
class TransposeCall:
    """Linear node whose transpose a rule appends.

    Attributes:
        node: The node, in the linear graph.
        graph: The graph to which the transpose is appended.
        operands: The operands in that graph; None for those in which the node is linear.
        gradients: Gradient of each result, of its type; None for zeros, not all of them.
    """

    node: Node
    graph: Graph
    operands: tuple[Expression | None, ...]
    gradients: tuple[Expression | None, ...]

    @property
    def types(self) -> tuple[TensorType, ...]:
        """Types of the operands."""
        return tuple(o.type for o in self.node.operands)

    @property
    def gradient(self) -> Expression:
        """The gradient of the only result."""
        (gradient,) = self.gradients
        assert gradient is not None
        return gradient

    def filled(self, index: int) -> Expression:
        """Return the gradient of a result, zeros for None."""
        return or_zeros(self.gradients[index], self.graph, self.node.types[index])

    def refuse(self, reason: str) -> UnsupportedOpError:
        """Return (not raise) the error for a node that cannot be transposed."""
        return UnsupportedOpError(
            f"{self.node.op.name} ({self.node.label}) has no reverse-mode derivative: {reason}",
            hint=RULES.hint,
        )


TransposeRule: TypeAlias = "Callable[[Any, TransposeCall], Gradients]"

RULES: RuleTable[TransposeRule] = RuleTable(
    "transpose",
    hint=(
        "use forward mode (jvp, jacfwd), apply stop_gradient to its operands, or register a rule"
        " for your own op in rlx.passes.transforms.transpose.RULES"
    ),
)
"""Rule of each linear op, ``rule(op, call)``: the gradient of each operand, None for zeros."""


def dependent_nodes(graph: Graph, values: Sequence[Value]) -> list[Node]:
    """Return the nodes that depend on ``values``, in order."""
    reached = set(values)
    terms = []
    for node in graph.nodes:
        if any(o in reached for o in node.operands):
            terms.append(node)
            reached.update(node.results)
    return terms


def transpose(
    nodes: Sequence[Node],
    linear: Sequence[Value],
    gradients: Mapping[Value, Expression],
    values: Mapping[Value, Value],
    graph: Graph,
) -> list[Expression | None]:
    """Append the transpose of linear nodes to a graph.

    Args:
        nodes: The nodes that depend on ``linear``, in order.
        linear: Values in which they are linear.
        gradients: Gradients of results, in ``graph``.
        values: Value in ``graph`` of each operand that does not depend on ``linear``.
        graph: The graph to append to.

    Returns:
        The gradient of each value of ``linear``, None for zeros.

    Raises:
        UnsupportedOpError: An op has no transpose.
    """
    _check_rules(nodes)
    totals = dict(gradients)
    tangents = set(linear).union(*(node.results for node in nodes))
    for node in reversed(nodes):
        results = tuple(totals.get(r) for r in node.results)
        if all(g is None for g in results):
            continue
        graph.set_defaults(node.name, node.origin.through("vjp"))
        operands = tuple(
            None if o in tangents else Expression(graph, values[o]) for o in node.operands
        )
        call = TransposeCall(node, graph, operands, results)
        terms = RULES[type(node.op)](node.op, call)
        for operand, gradient in zip(node.operands, terms, strict=True):
            if gradient is not None and operand in tangents:
                _add(totals, node, operand, gradient)
    graph.set_defaults()
    return [totals.get(v) for v in linear]


def _check_rules(nodes: Sequence[Node]) -> None:
    """Raise UnsupportedOpError, which names every node whose op has no rule."""
    refused = [n for n in nodes if type(n.op) not in RULES]
    if refused:
        reasons = [f"{n.op.name} at {n.label} ({RULES.reason(type(n.op))})" for n in refused]
        count = counted(len(refused), "op")
        raise UnsupportedOpError(
            f"no reverse-mode derivative of {count}: {'; '.join(reasons)}", hint=RULES.hint
        )


def _add(totals: dict[Value, Expression], node: Node, operand: Value, gradient: Expression) -> None:
    """Add a gradient of an operand to the others."""
    if gradient.shape != operand.type.shape or gradient.dtype is not operand.type.dtype:
        raise AssertionError(
            f"the transpose rule of {node.op.name} made {gradient.type} of {operand.type}"
        )
    before = totals.get(operand)
    totals[operand] = gradient if before is None else before + gradient
