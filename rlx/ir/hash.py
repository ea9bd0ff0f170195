"""Structural hash: the key of every cache, and a model's identity in reports."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from rlx.ir.graph import Constant, Source
from rlx.ir.payload import to_bytes
from rlx.ir.plain import encode_fields, to_json
from rlx.ir.printer import format_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir.graph import Graph, Node

FORMAT = "rlx-graph-1"
"""Hashed first; changes whenever the meaning of the rest does."""


def structural_hash(graph: Graph) -> str:
    """Return the SHA-256 of what ``graph`` computes, as 64 hexadecimal digits.

    It covers the ops that outputs depend on, their attributes, all types with quantization, the
    contents of constants, the number, order and types of inputs, parameters and outputs. It does
    not depend on names (of the graph, nodes, inputs, outputs), origins, unused nodes, the order
    in which independent nodes stand, the process or the machine.

    Nodes are numbered by a depth-first walk from the outputs in order, operands first, left to
    right; inputs and parameters come before all others in the order of their declaration.

    Raises:
        ValueError: An attribute is not what its annotation says.
    """
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
    """Return what a node is, apart from its operands: op, attributes, types."""
    types = [format_type(t) for t in node.types]
    if isinstance(node.op, Constant):
        return node.op.name, hashlib.sha256(to_bytes(node.op.value)).hexdigest(), types
    if isinstance(node.op, Source):
        return node.op.name, None, types
    attributes = {name: to_json(value) for name, value in encode_fields(node.op).items()}
    return node.op.name, attributes, types


def _walk(graph: Graph) -> Iterator[Node]:
    """Yield the nodes that outputs depend on, operands first, without recursion."""
    seen: set[Node] = set()
    for output in graph.outputs:
        stack = [(output.node, 0)]
        while stack:
            node, place = stack.pop()
            if place == 0 and node in seen:
                continue
            seen.add(node)
            if place < len(node.operands):
                stack.append((node, place + 1))
                if node.operands[place].node not in seen:
                    stack.append((node.operands[place].node, 0))
            else:
                yield node
