"""Fit a graph to a target or backend: the one engine for both.

Each node is claimed unchanged, rewritten as another op, decomposed one step (and its parts are
asked for in turn), or refused. A node that cannot be fitted is left unchanged, and the report says
why.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import numpy as np

from rlx.ir import Graph, Node, Refusal, Rewriter, RuleTable, Value
from rlx.ir.regions import all_nodes, map_regions
from rlx.ops.control import CONTROL_OPS
from rlx.ops.nn import NnOp
from rlx.ops.q import (
    QChain,
    QClamp,
    QRequantize,
    QResizeNearest,
    QTable,
    QTranspose,
    computes_int16,
)
from rlx.ops.q.selection import check_runs, select
from rlx.ops.real import (
    RealBroadcastTo,
    RealConcat,
    RealGather,
    RealReshape,
    RealReverse,
    RealSlice,
    RealTranspose,
)
from rlx.passes.decompose import decompose
from rlx.passes.dispatch import DispatchReport, OpDispatch, Outcome, Policies, Policy
from rlx.passes.exchange import as_slices, exchange_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from rlx.ir import GraphModule

Claim: TypeAlias = "Callable[[Node], Refusal | None]"
"""A target's or backend's decision for a node: None if it supports it, else a refusal."""

Rewrite: TypeAlias = "Callable[[Graph, Node, tuple[Value, ...]], Value]"

MOVES: Final = (
    RealBroadcastTo, RealConcat, RealGather, RealReshape, RealReverse, RealSlice, RealTranspose,
)  # fmt: skip
"""Ops on float that only move values, also quantized ones."""

REWRITES: RuleTable[Rewrite] = RuleTable("fit")
"""Other forms, exact to the last bit, of ops that a target may lack."""

MAX_ROUNDS: Final = 16
"""Rounds after which ops that still decompose are reported as a bug."""


@REWRITES.rule(QClamp, QRequantize)
def as_table(new: Graph, node: Node, operands: tuple[Value, ...]) -> Value:
    """q.clamp(x), q.requantize(x) -> q.table(x), a table of the 256 values."""
    inputs = np.arange(-128, 128).astype(np.int8)
    (values,) = node.op.evaluate(inputs)
    table = QTable(table=tuple(int(v) for v in values), function=node.op.name)
    return new.apply(table, operands[0], quant=node.types[0].quant)


REWRITES.rule(QTranspose)(as_slices)


@REWRITES.rule(QChain)
def as_steps(new: Graph, node: Node, operands: tuple[Value, ...]) -> Value:
    """q.chain(x, ...) -> the ops of its body, one by one."""
    return cast("QChain", node.op).inline(new, *operands)


@REWRITES.rule(QResizeNearest)
def as_selections(new: Graph, node: Node, operands: tuple[Value, ...]) -> Value:
    """q.resize_nearest(x) -> slices of rows and of columns, joined again."""
    (x,) = operands
    # Rows first: fewer elements wait for their second turn.
    for axis, indices in enumerate(_nearest_indices(node), start=1):
        x = select(new.apply, x, axis, indices)
    return x


def _nearest_indices(node: Node) -> Sequence[npt.NDArray[np.int64]]:
    """Return the index of each row and column of a resized image."""
    axes = cast("QResizeNearest", node.op).axes(node.operands[0].type.static_shape[1:3])
    return [axis.nearest.astype(np.int64) for axis in axes]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A graph in the ops of a target or backend, as far as it has them.

    Attributes:
        graph: The graph; the given one if nothing had to be changed.
        report: Dispatch of each op of the given graph.
        sources: For each op node of the graph, the node of the given one that it replaces, alone or
            with others.
        values: For each value of the given graph, its replacement.
    """

    graph: Graph
    report: DispatchReport
    sources: Mapping[Node, Node]
    values: Mapping[Value, Value]


