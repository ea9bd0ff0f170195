"""A graph while its patterns are looked for, and the graph in which they are fused.

Tests: tests/unit/passes/fusion/test_product.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx.ir import Constant, Graph, Node, Param, Rewriter, Value
from rlx.ir.layer_names import main_node
from rlx.ops.fused.reading import Readers, cut_out
from rlx.passes.fusion.report import FusedPattern, MissedFusion, MissReason, NodeNote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rlx.ops.fused import Fused
    from rlx.passes.fusion.options import Claims, FusionOptions, Pattern


def weight_nodes(graph: Graph) -> set[Node]:
    """Return the nodes that depend on constants and parameters only."""
    known_nodes: set[Node] = set()
    for node in graph.nodes:
        if node.operands:
            if all(o.node in known_nodes for o in node.operands):
                known_nodes.add(node)
        elif isinstance(node.op, Constant | Param):
            known_nodes.add(node)
    return known_nodes


def weights_first(graph: Graph, weights: set[Node]) -> list[Node]:
    """Return the nodes with inputs and ``weights`` before all others."""
    first = weights | {v.node for v in graph.inputs}
    return [*filter(first.__contains__, graph.nodes),
            *(n for n in graph.nodes if n not in first)]  # fmt: skip


def live_nodes(graph: Graph, groups: Mapping[Node, FusionGroup]) -> set[Node]:
    """Return nodes that outputs depend on; groups need only the values they read from outside."""
    needed = {o.node for o in graph.outputs}
    for node in reversed(graph.nodes):
        if node in needed:
            group = groups.get(node)
            reads = node.operands if group is None else group.operands
            needed.update(o.node for o in reads)
    return needed


class Notes:
    """Names of nodes in reports, for nodes of every stage of fusion.

    Attributes:
        of: The note of a node; a node that a rewrite made has place and origin of the node that it
            replaces.
    """

    def __init__(self, graph: Graph) -> None:
        self.of = {n: NodeNote(n.op.name, n.label, str(n.origin)) for n in graph.nodes}

    def inherit(self, rewriter: Rewriter) -> None:
        """Set place and origin of the nodes of a rewrite to those of the replaced nodes."""
        for node, (old, *_) in rewriter.sources.items():
            note, name = self.of[old], node.op.name
            same = name == note.op
            self.of[node] = note if same else NodeNote(name, note.label, note.origin)

    def __getitem__(self, node: Node) -> NodeNote:
        return self.of[node]


@dataclass(frozen=True, slots=True)
class FusionGroup:
    """Nodes that become one.

    Attributes:
        pattern: Pattern that they are an example of.
        nodes: The nodes, in order.
        op: The op that replaces them.
        operands: Its operands.
        results: The values that its results replace.
    """

    pattern: Pattern
    nodes: tuple[Node, ...]
    op: Fused
    operands: tuple[Value, ...]
    results: tuple[Value, ...]

    @property
    def place(self) -> Node:
        """The node whose place the op has: the first of which a value is read outside."""
        return min((r.node for r in self.results), key=lambda n: n.index)


class Matching:
    """A graph, the readers of its values, and the patterns found in it so far.

    Attributes:
        graph: The graph.
        options: Patterns that are fused.
        readers: Readers of each value.
        weights: Nodes that depend on constants and parameters only.
        groups: The group of each node that is in one.
        fused: Patterns that were found, and the index of the last node of each.
        missed: Patterns that were not fused, with the reasons: a set in the order of discovery.
    """

    def __init__(self, graph: Graph, options: FusionOptions, claims: Claims, notes: Notes) -> None:
        self.graph = graph
        self.options = options
        self.claims = claims
        self.notes = notes
        self.readers = Readers(graph)
        self.weights = weight_nodes(graph)
        self.groups: dict[Node, FusionGroup] = {}
        self.fused: list[tuple[int, FusedPattern]] = []
        self.missed: dict[MissedFusion, None] = {}

    def nodes(self, *ops: type) -> list[Node]:
        """Return the nodes of some ops that depend on an input and are in no group."""
        return [
            n
            for n in self.graph.op_nodes
            if isinstance(n.op, ops) and n not in self.weights and n not in self.groups
        ]

    def is_weight(self, value: Value) -> bool:
        """Return whether a value depends on constants and parameters only."""
        return value.node in self.weights

    def is_free(self, nodes: Iterable[Node]) -> bool:
        """Return whether none of ``nodes`` is in a group."""
        return not any(n in self.groups for n in nodes)

    def miss(self, pattern: Pattern, node: Node, reason: MissReason, text: str) -> None:
        """Write down that a pattern that ends at ``node`` is not fused."""
        self.missed[MissedFusion(pattern, self.notes[node], reason, text)] = None

    def miss_inner(self, pattern: Pattern, value: Value) -> None:
        """Write down that a pattern is not fused because ``value`` is read elsewhere too."""
        note = self.notes[value.node]
        if value in self.readers.outputs:
            text, reason = f"{note} is an output of the graph", MissReason.OUTPUT
        else:
            count = len(set(self.readers.users[value]))
            text, reason = f"{note} is read by {count} nodes", MissReason.SEVERAL_READERS
        self.miss(pattern, value.node, reason, text)

    def closed(self, pattern: Pattern, nodes: Sequence[Node], *results: Value) -> bool:
        """Return whether only ``results`` are read outside of ``nodes``; else it is a miss."""
        inner = [v for n in nodes for v in n.results if v not in results]
        bad = self.readers.closed(inner, set(nodes))
        if bad is not None:
            self.miss_inner(pattern, bad)
        return bad is None

    def allowed(self, pattern: Pattern, op: type[Fused], node: Node) -> bool:
        """Return whether a pattern is enabled and the backend has its kernel; else it is a miss."""
        if not self.options.wants(pattern):
            self.miss(pattern, node, MissReason.POLICY, f"the policy of {pattern} is keep")
            return False
        if not self.claims(op):
            text = f"the backend has no kernel for {op.name}"
            self.miss(pattern, node, MissReason.NO_KERNEL, text)
            return False
        return True

    def group(
        self,
        pattern: Pattern,
        op: type[Fused],
        nodes: Sequence[Node],
        results: Sequence[Value],
        inputs: Mapping[str, Value] | None = None,
        detail: str = "",
    ) -> None:
        """Let ``nodes`` become one op.

        Args:
            pattern: Pattern that was found.
            op: Class of the op.
            nodes: The nodes.
            results: The values that are read outside.
            inputs: Names of the first inputs of the body. A named value is an input even if it is a
                number.
            detail: For the report.
        """
        ordered = tuple(sorted(set(nodes), key=lambda n: n.index))
        cut = cut_out(op.name.partition(".")[2], ordered, results, inputs or {})
        group = FusionGroup(pattern, ordered, op(body=cut.body), cut.operands, tuple(results))
        self.groups.update((n, group) for n in ordered)
        self.found(pattern, ordered, op.name, detail)

    def found(
        self,
        pattern: Pattern,
        nodes: Sequence[Node],
        result: str,
        detail: str = "",
        *,
        exact: bool = True,
    ) -> None:
        """Write down that a pattern is fused; for arguments see ``FusedPattern``."""
        notes = tuple(self.notes[n] for n in nodes)
        self.fused.append((nodes[-1].index, FusedPattern(pattern, notes, result, detail, exact)))

    def in_order(self) -> list[FusedPattern]:
        """Return the fused patterns in the order of the graph."""
        return [pattern for _, pattern in sorted(self.fused, key=lambda pair: pair[0])]

    def fuse(self) -> Graph:
        """Return the graph with an op for each group, without dead nodes."""
        live = live_nodes(self.graph, self.groups) | {v.node for v in self.graph.inputs}
        group_ends = {group.place for group in self.groups.values()}
        nodes = [n for n in self.graph.nodes if n in (group_ends if n in self.groups else live)]
        rewriter = Rewriter(self.graph, nodes=nodes)
        for node in rewriter:
            if node in group_ends:
                _append(rewriter, self.groups[node])
        return rewriter.finish()


def _append(rewriter: Rewriter, group: FusionGroup) -> None:
    """Append the op of a group."""
    last, main = group.results[-1].node, main_node(group.nodes)
    fused = rewriter.new.append(
        group.op,
        *(rewriter[o] for o in group.operands),
        name=last.name or next((n.name for n in reversed(group.nodes) if n.name), ""),
        origin=main.origin.join(n.origin for n in group.nodes).through(f"fuse-{group.pattern}"),
    )
    rewriter.join(group.nodes, dict(zip(group.results, fused.results, strict=True)))
