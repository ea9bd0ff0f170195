"""Indices that an exporter casts and reshapes several times, such as the label of a classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from rlx.ir import Rewriter
from rlx.ops.real import RealArgmax, RealArgmin, RealCast, RealReshape
from rlx.passes.base import Pass
from rlx.passes.dead_code import DeadCode

if TYPE_CHECKING:
    from rlx.ir import DType, Graph, Node, Value

_INDICES: Final = RealArgmax | RealArgmin


@dataclass(frozen=True, slots=True)
class IndexChains(Pass):
    """``cast(reshape(cast(argmax(x))))`` -> ``cast(reshape(argmax(x)))``.

    Only where every type of the chain holds all indices of the axis.
    """

    name: ClassVar[str] = "index-chains"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph with short chains; the same graph if it has no indices."""
        if not any(isinstance(node.op, _INDICES) for node in graph.op_nodes):
            return graph
        sources: dict[Value, Value] = {}
        rewriter = Rewriter(graph, by=self.name)
        for node in rewriter:
            if not isinstance(node.op, RealCast | RealReshape):
                continue
            (x,) = rewriter.operands(node)
            source = sources.get(x, x)
            if isinstance(source.node.op, _INDICES) and _holds(node.types[0].dtype, source):
                chain = _chain(rewriter.new, node, source)
                sources[chain] = source
                rewriter.replace(node, chain)
        return DeadCode().apply(rewriter.finish())


def _chain(new: Graph, node: Node, source: Value) -> Value:
    """Append an index in the shape and element type of a node's result."""
    (type_,), made = node.types, source
    if made.type.shape != type_.shape:
        made = new.apply(RealReshape(shape=type_.shape), made, name=node.name)
    if made.type.dtype is not type_.dtype:
        made = new.apply(RealCast(dtype=type_.dtype), made, name=node.name)
    return made


def _holds(dtype: DType, source: Value) -> bool:
    """Return whether an element type holds every index of a node's axis."""
    node = source.node
    assert isinstance(node.op, _INDICES)
    largest = node.operands[0].type.shape[node.op.axis]
    if not isinstance(largest, int) or not (dtype.is_integer or dtype.is_float):
        return False
    indices = np.array([largest - 1, largest - 2], np.int64)
    return bool((indices.astype(dtype.numpy).astype(np.int64) == indices).all())
