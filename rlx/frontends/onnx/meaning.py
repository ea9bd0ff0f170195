"""Inputs of quantized values get the scale of the nodes after them.

Tests: tests/unit/frontends/onnx/ops/test_on_quantized.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir import DType, Input, QuantParams, rebuild
from rlx.ops.nn import NnQuantized
from rlx.ops.real import (
    RealBroadcastTo,
    RealDequantize,
    RealReshape,
    RealReverse,
    RealSlice,
    RealTranspose,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Graph, Node, Value

_MOVES = (RealBroadcastTo, RealReshape, RealReverse, RealSlice, RealTranspose)


def with_input_meanings(graph: Graph) -> Graph:
    """Return ``graph`` with the scale of each input of bytes on its type, where all readers agree.

    So floats may be passed for it, and its layers become integer ops.
    """
    users = graph.users()
    meanings = {
        value: quant
        for value in graph.inputs
        if value.type.dtype in (DType.I8, DType.U8) and value.type.quant is None
        and (quant := _meaning(value, users, set(graph.outputs))) is not None
    }  # fmt: skip
    if not meanings:
        return graph

    def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if not isinstance(node.op, Input) or node.result not in meanings:
            return None
        type_ = node.result.type.with_quant(meanings[node.result])
        return [new.input(node.name, type_, origin=node.origin)]

    return rebuild(graph, visit)


def _meaning(
    value: Value, users: Mapping[Value, Sequence[Node]], outputs: set[Value]
) -> QuantParams | None:
    """Return the one scale that all readers of a value state, None if they do not."""
    stated: set[QuantParams | None] = set()
    waiting = [value]
    while waiting:
        reader_value = waiting.pop()
        if reader_value in outputs:
            return None
        for node in users[reader_value]:
            if isinstance(node.op, _MOVES):
                waiting += node.results
            else:
                stated |= _stated(node, reader_value)
    (quant, *more) = stated or {None}
    return None if more or quant is None or quant.axis is not None else quant


def _stated(node: Node, value: Value) -> set[QuantParams | None]:
    """Return the quantizations that a node states for a value; None without one."""
    places = [place for place, operand in enumerate(node.operands) if operand == value]
    if isinstance(node.op, RealDequantize):
        return {node.op.quant}
    if isinstance(node.op, NnQuantized):
        return {node.op.operand_quant(place) for place in places}
    return {None}
