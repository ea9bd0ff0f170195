"""Parameters made part of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Param, rebuild
from rlx.ir.module import graph_of, with_graph
from rlx.support.calls import checked_call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Array, Graph, Node, Value
    from rlx.ir.module import Given


@checked_call
def freeze(graph: Given, params: Mapping[str, Array], *, strict: bool = True) -> Given:
    """Return ``graph`` with the parameters in ``params`` replaced by constants.

    Args:
        graph: A graph or a network, without a memory plan.
        params: A value for each parameter that is frozen, by name, for example a ``WeightStore``;
            others stay parameters.
        strict: Whether a name without a parameter is refused; else it is ignored.

    Raises:
        UsageError: It is something else.
        ValueError: The graph has no such parameter, or a value has another type.

    Example:
        >>> g = rlx.Graph("scale")
        >>> g.output(g.input("x", 4) * g.param("w", 4))
        >>> rlx.freeze(g.module, {"w": np.ones(4, np.float32)}).graph.params
        ()
    """
    inner = graph_of(graph)
    known = {v.name: v.type for v in inner.params}
    values: dict[str, Array] = {}
    for name in params if strict else [n for n in known if n in params]:
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise ValueError(
                f"graph {inner.name!r} has no parameter {name!r}; parameters: {listed}"
            )
        type_, array = known[name], np.asarray(params[name])
        values[name] = array
        if array.dtype != type_.dtype.numpy or array.shape != type_.shape:
            raise ValueError(
                f"parameter {name!r} must be {type_}, got {array.dtype}{list(array.shape)}"
            )

    def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> list[Value] | None:
        del operands
        if not isinstance(node.op, Param) or node.name not in values:
            return None
        return [new.constant(values[node.name], name=node.name, quant=node.result.type.quant)]

    frozen = rebuild(inner, visit, by="freeze")
    return with_graph(graph, frozen)
