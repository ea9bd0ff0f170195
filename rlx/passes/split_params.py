"""Separate nodes that depend on parameters alone from those that depend on inputs.

Tests: tests/unit/runtime/test_lowering.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx.ir import Input, Rewriter
from rlx.ir.graph import Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rlx.ir import Graph, Node, Value


@dataclass(frozen=True, slots=True)
class SplitGraph:
    """A graph in two parts.

    Attributes:
        prologue: Computes from parameters and constants alone; its outputs are parameters of the
            main part, by name. None if there is nothing to compute.
        main: The graph itself, with parameters in place of the prologue's results. Parameters that
            only the prologue reads are missing.
    """

    prologue: Graph | None
    main: Graph


def split_params(graph: Graph) -> SplitGraph:
    """Return ``graph`` in two parts: the nodes that are the same for all inputs, and the rest.

    The prologue holds every node that depends on no input, such as the transpose of a weight; it
    has to run only when parameters change.
    """
    fixed = _input_independent(graph)
    derived = _prologue_results(graph, fixed)
    if not derived:
        return SplitGraph(None, graph)
    names = _names(graph, derived)
    prologue = Rewriter(
        graph, nodes=[n for n in graph.nodes if n in fixed], name=f"{graph.name} prologue"
    )
    # Sources that only the prologue reads are not copied to the main part.
    read = {o for n in graph.nodes if n not in fixed for o in n.operands} | set(graph.outputs)
    nodes = [n for n in graph.nodes if n not in fixed or (_is_source(n) and n.result in read)]
    main = Rewriter(graph, nodes=nodes)
    for value in derived:
        main[value] = main.new.param(names[value], value.type, origin=value.node.origin)
    return SplitGraph(prologue.finish(derived, [names[v] for v in derived]), main.finish())


def _input_independent(graph: Graph) -> set[Node]:
    """Return the nodes that depend on no input."""
    fixed: set[Node] = set()
    for node in graph.nodes:
        if not isinstance(node.op, Input) and all(o.node in fixed for o in node.operands):
            fixed.add(node)
    return fixed


def _prologue_results(graph: Graph, fixed: set[Node]) -> list[Value]:
    """Return the computed values of fixed nodes that other nodes or outputs read, in order."""
    read = [o for n in graph.nodes if n not in fixed for o in n.operands]
    wanted = dict.fromkeys((*read, *graph.outputs))
    return [v for v in wanted if v.node in fixed and not _is_source(v.node)]


def _is_source(node: Node) -> bool:
    return isinstance(node.op, Source)


def _names(graph: Graph, derived: Iterable[Value]) -> dict[Value, str]:
    """Return a name for each value that no input or parameter has."""
    used_names = {v.name for v in (*graph.inputs, *graph.params)}
    names: dict[Value, str] = {}
    for value in derived:
        name = f"{value.name or value.node.op.name}.{value.node.index}.{value.index}"
        while name in used_names:
            name = f"{name}'"
        used_names.add(name)
        names[value] = name
    return names
