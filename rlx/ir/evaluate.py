"""Evaluate a graph node by node: the reference for every target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir.graph import Input, Param

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir.graph import Graph, Node, Value
    from rlx.ir.types import Array


def evaluate(
    graph: Graph, inputs: Mapping[str, Array], params: Mapping[str, Array] | None = None
) -> list[Array]:
    """Return the outputs of ``graph``, in order.

    Args:
        graph: The graph.
        inputs: A value for each input, by name.
        params: A value for each parameter, by name.

    Raises:
        ValueError: A value is missing, or has another shape or element type than declared.
    """
    values = evaluate_all(graph, inputs, params)
    return [values[v] for v in graph.outputs]


def evaluate_all(
    graph: Graph, inputs: Mapping[str, Array], params: Mapping[str, Array] | None = None
) -> dict[Value, Array]:
    """Return the array of every value of ``graph``; arguments as ``evaluate``."""
    values: dict[Value, Array] = {}
    for node in graph.nodes:
        if isinstance(node.op, Input):
            results: tuple[Array, ...] = (_bound(node, "input", inputs),)
        elif isinstance(node.op, Param):
            results = (_bound(node, "parameter", params or {}),)
        else:
            results = node.op.evaluate(*(values[o] for o in node.operands))
        values.update(zip(node.results, results, strict=True))
    return values


def _bound(node: Node, what: str, given: Mapping[str, Array]) -> Array:
    """Return the array given for an input or parameter, checked against its type."""
    if node.name not in given:
        raise ValueError(f"{what} {node.name!r} has no value; given: {sorted(given)}")
    array = np.asarray(given[node.name])
    type_ = node.result.type
    if array.dtype != type_.dtype.numpy or (type_.is_static and array.shape != type_.shape):
        raise ValueError(
            f"{what} {node.name!r} must be {type_}, not {array.dtype}{list(array.shape)}"
        )
    return array
