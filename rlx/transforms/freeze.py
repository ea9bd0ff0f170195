"""Parameters made part of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Param, rebuild

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Array, Graph, Node, Value


def freeze(graph: Graph, params: Mapping[str, Array]) -> Graph:
    """Return ``graph`` with the parameters in ``params`` replaced by constants.

    Args:
        graph: The graph.
        params: A value for each parameter that is frozen, by name; others stay parameters.

    Raises:
        ValueError: The graph has no such parameter, or a value has another type.
    """
    known = {v.name: v.type for v in graph.params}
    for name, array in params.items():
        if name not in known:
            raise ValueError(f"graph {graph.name!r} has no parameter {name!r}, only {list(known)}")
        type_ = known[name]
        if array.dtype != type_.dtype.numpy or array.shape != type_.shape:
            raise ValueError(
                f"parameter {name!r} must be {type_}, not {array.dtype}{list(array.shape)}"
            )

    def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> list[Value] | None:
        del operands
        if not isinstance(node.op, Param) or node.name not in params:
            return None
        value = np.asarray(params[node.name])
        return [new.constant(value, name=node.name, quant=node.result.type.quant)]

    return rebuild(graph, visit, by="freeze")
