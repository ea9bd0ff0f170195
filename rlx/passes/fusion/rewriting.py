"""A new graph while the rewrites before fusion make it: weights first, constants computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Graph, Node, Value, copy_node
from rlx.passes.fusion.matching import live_nodes, weights_first

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir import Op
    from rlx.passes.fusion.matching import Notes


class Rewriting:
    """The new graph, and its stand-in for each value of the old one.

    Attributes:
        new: The new graph.
        mapped: The value of the new graph for each value of the old one.
        name: Name for the origins of new nodes.
        weights: Nodes of the old graph that depend on constants and parameters only.
    """

    def __init__(self, old: Graph, name: str, weights: set[Node]) -> None:
        self.old = old
        self.new = Graph(old.name)
        self.name = name
        self.weights = weights
        self.mapped: dict[Value, Value] = {}
        self._node: Node | None = None

    def apply(self, op: Op, *operands: Value) -> Value:
        """Append an op of one result, and return that; a constant if all operands are constant."""
        node = self._node
        assert node is not None
        origin = node.origin.through(self.name)
        arrays = [o.constant for o in operands]
        known = [a for a in arrays if a is not None]
        if len(known) == len(operands):
            return self.new.constant(op.evaluate(*known)[0], name=node.name, origin=origin)
        return self.new.apply(op, *operands, name=node.name, origin=origin)

    def number(self, number: float, like: Value) -> Value:
        """Return a constant of rank 0 with the element type of ``like``."""
        return self.new.constant(np.array(number, like.type.dtype.numpy))

    def run(
        self, visit: Callable[[Rewriting, Node], Sequence[Value] | None], notes: Notes
    ) -> Graph:
        """Return the new graph, without dead nodes.

        Args:
            visit: Returns the values of the new graph that stand for the results of a node of the
                old one, or None to copy it.
            notes: Get the notes of the new nodes.
        """
        needed, inputs = live_nodes(self.old, {}), {v.node for v in self.old.inputs}
        begins: list[tuple[Node, int]] = []
        for node in weights_first(self.old, self.weights):
            if node not in needed and node not in inputs:
                continue
            self._node = node
            begins.append((node, self.new.count))
            results = visit(self, node)
            if results is None:
                operands = tuple(self.mapped[o] for o in node.operands)
                results = copy_node(self.new, node, operands).results
            self.mapped.update(zip(node.results, results, strict=True))
        self.new.output(*(self.mapped[o] for o in self.old.outputs), names=self.old.output_names)
        nodes, ends = self.new.nodes, [*(begin for _, begin in begins[1:]), self.new.count]
        for (node, begin), end in zip(begins, ends, strict=True):
            notes.inherit(nodes[begin:end], node)
        return self.new
