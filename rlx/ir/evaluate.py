"""Evaluate a graph node by node: the reference for every target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir.binding import match_shapes, substitute
from rlx.ir.graph import Input, Param
from rlx.support.errors import RlxError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir.graph import Graph, Node, Value
    from rlx.ir.types import Array


class IndexRangeError(UsageError, IndexError):
    """An index that a network reads or computes is outside its axis."""

    default_hint = "give the network indices that its tables have; they count from 0"


def evaluate(
    graph: Graph, inputs: Mapping[str, Array], params: Mapping[str, Array] | None = None
) -> list[Array]:
    """Return the outputs of ``graph``, in order.

    Args:
        graph: The graph.
        inputs: A value for each input, by name.
        params: A value for each parameter, by name.

    Raises:
        ValueError: A value is missing, or has another shape or element type than declared; a symbol
            has one size everywhere, and must follow from the shapes.
        IndexRangeError: An index is outside its axis.
    """
    values = evaluate_all(graph, inputs, params)
    return [values[v] for v in graph.outputs]


def call(graph: Graph, operands: Sequence[Array]) -> tuple[Array, ...]:
    """Return the outputs of ``graph`` for its inputs in order: the meaning of a region."""
    names = (v.name for v in graph.inputs)
    return tuple(evaluate(graph, dict(zip(names, operands, strict=True))))


def evaluate_all(
    graph: Graph, inputs: Mapping[str, Array], params: Mapping[str, Array] | None = None
) -> dict[Value, Array]:
    """Return the array of every value of ``graph``; arguments and errors as ``evaluate``."""
    sources = _sources(graph, inputs, params or {})
    types = [(_what(node), node.result.type) for node in sources]
    sizes = match_shapes(types, list(sources.values()))
    values: dict[Value, Array] = {}
    for node in graph.nodes:
        if node in sources:
            results: tuple[Array, ...] = (sources[node],)
        else:
            op = substitute(node.op, sizes) if sizes else node.op
            try:
                results = op.evaluate(*(values[o] for o in node.operands))
            except Exception as error:
                explain(node, error)
                raise
            if sizes:
                _check_shapes(node, results, sizes)
        values.update(zip(node.results, results, strict=True))
    return values


def explain(node: Node, error: Exception) -> None:
    """Add the node that failed to an error that does not name it.

    Raises:
        IndexRangeError: In place of NumPy's error of an index.
    """
    place = f"{node.op.name} {node.label}" + (f" from {node.origin}" if str(node.origin) else "")
    if isinstance(error, IndexError) and not isinstance(error, IndexRangeError):
        raise IndexRangeError(str(error), where=place) from None
    if not isinstance(error, RlxError | FloatingPointError):
        error.add_note(f"while computing {place}")


def _check_shapes(node: Node, results: tuple[Array, ...], sizes: Mapping[str, int]) -> None:
    """Raise ValueError unless results have the shapes that their types have for these sizes."""
    for result, type_ in zip(results, node.types, strict=True):
        expected = substitute(type_, sizes)
        if result.shape != expected.shape:
            bound = ", ".join(f"{name} = {size}" for name, size in sizes.items())
            raise ValueError(
                f"{node.label} must be {expected} where {bound}, but {node.op.name} gives"
                f" {list(result.shape)}"
            )


def _sources(
    graph: Graph, inputs: Mapping[str, Array], params: Mapping[str, Array]
) -> dict[Node, Array]:
    """Return the array given for each input and parameter, of the declared element types."""
    arrays = {}
    for node in graph.nodes:
        if isinstance(node.op, Input | Param):
            values = inputs if isinstance(node.op, Input) else params
            if node.name not in values:
                raise ValueError(f"{_what(node)} has no value; given: {sorted(values)}")
            array = np.asarray(values[node.name])
            if array.dtype != node.result.type.dtype.numpy:
                actual = f"{array.dtype}{list(array.shape)}"
                raise ValueError(f"{_what(node)} must be {node.result.type}, got {actual}")
            arrays[node] = array
    return arrays


def _what(node: Node) -> str:
    """Return the name of an input or a parameter in messages."""
    return f"{'input' if isinstance(node.op, Input) else 'parameter'} {node.name!r}"
