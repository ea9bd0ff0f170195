"""Pictures of graphs in Graphviz' language."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rlx.ir.graph import Constant, Source
from rlx.ir.inspect import printable
from rlx.ir.printer import format_type

if TYPE_CHECKING:
    from rlx.ir.graph import Graph, Node


def to_dot(graph: Graph) -> str:
    """Return ``graph`` as a DOT digraph: a box for each op, an edge for each value read.

    Constants are not drawn; an op says how many of its operands are constant.
    """
    lines = ["digraph {", "  node [shape=box, fontname=monospace];"]
    drawn = [n for n in graph.nodes if not isinstance(n.op, Constant)]
    lines += [f"  n{node.index} [label={_quoted(*_label(node))}{_style(node)}];" for node in drawn]
    for node in drawn:
        for operand in node.operands:
            if not isinstance(operand.node.op, Constant):
                label = _quoted(format_type(operand.type, full=False))
                lines.append(f"  n{operand.node.index} -> n{node.index} [label={label}];")
    for place, (value, name) in enumerate(zip(graph.outputs, graph.output_names, strict=True)):
        if isinstance(value.node.op, Constant):
            continue
        label = _quoted(format_type(value.type, full=False))
        lines.append(f"  out{place} [label={_quoted(printable(name))}, shape=oval];")
        lines.append(f"  n{value.node.index} -> out{place} [label={label}];")
    return "\n".join([*lines, "}", ""])


def _label(node: Node) -> list[str]:
    """Return the lines in a node's box."""
    constants = sum(isinstance(o.node.op, Constant) for o in node.operands)
    lines = [f"%{node.index} {node.op.name}", printable(node.name)]
    return [line for line in (*lines, f"{constants} constants" if constants else "") if line]


def _style(node: Node) -> str:
    """Return attributes that set inputs and parameters apart."""
    return ", shape=oval" if isinstance(node.op, Source) else ""


def _quoted(*lines: str) -> str:
    """Return a DOT string; ``printable`` has left no character that could end it but these."""
    return '"' + "\\n".join(json.dumps(line)[1:-1] for line in lines) + '"'
