"""Structural hash: the key of every cache, and a model's identity in reports."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from rlx.ir.graph import Constant, Graph, Source
from rlx.ir.payload import to_buffer
from rlx.ir.plain import PlainRecord, encode_fields, map_plain, to_json
from rlx.ir.printer import format_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir.graph import Node
    from rlx.ir.plain import Plain

FORMAT = "rlx-graph-1"
"""Hashed first; changes whenever the meaning of the rest does."""


def structural_hash(graph: Graph) -> str:
    """Return the SHA-256 of the computation of ``graph``, as 64 hexadecimal digits.

    It covers the ops that outputs depend on, their attributes, all types with quantization, the
    contents of constants, the number, order and types of inputs, parameters and outputs. It does
    not depend on names (of the graph, nodes, inputs, outputs), origins, unused nodes, the order of
    independent nodes, the process or the machine. The hash of a region is part of its op.

    Nodes are numbered by a depth-first walk from the outputs in order, operands first, left to
    right; inputs and parameters come before all others in the order of their declaration.

    Raises:
        ValueError: An attribute does not match its annotation.
    """
    known = graph.digest
    if known is None or known[:2] != (graph.count, len(graph.outputs)):
        # Graphs only grow, so the two numbers say whether this one has.
        known = graph.digest = graph.count, len(graph.outputs), _computed_hash(graph)
    return known[2]


def _computed_hash(graph: Graph) -> str:
    """Return the structural hash of ``graph`` in its current state."""
    digest = hashlib.sha256()

    def add(*parts: object) -> None:
        digest.update(json.dumps(parts, ensure_ascii=True).encode())

    numbers: dict[Node, int] = {}
    add(FORMAT, len(graph.inputs), len(graph.params), len(graph.outputs))
    sources = [v.node for v in (*graph.inputs, *graph.params)]
    for node in [*sources, *_walk(graph)]:
        if node not in numbers:
            numbers[node] = len(numbers)
            add(*node_facts(node), [(numbers[o.node], o.index) for o in node.operands])
    add([(numbers[v.node], v.index) for v in graph.outputs])
    return digest.hexdigest()


def node_facts(node: Node) -> tuple[object, ...]:
    """Return the facts of a node apart from its operands: op, attributes, types."""
    types = [format_type(t) for t in node.types]
    if isinstance(node.op, Constant):
        return node.op.name, hashlib.sha256(to_buffer(node.op.value)).hexdigest(), types
    if isinstance(node.op, Source):
        return node.op.name, node.op.settings or None, types
    attributes = {
        name: to_json(map_plain(value, _replace_region, name))
        for name, value in encode_fields(node.op).items()
    }
    return node.op.name, attributes, types


def _replace_region(plain: Plain, path: str) -> Plain:
    """Return the hash of a region in its place; any other value unchanged."""
    del path
    if not isinstance(plain, Graph):
        return plain
    return PlainRecord("graph", {"hash": structural_hash(plain)})


def _walk(graph: Graph) -> Iterator[Node]:
    """Yield the nodes that outputs depend on, operands first, without recursion."""
    visited: set[Node] = set()
    for output in graph.outputs:
        # A stack of its own: chains of nodes may be longer than the recursion limit of Python.
        stack = [(output.node, 0)]
        while stack:
            node, operand_index = stack.pop()
            if operand_index == 0 and node in visited:
                continue
            visited.add(node)
            if operand_index < len(node.operands):
                stack.append((node, operand_index + 1))
                if node.operands[operand_index].node not in visited:
                    stack.append((node.operands[operand_index].node, 0))
            else:
                yield node
