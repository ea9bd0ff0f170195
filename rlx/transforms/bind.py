"""Symbolic dimensions: which ones a graph has, and the same graph with numbers in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir import Graph, Input, Param, rebuild
from rlx.ir.binding import substitute, symbols_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Node, Value


def symbols(graph: Graph) -> tuple[str, ...]:
    """Return the names of all symbols in the dimensions of inputs and parameters, sorted."""
    return tuple(sorted(symbols_of(tuple(v.type for v in (*graph.inputs, *graph.params)))))


def bind(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """Return ``graph`` with symbols replaced by numbers, and every type inferred anew.

    Args:
        graph: The graph.
        sizes: A size for each symbol that is bound, by name; others stay symbols.

    Raises:
        ValueError: The graph has no such symbol, a size is not positive, or a dimension would
            be negative.
        ShapeError: An op does not take operands of these sizes.
    """
    known = list(symbols(graph))
    for name, size in sizes.items():
        if name not in known:
            raise ValueError(f"graph {graph.name!r} has no symbol {name!r}, only {known}")
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(f"symbol {name!r} must be bound to a positive number, not {size!r}")

    def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
        op = substitute(node.op, sizes)
        if op is node.op:
            return None
        quants = [t.quant for t in node.types]
        quant = quants[0] if len(quants) == 1 and not isinstance(op, Input | Param) else None
        return new.append(op, *operands, quant=quant).results

    return rebuild(graph, visit) if sizes else graph
