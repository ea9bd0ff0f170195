"""The rewrites before fusion: weights come first, and constants are folded.

Tests: tests/unit/passes/fusion/test_product.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Rewriter, Value
from rlx.passes.fusion.matching import live_nodes, weights_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, Op
    from rlx.passes.fusion.matching import Matching


class WeightRewriter(Rewriter):
    """A rewriter that visits weights before all that reads them, and no dead nodes."""

    def __init__(self, matching: Matching, by: str) -> None:
        graph = matching.graph
        live = live_nodes(graph, {}) | {v.node for v in graph.inputs}
        nodes = [n for n in weights_first(graph, matching.weights) if n in live]
        super().__init__(graph, by=by, nodes=nodes)
        self._notes = matching.notes

    def compute(self, op: Op, *operands: Value) -> Value:
        """Append an op of one result, and return that; a constant if all operands are constant."""
        known = [array for o in operands if (array := o.constant) is not None]
        if len(known) == len(operands):
            return self.new.constant(op.evaluate(*known)[0])
        return self.new.apply(op, *operands)

    def number(self, number: float, like: Value) -> Value:
        """Return a constant of rank 0 with the element type of ``like``."""
        return self.new.constant(np.array(number, like.type.dtype.numpy))

    def finish(
        self, outputs: Sequence[Value] | None = None, names: Sequence[str] | None = None
    ) -> Graph:
        """Return the new graph, and note for reports the nodes that its nodes replace."""
        graph = super().finish(outputs, names)
        self._notes.inherit(self)
        return graph
