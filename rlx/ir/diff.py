"""Differences between two graphs, node by node."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict, deque
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rlx.ir.hash import node_facts
from rlx.ir.layer_diff import LayerChange, layer_changes
from rlx.ir.printer import format_attributes, format_node, format_type, format_value
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from rlx.ir.graph import Graph, Node, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChange:
    """A node that is in both graphs with a difference.

    Attributes:
        before: Its line in the first graph.
        after: Its line in the second one.
        details: Differences, such as ``low: -128 -> 0``.
    """

    before: str
    after: str
    details: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDiff:
    """Differences between two graphs. False if there are none.

    Names and origins do not count as differences.

    Attributes:
        before: Name of the first graph.
        after: Name of the second graph.
        removed: Lines of nodes that only the first graph has.
        added: Lines of nodes that only the second graph has.
        changed: Nodes in both with a difference.
        outputs: Differences in the outputs.
        unchanged: Number of equal nodes.
        layers: Layers that differ.
        unchanged_layers: Number of equal layers.
        op_counts: For each op that occurs more or less often: how often in each graph.
        lines: Removed, added and changed nodes as text, in the order of the graphs.
    """

    before: str
    after: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    changed: tuple[NodeChange, ...]
    outputs: tuple[str, ...]
    unchanged: int
    layers: tuple[LayerChange, ...]
    unchanged_layers: int
    op_counts: dict[str, tuple[int, int]]
    lines: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.removed or self.added or self.changed or self.outputs)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as data that JSON can hold."""
        data = asdict(self)
        del data["lines"]
        return data

    def __str__(self) -> str:
        counts = [f"  {name}: {old} -> {new}" for name, (old, new) in self.op_counts.items()]
        head = [f"--- {json.dumps(self.before)}", f"+++ {json.dumps(self.after)}"]
        return "\n".join(
            [*head, *counts, *self.lines, f"{counted(self.unchanged, 'node')} unchanged"]
        )


def inspect_graph_diff(before: Graph, after: Graph) -> GraphDiff:
    """Return the differences between two graphs.

    Nodes are paired: first those that compute the same from the inputs on, then those equal except
    for their operands, then those of the same op with the same name, then those of the same op with
    the same result types.
    """
    pairs = _Pairs(before, after)
    lines = list(_lines(before, after, pairs))
    partners = {new: old for old, new in pairs.partner.items()}
    layers, unchanged_layers = layer_changes(before, after, pairs.partner)
    return GraphDiff(
        before=before.name,
        after=after.name,
        removed=tuple(format_node(n) for n in before.nodes if n not in pairs.partner),
        added=tuple(format_node(n) for n in after.nodes if n not in partners),
        changed=tuple(pairs.changes.values()),
        outputs=tuple(_outputs(before, after, pairs)),
        unchanged=len(pairs.partner) - len(pairs.changes),
        layers=layers,
        unchanged_layers=unchanged_layers,
        op_counts=_op_counts(before, after),
        lines=tuple(lines),
    )


class _Pairs:
    """Nodes of two graphs, paired.

    Attributes:
        partner: The node of the second graph for each paired node of the first one.
        changes: Differences of each pair that has any, by node of the first graph.
    """

    def __init__(self, before: Graph, after: Graph) -> None:
        self._digests = {**_digests(before), **_digests(after)}
        self.partner: dict[Node, Node] = {}
        paired: set[Node] = set()
        # From the surest to the vaguest evidence: each key pairs the nodes that those before left
        # single.
        for key in (self._same_value, _alike, _same_name, _same_type):
            self._pair(before, after, key, paired)
        self.changes = {
            old: NodeChange(before=format_node(old), after=format_node(new), details=details)
            for old, new in self.partner.items()
            if (details := tuple(self._details(old, new)))
        }

    def _pair(
        self, before: Graph, after: Graph, key: Callable[[Node], Hashable], paired: set[Node]
    ) -> None:
        """Pair nodes that are still single and have the same key, in order."""
        singles: defaultdict[Hashable, deque[Node]] = defaultdict(deque)
        for node in after.nodes:
            if node not in paired and (value := key(node)) is not None:
                singles[value].append(node)
        for node in before.nodes:
            if node not in self.partner and (candidates := singles.get(key(node))):
                self.partner[node] = candidates.popleft()
                paired.add(self.partner[node])

    def _same_value(self, node: Node) -> Hashable:
        """Key of nodes that compute the same from the inputs on."""
        return self._digests[node]

    def same(self, old: Value, new: Value) -> bool:
        """Return whether two values are results of one pair, or at any rate the same."""
        if old.index != new.index:
            return False
        return (
            self.partner.get(old.node) is new.node
            or self._digests[old.node] == self._digests[new.node]
        )

    def _details(self, old: Node, new: Node) -> Iterator[str]:
        """Yield the differences between the nodes of a pair."""
        if self._digests[old] == self._digests[new]:
            return
        if node_facts(old) != node_facts(new):
            yield from _changed_facts(old, new)
        if len(old.operands) != len(new.operands):
            yield f"operands: {len(old.operands)} -> {len(new.operands)}"
        for index, (o, n) in enumerate(zip(old.operands, new.operands, strict=False)):
            if not self.same(o, n):
                yield f"operand {index}: {format_value(o)} -> {format_value(n)}"


