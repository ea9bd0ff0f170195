"""Inputs and outputs of images become channels last, where only a transpose comes between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rlx.ir import Graph, Rewriter, State, Value
from rlx.ops.real import RealTranspose
from rlx.passes.base import Pass


@dataclass(frozen=True, slots=True)
class ChannelsLastPorts(Pass):
    """Take off the transposes at inputs and outputs: the caller brings and gets other axes.

    An input that is read by transposes of one order alone becomes its transposed self; so does an
    output that a transpose makes for no other reader. Everything else stays.
    """

    name: ClassVar[str] = "channels-last-ports"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph without these transposes; the same graph if there are none."""
        inputs = {v.node: op for v in graph.inputs if (op := _order(graph, v)) is not None}
        transposes = {r for node in inputs for r in graph.users()[node.results[0]]}
        ends = set(graph.outputs) - {after for _, after in graph.states}
        transposes |= {v.node for v in ends if _is_last(graph, v)}
        if not transposes:
            return graph
        rewriter = Rewriter(graph, by=self.name)
        for node in rewriter:
            if node in transposes:
                rewriter.replace(node, *rewriter.operands(node))
            elif node in inputs:
                (type_,) = inputs[node].infer(*node.types)
                rewriter.replace(node, rewriter.new.input(node.name, type_))
        return rewriter.finish()


def _order(graph: Graph, value: Value) -> RealTranspose | None:
    """Return the transpose that all readers of an input are; None if they are none or differ."""
    readers = graph.users()[value]
    ops = {reader.op for reader in readers}
    if isinstance(value.node.op, State) or value in graph.outputs or len(ops) != 1:
        return None
    (op,) = ops
    return op if isinstance(op, RealTranspose) else None


def _is_last(graph: Graph, value: Value) -> bool:
    """Return whether an output is transposed for the caller alone."""
    return isinstance(value.node.op, RealTranspose) and not graph.users()[value]