@dataclass(frozen=True, slots=True)
class _Decision:
    """Outcome for one node, and the reason for which it was changed or refused."""

    path: Outcome
    refusal: Refusal | None = None


@dataclass(slots=True)
class _NodeOutcome:
    """Outcome for one node of the given graph, and for its parts.

    Attributes:
        decision: Outcome for the node itself.
        refused: Parts of it that are refused, with the reasons; the node itself among them.
    """

    decision: _Decision
    refused: list[tuple[Node, Refusal]] = field(default_factory=list)


def fit(
    graph: Graph,
    owner: str,
    claim: Claim,
    policies: Policies | None = None,
    rewrites: RuleTable[Rewrite] = REWRITES,
) -> Fitted:
    """Return ``graph`` in ops that ``owner`` supports, and the dispatch of each op.

    Every node is asked for once; where something has to be changed, every node of the changed
    graph too.

    Args:
        graph: The graph.
        owner: Name of the target or backend, for messages.
        claim: Its decision for each node.
        policies: Policies for ops that are written in others although they need not be, or never;
            None for those alone that the owner lacks.
        rewrites: Other forms of ops, tried before their decomposition.
    """
    policies = policies or Policies()
    sources = {node: node for node in graph.op_nodes}
    values = {value: value for node in graph.nodes for value in node.results}
    outcomes: dict[Node, _NodeOutcome] = {}
    fitted = graph
    for _ in range(MAX_ROUNDS):
        decisions = {node: _decide(node, claim, policies, rewrites) for node in fitted.op_nodes}
        for node, decision in decisions.items():
            outcome = outcomes.setdefault(sources[node], _NodeOutcome(decision))
            if decision.path is Outcome.REFUSED and decision.refusal is not None:
                outcome.refused.append((node, decision.refusal))
        changed = {
            n for n, a in decisions.items() if a.path in (Outcome.REWRITTEN, Outcome.DECOMPOSED)
        }
        if not changed:
            return Fitted(fitted, _report(graph, owner, outcomes), sources, values)
        for outcome in outcomes.values():
            # Refusals of this round are of nodes that are rewritten or asked for again.
            outcome.refused.clear()
        rewriter = _rewrite(fitted, changed, rewrites)
        fitted, replacements = rewriter.finish(), rewriter.sources
        sources = {new: sources[old] for new, (old,) in replacements.items() if old in sources}
        values = {value: rewriter[now] for value, now in values.items()}
    raise AssertionError("ops still decompose")


def chains_as_ops(
    module: GraphModule, owner: str, lowering: Callable[[Node], object]
) -> GraphModule | None:
    """Return a module with the ops of all chains; None without chains, or if an op is refused.

    Args:
        module: A fitted module.
        owner: Name of the target, for messages.
        lowering: Its lowering of a node, a ``Refusal`` if it has none.
    """
    if not any(isinstance(node.op, QChain) for node in module.graph.op_nodes):
        return None

    def claim(node: Node) -> Refusal | None:
        answer = lowering(node)
        return answer if isinstance(answer, Refusal) else None

    fitted = fit(module.graph, owner, claim, Policies(ops={QChain.name: Policy.COMMON}))
    return module.with_graph(fitted.graph) if fitted.report.ready else None


def _decide(
    node: Node, claim: Claim, policies: Policies, rewrites: RuleTable[Rewrite]
) -> _Decision:
    """Return the outcome for a node."""
    policy, other = policies.of(node.op), _other_path(node, rewrites)
    if policy is Policy.COMMON and other is not None:
        return _Decision(other, Refusal(f"the policy is {policy}"))
    refusal = _refusal(node, claim)
    if refusal is None:
        return _Decision(Outcome.NATIVE)
    if other is None or policy is Policy.NATIVE:
        return _Decision(Outcome.REFUSED, refusal)
    return _Decision(other, refusal)


