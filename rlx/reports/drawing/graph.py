"""Boxes and edges of a graph.

Tests: tests/unit/reports/drawing/test_drawing.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.ir.graph import Constant, Input, Param, Source
from rlx.ir.inspect import node_macs
from rlx.ir.layer_names import layer_names, origins_of
from rlx.ir.macs import MACS
from rlx.ir.printer import format_type
from rlx.reports.drawing.arrange import COLUMNS, arrange, fits_beside
from rlx.reports.drawing.boxes import Draft
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir.graph import Graph, Node, Value
    from rlx.reports.drawing.boxes import Drawing

_MAX_TOOLTIP_CHARS: Final = 400
"""Characters of a tooltip's line."""


def layout(
    graph: Graph,
    heights: Mapping[Node, float] | None = None,
    *,
    labels: Mapping[Node, str] | None = None,
    notes: Mapping[Node, str] | None = None,
) -> Drawing:
    """Return ``graph`` as boxes and edges, inputs at the top.

    Constants and parameters are not drawn; a box says how many bytes of them it has.

    Args:
        graph: The graph.
        heights: Share of the whole (0 to 1) of some nodes, such as of the time: their boxes are
            higher by this share.
        labels: The ``id`` of each box; None for :func:`layer_labels`.
        notes: A short text for some nodes, such as ``12 %``, at the right edge of the box.
    """
    labels = layer_labels(graph) if labels is None else labels
    nodes = _boxed_nodes(graph)
    outputs = [v for v in graph.outputs if not isinstance(v.node.op, Constant | Param)]
    drafts = [*_drafts(nodes, labels, heights or {}, notes or {}), *_outputs(graph)]
    return arrange(printable(graph.name), drafts, _links(nodes, outputs))


def layout_nodes(
    title: str,
    nodes: Sequence[Node],
    labels: Mapping[Node, str],
    heights: Mapping[Node, float],
    notes: Mapping[Node, str],
) -> Drawing:
    """Return some nodes of a graph as boxes, operands before their users; else as ``layout``."""
    return arrange(printable(title), _drafts(nodes, labels, heights, notes), _links(nodes, ()))


def layer_labels(graph: Graph) -> dict[Node, str]:
    """Return a label for each input and each node that computes: the name of its layer."""
    return layer_names(graph)


def kind_of(node: Node) -> str:
    """Return the kind of a node: ``port``, ``weights``, ``elementwise``, ``moves`` or ``other``."""
    op = node.op
    if isinstance(op, Source):
        return "port"
    if type(op) in MACS:
        return "weights"
    if op.traits.moves_only:
        return "moves"
    return "elementwise" if op.traits.elementwise else "other"


def _boxed_nodes(graph: Graph) -> list[Node]:
    """Return the nodes that have a box: inputs and ops that compute."""
    return [n for n in graph.nodes if not isinstance(n.op, Constant | Param)]


def _drafts(
    nodes: Sequence[Node],
    labels: Mapping[Node, str],
    heights: Mapping[Node, float],
    notes: Mapping[Node, str],
) -> list[Draft]:
    return [_draft(n, labels[n], notes.get(n, ""), heights.get(n, 0.0)) for n in nodes]


def _draft(node: Node, label: str, note: str, share: float) -> Draft:
    """Return the box of an input or a node that computes."""
    types = ", ".join(format_type(t.with_quant(None)) for t in node.types)
    below = () if fits_beside(label, node.op.name) else (node.op.name,)
    lines = (shorten(types, COLUMNS - len(note)), *below)
    return Draft(
        id=label, op=node.op.name, kind=kind_of(node), lines=lines, note=note, share=share,
        tooltip=_tooltip(node, label), is_input=isinstance(node.op, Input),
    )  # fmt: skip


def _outputs(graph: Graph) -> list[Draft]:
    """Return a box for each output that is not constant."""
    outputs = zip(graph.outputs, graph.output_names, strict=True)
    return [
        Draft(
            id=f"output {place}", op="output", kind="port",
            lines=(shorten(format_type(value.type.with_quant(None)), COLUMNS), tail(name)),
            tooltip=f"output {place}: {_cut(name)}\n{_cut(format_type(value.type, full=False))}",
        )
        for place, (value, name) in enumerate(outputs)
        if not isinstance(value.node.op, Constant | Param)
    ]  # fmt: skip


def _links(nodes: Sequence[Node], outputs: Sequence[Value]) -> list[tuple[int, int, str]]:
    """Return source, target and type of every value between two boxes, each once."""
    index_of = {node: index for index, node in enumerate(nodes)}
    reads: list[tuple[Value, int]] = [
        (operand, index_of[node]) for node in nodes for operand in node.operands
    ]
    reads += [(value, len(nodes) + index) for index, value in enumerate(outputs)]
    return [
        (index_of[value.node], target, _cut(format_type(value.type, full=False)))
        for value, target in dict.fromkeys(reads)
        if value.node in index_of
    ]


def _tooltip(node: Node, label: str) -> str:
    """Return the facts known of a node, on several lines."""
    constant_bytes = sum(o.type.nbytes for o in node.operands if isinstance(o.node.op, Constant))
    macs = None if isinstance(node.op, Source) else node_macs(node)
    lines = [
        f"{label}: {node.op.name}",
        ", ".join(format_type(t, full=False) for t in node.types),
        f"{macs:,} MACs" if macs else "",
        f"{constant_bytes:,} bytes of constants" if constant_bytes else "",
        *origins_of(node),
    ]
    return "\n".join(_cut(line) for line in lines if line)


def tail(name: str) -> str:
    """Return the end of a name, where model files put its distinguishing part."""
    safe = printable(name)
    return safe if len(safe) <= COLUMNS else f"…{safe[1 - COLUMNS :]}"


def _cut(text: str) -> str:
    return shorten(printable(text), _MAX_TOOLTIP_CHARS)