def _changed_facts(old: Node, new: Node) -> Iterator[str]:
    """Yield attributes and types that differ."""
    attributes = format_attributes(old.op), format_attributes(new.op)
    full = format_attributes(old.op, full=True), format_attributes(new.op, full=True)
    regions = dict(old.op.regions()), dict(new.op.regions())
    for name in {**full[0], **full[1]}:
        if full[0].get(name) == full[1].get(name):
            continue
        if name in regions[0] and name in regions[1]:
            yield from _changed_region(name, regions[0][name], regions[1][name])
        else:
            yield f"{name}: {attributes[0].get(name, 'none')} -> {attributes[1].get(name, 'none')}"
    for o, n in zip(old.types, new.types, strict=False):
        if o != n:
            yield f"type: {format_type(o, full=False)} -> {format_type(n, full=False)}"


def _changed_region(name: str, old: Graph, new: Graph) -> Iterator[str]:
    """Yield the differences between two regions; nothing where only names differ."""
    if diff := inspect_graph_diff(old, new):
        yield f"{name}: {counted(diff.unchanged, 'node')} unchanged"
        yield from (f"  {line}" for line in diff.lines)


def _digests(graph: Graph) -> dict[Node, str]:
    """Return a hash of the computation of each node, from the inputs and parameters on."""
    digests: dict[Node, str] = {}
    for node in graph.nodes:
        operands = [(digests[o.node], o.index) for o in node.operands]
        # Inputs are distinguished by name only; it says which value they get.
        name = node.name if node.op.name in ("core.input", "core.param") else ""
        facts = json.dumps([*node_facts(node), operands, name])
        digests[node] = hashlib.sha256(facts.encode()).hexdigest()
    return digests


def _alike(node: Node) -> Hashable:
    """Key of nodes that are equal except for their operands."""
    return json.dumps([*node_facts(node), node.name])


def _same_name(node: Node) -> Hashable:
    """Key of nodes of one op with the same name."""
    return (node.op.name, node.name) if node.name else None


def _same_type(node: Node) -> Hashable:
    """Key of nodes of one op with the same result types."""
    return node.op.name, node.types


def _op_counts(before: Graph, after: Graph) -> dict[str, tuple[int, int]]:
    """Return the number of occurrences of each op in each graph, where they differ."""
    old, new = (Counter(n.op.name for n in g.nodes) for g in (before, after))
    return {name: (old[name], new[name]) for name in sorted(old | new) if old[name] != new[name]}


def _outputs(before: Graph, after: Graph, pairs: _Pairs) -> Iterator[str]:
    """Yield the differences in the outputs."""
    if len(before.outputs) != len(after.outputs):
        yield f"outputs: {len(before.outputs)} -> {len(after.outputs)}"
    for place, (old, new) in enumerate(zip(before.outputs, after.outputs, strict=False)):
        if not pairs.same(old, new):
            yield f"output {place}: {format_value(old)} -> {format_value(new)}"


def _lines(before: Graph, after: Graph, pairs: _Pairs) -> Iterator[str]:
    """Yield the differences in the order of the second graph, removed nodes in their old place."""
    partners = {new: old for old, new in pairs.partner.items()}
    removed = deque(n for n in before.nodes if n not in pairs.partner)
    for node in after.nodes:
        old = partners.get(node)
        while old is not None and removed and removed[0].index < old.index:
            yield f"- {format_node(removed.popleft())}"
        if old is None:
            yield f"+ {format_node(node)}"
        elif change := pairs.changes.get(old):
            yield f"~ {change.after}"
            yield from (f"    {detail}" for detail in change.details)
    yield from (f"- {format_node(n)}" for n in removed)
    yield from (f"~ {line}" for line in _outputs(before, after, pairs))
