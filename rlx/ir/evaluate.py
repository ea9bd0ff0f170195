"""Evaluate a graph node by node: the reference for every target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir.graph import Input, Param
from rlx.ir.types import Dim

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
        ValueError: A value is missing, or has another shape or element type than declared; a
            symbol stands for one size everywhere.
    """
    values = evaluate_all(graph, inputs, params)
    return [values[v] for v in graph.outputs]


def evaluate_all(
    graph: Graph, inputs: Mapping[str, Array], params: Mapping[str, Array] | None = None
) -> dict[Value, Array]:
    """Return the array of every value of ``graph``; arguments as ``evaluate``."""
    values: dict[Value, Array] = {}
    sizes: dict[Dim, int] = {}
    for node in graph.nodes:
        if isinstance(node.op, Input):
            results: tuple[Array, ...] = (_bound(node, "input", inputs, sizes),)
        elif isinstance(node.op, Param):
            results = (_bound(node, "parameter", params or {}, sizes),)
        else:
            results = node.op.evaluate(*(values[o] for o in node.operands))
        values.update(zip(node.results, results, strict=True))
    return values


def _bound(node: Node, what: str, given: Mapping[str, Array], sizes: dict[Dim, int]) -> Array:
    """Return the array given for an input or parameter, checked against its type.

    ``sizes`` collects what the symbols stand for.
    """
    if node.name not in given:
        raise ValueError(f"{what} {node.name!r} has no value; given: {sorted(given)}")
    array = np.asarray(given[node.name])
    type_ = node.result.type
    if array.dtype != type_.dtype.numpy or array.ndim != type_.rank:
        raise _misfit(node, what, array)
    for wanted, size in zip(type_.shape, array.shape, strict=True):
        known = sizes.setdefault(wanted, size) if isinstance(wanted, Dim) else wanted
        if size != known:
            raise _misfit(node, what, array, "" if known == wanted else f" with {wanted} = {known}")
    return array


def _misfit(node: Node, what: str, array: Array, extra: str = "") -> ValueError:
    """Return the error for an array that is not of the declared type."""
    found = f"{array.dtype}{list(array.shape)}"
    return ValueError(f"{what} {node.name!r} must be {node.result.type}{extra}, not {found}")