def _refusal(node: Node, claim: Claim) -> Refusal | None:
    """Return the refusal of a node, or of one that it runs; None if it is supported unchanged."""
    refusal = claim(node)
    # Other ops with regions have kernels of their own.
    if refusal is not None or not isinstance(node.op, CONTROL_OPS):
        return refusal
    for path, region in node.op.regions():
        for inner in region.op_nodes:
            inner_refusal = _refusal(inner, claim)
            if inner_refusal is not None:
                return Refusal(
                    f"{inner.op.name} in its {path}: {inner_refusal.reason}",
                    hint=inner_refusal.hint,
                )
    return None


def _other_path(node: Node, rewrites: RuleTable[Rewrite]) -> Outcome | None:
    """Return the outcome for a node written in other ops, if it can be."""
    # Ops that move values have another form for quantized ones alone.
    plain = isinstance(node.op, MOVES) and node.types[0].quant is None
    if type(node.op) in rewrites and _has_form(node) and not plain:
        return Outcome.REWRITTEN
    inner_nodes = (n for _, region in node.op.regions() for n in all_nodes(region))
    decomposes = isinstance(node.op, NnOp) or any(isinstance(n.op, NnOp) for n in inner_nodes)
    return Outcome.DECOMPOSED if decomposes else None


def _has_form(node: Node) -> bool:
    """Return whether an op that moves integers takes few enough slices and joins."""
    if isinstance(node.op, QTranspose):
        return exchange_sizes(node) is not None
    if isinstance(node.op, QClamp | QRequantize):
        # Tables have 256 entries.
        return not computes_int16(node)
    if isinstance(node.op, QResizeNearest):
        sizes = node.operands[0].type.static_shape[1:3]
        pairs = zip(_nearest_indices(node), sizes, strict=True)
        return all(check_runs(indices, size) is None for indices, size in pairs)
    return True


def _rewrite(graph: Graph, changed: set[Node], rewrites: RuleTable[Rewrite]) -> Rewriter:
    """Write ``changed`` in other ops."""
    rewriter = Rewriter(graph, by="fit")
    for node in rewriter:
        if node in changed:
            form = _form(rewriter.new, node, rewriter.operands(node), rewrites)
            rewriter.replace(node, *form)
    return rewriter


def _form(
    new: Graph, node: Node, operands: tuple[Value, ...], rewrites: RuleTable[Rewrite]
) -> Sequence[Value]:
    """Append another form of a node and return its results."""
    if type(node.op) in rewrites:
        return [rewrites[type(node.op)](new, node, operands)]
    if isinstance(node.op, NnOp):
        return node.op.decompose(new, *operands)
    return new.append(map_regions(node.op, decompose), *operands).results


def _report(graph: Graph, owner: str, outcomes: dict[Node, _NodeOutcome]) -> DispatchReport:
    """Return the outcomes of the nodes of ``graph``, nodes of one op and outcome in one row."""
    rows: dict[tuple[str, Outcome, str], list[OpDispatch]] = {}
    for node, outcome in outcomes.items():
        row = _row(node, outcome)
        rows.setdefault((row.op, row.path, row.reason), []).append(row)
    combined = (
        replace(alike[0], count=len(alike), nodes=tuple(n for row in alike for n in row.nodes))
        for _, alike in sorted(rows.items(), key=lambda entry: entry[0])
    )
    return DispatchReport(graph.name, owner, tuple(combined))


def _row(node: Node, outcome: _NodeOutcome) -> OpDispatch:
    """Return the row for one node."""
    path, refusal = outcome.decision.path, outcome.decision.refusal
    reason, hint = (refusal.reason, None) if refusal is not None else ("", None)
    if outcome.refused:
        part, refusal = outcome.refused[0]
        direct = path is Outcome.REFUSED or type(part.op) is type(node.op)
        reason = refusal.reason if direct else f"it comes down to {part.op.name}: {refusal.reason}"
        path, hint = Outcome.REFUSED, refusal.hint
    return OpDispatch(node.op.name, 1, path, reason, (node.label,), hint)
