"""Pictures of networks in notebooks.

Tests: tests/unit/reports/drawing/test_objects.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.ir.graph import Input
from rlx.ir.inspect import inspect_graph
from rlx.reports.drawing.graph import layer_labels, layout, layout_nodes
from rlx.reports.drawing.layers import layer_table
from rlx.reports.drawing.svg import to_svg
from rlx.support.text.notebook import MAX_LAYERS, block, folded, scroll

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir.graph import Graph, Node, Value


def graph_html(graph: Graph, title: str = "") -> str:
    """Return a graph's size, drawing and table of layers.

    Args:
        graph: The graph.
        title: Written before its size, such as the stage.
    """
    labels = layer_labels(graph)
    head = f"{title}{': ' if title else ''}{inspect_graph(graph).stats()}"
    if len(labels) > MAX_LAYERS:
        more = f"{len(labels):,} layers are too many for a notebook: rlx draw MODEL -o FILE.html"
        return block(head, f"<p>{more}</p>")
    return block(head, scroll(to_svg(layout(graph, labels=labels), theme="inherit")),
                 folded("layers", layer_table(graph, labels)))  # fmt: skip


def rows_svg(
    nodes: Sequence[Node], inputs: Sequence[Value], rows: Sequence[Mapping[str, Any]]
) -> str:
    """Return the drawing of the nodes that the rows of a report are about; "" if they are many.

    Boxes are higher by their share of the instructions or cycles, where the rows have them.
    """
    labels = {
        node: f"{row.get('name') or node.op.name} #{place}"
        for place, (node, row) in enumerate(zip(nodes, rows, strict=False))
    }
    inputs = inputs or [o for n in nodes for o in n.operands if isinstance(o.node.op, Input)]
    ports = list(dict.fromkeys(value.node for value in inputs))
    labels |= {node: f"input_{place}" for place, node in enumerate(ports)}
    key = next((k for k in ("instructions", "cycles") if rows and k in rows[0]), "")
    times = [float(row.get(key) or 0) for row in rows]
    whole = sum(times) or 1.0
    shares = {node: time / whole for node, time in zip(nodes, times, strict=False)}
    notes = {node: f"{share:.0%}" for node, share in shares.items() if share >= 0.005}
    drawing = layout_nodes("", [*ports, *nodes], labels, shares, notes)
    return "" if len(drawing.boxes) > MAX_LAYERS else to_svg(drawing, theme="inherit")
