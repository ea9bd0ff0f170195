"""Rewriter of graphs: a new graph made node by node from an old one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from rlx.ir.graph import Graph, copy_node
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rlx.ir.graph import Node, Value
    from rlx.ir.origin import Origin


class Rewriter:
    """A new graph in the making, with its value for each value of the old one.

    ::

        rewriter = Rewriter(graph, by=self.name)
        for node in rewriter:
            if isinstance(node.op, QClamp):
                rewriter.replace(node, *rewriter.operands(node))
        return rewriter.finish()

    A node of which the loop says nothing is kept: inputs, states, parameters and constants
    unchanged, others on the new values of their operands. Nodes that are appended to ``new`` while
    a node is visited get the name and the origin of that node, and ``by`` in the origin, unless it
    gets its own.

    Attributes:
        old: The graph that is read.
        new: The graph that grows.
        by: Name of the pass, for origins; empty to leave origins unchanged.
    """

    def __init__(
        self, graph: Graph, *, by: str = "", nodes: Iterable[Node] | None = None, name: str = ""
    ) -> None:
        """Begin a new graph.

        Args:
            graph: The old graph.
            by: Name of the pass, recorded in the origin of every node that the loop adds.
            nodes: The nodes to visit, operands before their users; None for all of the graph. Those
                that are missing have nothing in the new graph.
            name: Name of the new graph; empty for that of the old one.
        """
        self.old = graph
        self.new = Graph(name or graph.name)
        self.by = by
        self._values: dict[Node, tuple[Value | None, ...]] = {}
        self._settled: set[Node] = set()
        self._begins: list[int] = []
        self._visited: list[Node] = []
        self._joined: dict[Node, tuple[Node, ...]] = {}
        self._visits = self._visit(graph.nodes if nodes is None else nodes)

    def __iter__(self) -> Iterator[Node]:
        """Yield the nodes of the old graph that are not settled yet, each once, in order."""
        return self._visits

    def _visit(self, nodes: Iterable[Node]) -> Iterator[Node]:
        last = origin = None  # neighbors often have the same origin
        for node in nodes:
            if node in self._settled:
                continue
            self._begins.append(self.new.count)
            self._visited.append(node)
            if node.origin != last:
                last, origin = node.origin, node.origin.through(self.by) if self.by else node.origin
            self.new.set_defaults(node.name, origin)
            yield node
            if node not in self._settled:
                self.keep(node)
        self._begins.append(self.new.count)
        self.new.set_defaults()

    def __getitem__(self, old: Value) -> Value:
        """Return the new value of a value of the old graph."""
        value = self._values[old.node][old.index]
        if value is None:
            raise KeyError(old)
        return value

    def __contains__(self, old: Value) -> bool:
        """Whether a value of the old graph has a new value."""
        values = self._values.get(old.node)
        return values is not None and values[old.index] is not None

    def __setitem__(self, old: Value, new: Value) -> None:
        """Map a value of the old graph to one of the new graph.

        Raises:
            ValueError: ``new`` belongs to another graph.
        """
        if not self.new.owns(new):
            text = f"{new.node.label}, for {old.node.label}, belongs to another graph"
            raise ValueError(text)
        values = self._values.get(old.node) or (None,) * len(old.node.types)
        self._values[old.node] = (*values[: old.index], new, *values[old.index + 1 :])

    def operands(self, node: Node) -> tuple[Value, ...]:
        """Return the new values of the operands of a node."""
        return tuple([self[o] for o in node.operands])

    def keep(self, node: Node, *operands: Value, origin: Origin | None = None) -> Node:
        """Append a copy of a node with its name, origin and quantization, and return it.

        Args:
            node: A node of the old graph.
            operands: Its operands in the new graph, if they are others than the new values of the
                old ones.
            origin: Its origin, if it is another one.
        """
        made = copy_node(self.new, node, operands or self.operands(node), origin)
        self._values[node] = made.results
        self._settled.add(node)
        return made

    def replace(self, node: Node, *values: Value) -> None:
        """Map the results of a node to ``values`` of the new graph.

        Raises:
            ValueError: There are more or fewer than results, or one belongs to another graph.
        """
        if len(values) != len(node.types):
            counts = f"expected {counted(len(node.types), 'value')}, got {len(values)}"
            raise ValueError(f"{node.op.name} ({node.label}): {counts}")
        for old, new in zip(node.results, values, strict=True):
            self[old] = new
        self._settled.add(node)

    def join(self, nodes: Sequence[Node], values: Mapping[Value, Value]) -> None:
        """Replace several nodes by those appended in this step.

        Args:
            nodes: Nodes of the old graph, the one that is visited among them.
            values: New values of those of their results that other nodes read.
        """
        for old, new in values.items():
            self[old] = new
        self._settled.update(nodes)
        self._joined[self._visited[-1]] = tuple(nodes)

    def finish(
        self, outputs: Sequence[Value] | None = None, names: Sequence[str] | None = None
    ) -> Graph:
        """Keep the nodes that no loop has visited, set the outputs, and return the new graph.

        Args:
            outputs: Values of the old graph; None for its outputs.
            names: Names of the outputs; None for those of the old graph.
        """
        for _ in self._visits:
            pass
        results = self.old.outputs if outputs is None else outputs
        self.new.output(
            *(self[o] for o in results),
            names=self.old.output_names if names is None else names,
        )
        return self.new

    @property
    def sources(self) -> dict[Node, tuple[Node, ...]]:
        """For each new node the old ones that it came from: the visited one, or all joined ones."""
        nodes, ranges = self.new.nodes, pairwise([*self._begins, self.new.count])
        return {
            node: self._joined.get(old, (old,))
            for old, (begin, stop) in zip(self._visited, ranges, strict=False)
            for node in nodes[begin:stop]
        }

    def origins(self, node: Node) -> tuple[Origin, ...]:
        """Return the origins of the old nodes that a new one came from, each once."""
        return tuple(dict.fromkeys(old.origin for old in self.sources.get(node, ())))


def rebuild(
    graph: Graph,
    visit: Callable[[Graph, Node, tuple[Value, ...]], Sequence[Value] | None],
    *,
    by: str = "",
) -> Graph:
    """Return a new graph in which ``visit`` chose the new values of each node's results.

    Args:
        graph: The graph to copy.
        visit: Called as ``visit(new_graph, node, new_operands)`` for each node in order. Returns
            the values (of ``new_graph``) that replace the node's results, or None to copy it.
        by: Name of the pass, recorded in the origin of every node that ``visit`` adds.
    """
    rewriter = Rewriter(graph, by=by)
    for node in rewriter:
        values = visit(rewriter.new, node, rewriter.operands(node))
        if values is not None:
            rewriter.replace(node, *values)
    return rewriter.finish()
