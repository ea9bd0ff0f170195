"""Inputs and outputs of images that are channels last on a target, for any layout of the model.

A core that works on a stream of pixels has no memory in which it could transpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from rlx.ir import Graph, Input, Node, Rewriter, State, Value
from rlx.ops.nn.layout import to_channels_first, to_channels_last
from rlx.ops.q import QTranspose
from rlx.ops.real import RealTranspose

if TYPE_CHECKING:
    from rlx.ir import Op

Axes: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PortLayout:
    """A graph whose images are read and returned channels last.

    Attributes:
        graph: The graph; the given one if nothing is different.
        inputs: For each input of a run the op that turns values of the old one, ``[frames,
            *shape]``, to those of the new one, or None.
        outputs: For each output whether it was turned.
    """

    graph: Graph
    inputs: tuple[Op | None, ...]
    outputs: tuple[bool, ...]


def with_channels_last(graph: Graph) -> PortLayout:
    """Return ``graph`` without transposes between channels first outside and last inside.

    An input is changed only where every reader turns it to channels last; an output where it was
    turned to channels first for nobody else.
    """
    inputs = {v.node: axes for v in graph.inputs if (axes := _order(graph, v)) is not None}
    transposes = {reader for node in inputs for reader in graph.users()[node.result]}
    next_values = {after for _, after in graph.states}
    outputs = tuple(v not in next_values and _is_last(graph, v) for v in graph.outputs)
    transposes |= {v.node for v, is_last in zip(graph.outputs, outputs, strict=True) if is_last}
    turns = tuple(
        _transpose_between(inputs[v.node]) if v.node in inputs else None for v in graph.run_inputs
    )
    if not transposes:
        return PortLayout(graph, turns, outputs)
    # Nodes whose quantization is known only from the transpose after them.
    quants = {
        source: v.type.quant
        for v in graph.outputs
        if v.node in transposes and (source := v.node.operands[0].node).types[0].quant is None
        and v.type.quant is not None
    }  # fmt: skip
    rewriter = Rewriter(graph)
    new = rewriter.new
    for node in rewriter:
        operands = rewriter.operands(node)
        if node in transposes:
            rewriter.replace(node, *operands)
        elif node in inputs:
            (type_,) = RealTranspose(axes=inputs[node]).infer(*node.types)
            rewriter.replace(node, new.input(node.name, type_))
        elif node in quants:
            source = new.append(node.op, *operands, quant=quants[node])
            rewriter.replace(node, *source.results)
    return PortLayout(rewriter.finish(), turns, outputs)


def _transpose_between(axes: Axes) -> Op:
    return RealTranspose(axes=(0, *(axis + 1 for axis in axes)))


def _order(graph: Graph, value: Value) -> Axes | None:
    """Return the order to which all readers of an input turn it, None without one."""
    rank = value.type.rank
    readers = {_axes(reader) for reader in graph.users()[value]}
    wanted = to_channels_last(rank)
    kept = isinstance(value.node.op, State) or value in graph.outputs
    if kept or rank < 3 or readers != {wanted}:
        return None
    return wanted if _moves(value, wanted) else None


def _is_last(graph: Graph, value: Value) -> bool:
    """Return whether an output is turned to channels first, for the caller alone."""
    axes, rank = _axes(value.node), value.type.rank
    if rank < 3 or axes != to_channels_first(rank) or graph.users()[value]:
        return False
    source = value.node.operands[0]
    alone = graph.outputs.count(value) == 1 and source not in graph.outputs
    return alone and not isinstance(source.node.op, Input) and _moves(source, axes)


def _axes(node: Node) -> Axes | None:
    op = node.op
    return cast("RealTranspose", op).axes if isinstance(op, RealTranspose | QTranspose) else None


def _moves(value: Value, axes: Axes) -> bool:
    """Return whether a transpose moves anything in memory."""
    kept = [axis for axis in axes if value.type.shape[axis] != 1]
    return kept != sorted(kept)
