"""Float networks of other element types than float32, in float32."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Constant, DType, Graph, Input
from rlx.ir.graph import copy_node
from rlx.ops.real import RealCast

if TYPE_CHECKING:
    from rlx.ir import Op, TensorType, Value


def in_float32(graph: Graph) -> Graph:
    """Return a graph with float32 in place of every other floating-point type.

    Integers of 8 bits do not see the difference, and weights are computed in float32. Inputs and
    outputs become float32 as well. The same graph if it has no others.
    """
    types = [t for node in graph.nodes for t in node.types]
    if not any(_is_other(t) for t in types):
        return graph
    new = Graph(graph.name)
    mapped: dict[Value, Value] = {}
    for node in graph.nodes:
        operands = tuple(mapped[o] for o in node.operands)
        op = node.op
        if isinstance(op, Input):
            made = new.input(node.name, _single(op.type), origin=node.origin)
            mapped[node.result] = made
        elif isinstance(op, Constant) and _is_other(op.type):
            array = np.asarray(op.value, np.float32)
            mapped[node.result] = new.constant(array, name=node.name, origin=node.origin)
        elif isinstance(op, RealCast) and operands[0].type.dtype is _narrow(op.dtype):
            mapped[node.result] = operands[0]
        elif isinstance(op, RealCast) and _narrow(op.dtype) is not op.dtype:
            cast: Op = RealCast(dtype=DType.F32)
            made = new.apply(cast, *operands, name=node.name, origin=node.origin)
            mapped[node.result] = made
        else:
            copied = copy_node(new, node, operands)
            mapped.update(zip(node.results, copied.results, strict=True))
    new.output(*(mapped[v] for v in graph.outputs), names=graph.output_names)
    return new


def _is_other(type_: TensorType) -> bool:
    return type_.dtype.is_float and type_.dtype is not DType.F32


def _narrow(dtype: DType) -> DType:
    return DType.F32 if dtype.is_float else dtype


def _single(type_: TensorType) -> TensorType:
    return replace(type_, dtype=_narrow(type_.dtype))
