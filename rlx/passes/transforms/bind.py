"""Symbolic dimensions: which ones a graph has, and the same graph with integers in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir.binding import bind_graph, symbols_of
from rlx.ir.graph import Param
from rlx.ir.module import graph_of, with_graph
from rlx.support.calls import checked_call
from rlx.support.errors import UsageError
from rlx.support.text.names import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rlx.ir import Graph
    from rlx.ir.module import Given


def sizes_hint(names: Iterable[str]) -> str:
    """Return the hint where a graph has symbols, called ``names``: three of them are shown."""
    sizes = ", ".join(f"{printable(name)!r}: 1" for name in sorted(names)[:3])
    return (
        f"give sizes: rlx.bind(model, {{{sizes}}}) in Python; for an ONNX file"
        " 'rlx import MODEL --input-shape NAME=1x8 -o NET.rlx'"
    )


def symbols(graph: Graph) -> tuple[str, ...]:
    """Return the names of all symbols in the dimensions of inputs and parameters, sorted."""
    return tuple(sorted(symbols_of(tuple(v.type for v in (*graph.inputs, *graph.params)))))


@checked_call
def bind(graph: Given, sizes: Mapping[str, int]) -> Given:
    """Return ``graph`` with symbols replaced by integers, and every type inferred again.

    Args:
        graph: A graph or a network, without a memory plan.
        sizes: A size for each symbol that is bound, by name; others stay symbols.

    Raises:
        UsageError: It is something else.
        ValueError: The graph has no such symbol, a size is not positive, or a dimension would
            be negative.
        ShapeError: An op does not accept operands of these sizes.

    Example:
        >>> graph = rlx.trace("double", lambda x: x + x, rlx.f32(rlx.Dim("n"), 4))
        >>> print(rlx.bind(graph.module, {"n": 3}).graph.inputs[0].type)
        f32[3, 4]
    """
    inner = graph_of(graph)
    known = list(symbols(inner))
    for name, size in sizes.items():
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise ValueError(f"graph {inner.name!r} has no symbol {name!r}; symbols: {listed}")
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(f"symbol {name!r} must be bound to a positive number, got {size!r}")
    bound = bind_graph(inner, sizes)
    return with_graph(graph, bound)


def check_bound(graph: Graph) -> None:
    """Check that ``graph`` can be run with nothing but its inputs.

    Raises:
        UsageError: A dimension is a symbol, or a parameter has no value.
    """
    for node in graph.nodes:
        if isinstance(node.op, Param):
            raise UsageError(
                "is a parameter without a value",
                where=f"parameter {printable(node.name)!r}",
                hint="give every parameter a value with rlx.freeze, and save the graph again",
            )
        for type_ in node.types:
            if not type_.is_static:
                raise UsageError(
                    f"{printable(str(type_))} has dynamic dimensions",
                    where=f"node %{node.index} {printable(node.name)!r}",
                    hint=sizes_hint(symbols_of(type_)),
                )
