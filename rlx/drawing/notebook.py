"""What notebooks show of objects: small pieces of HTML, safe and without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.drawing.graph import layer_labels, layout, layout_nodes
from rlx.drawing.html import table, text
from rlx.drawing.layers import layer_table
from rlx.drawing.svg import to_svg
from rlx.ir.graph import Input
from rlx.ir.inspect import inspect_graph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.drawing.boxes import Drawing
    from rlx.drawing.html import Cell
    from rlx.ir.graph import Graph, Node, Value
    from rlx.tables import Table

MOST_LAYERS: Final = 250
"""Layers of the largest graph that a notebook shows; a larger one is for a page of its own."""

_SCROLL: Final = "max-height:480px;overflow:auto"


def graph_html(graph: Graph, title: str = "") -> str:
    """Return a graph's size, drawing and table of layers.

    Args:
        graph: The graph.
        title: Written before its size, such as the stage.
    """
    labels = layer_labels(graph)
    head = f"{title}{': ' if title else ''}{inspect_graph(graph).stats()}"
    if len(labels) > MOST_LAYERS:
        more = f"{len(labels):,} layers are too many for a notebook: rlx inspect MODEL --html FILE"
        return _block(head, f"<p>{more}</p>")
    return _block(head, _scroll(to_svg(layout(graph, labels=labels), theme="inherit")),
                  _folded("layers", layer_table(graph, labels)))  # fmt: skip


def report_html(
    title: str,
    facts: Mapping[str, Cell],
    rows: Sequence[Mapping[str, Any]] = (),
    columns: Sequence[str] = (),
    *,
    drawing: Drawing | None = None,
) -> str:
    """Return a report: what is known of the whole, and a row for each layer.

    Args:
        title: What it is, in a line.
        facts: Figures of the whole by name; what is no number, text or None is left out.
        rows: Figures of each layer.
        columns: Keys of the rows to show; all of the first row by default.
        drawing: The layers as a picture.
    """
    shown = {k: v for k, v in facts.items() if isinstance(v, str | int | float)}
    parts = [table([_words(k) for k in shown], [tuple(shown.values())])] if shown else []
    if drawing is not None and len(drawing.boxes) <= MOST_LAYERS:
        parts.append(_scroll(to_svg(drawing, theme="inherit")))
    if rows:
        keys = columns or list(rows[0])
        cells = [[_cell(row.get(key)) for key in keys] for row in rows[:MOST_LAYERS]]
        parts.append(_folded(f"{len(rows):,} layers", table([_words(k) for k in keys], cells)))
    return _block(title, *parts)


def table_html(shown: Table, notes: Sequence[str] = ()) -> str:
    """Return a table as a piece of HTML, with notes under it."""
    rows = [[_cell(cell) for cell in row] for row in shown.rows]
    lines = [f"<p>{text(note)}</p>" for note in notes]
    return _block(shown.title, table([column.title for column in shown.columns], rows), *lines)


def rows_drawing(
    title: str, nodes: Sequence[Node], inputs: Sequence[Value], rows: Sequence[Mapping[str, Any]]
) -> Drawing:
    """Return the drawing of the nodes that the rows of a report are about.

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
    return layout_nodes(title, [*ports, *nodes], labels, shares, notes)


def _block(head: str, *parts: str) -> str:
    return f'<div class="rlx"><p>{text(head)}</p>\n' + "\n".join([*parts, "</div>"])


def _scroll(content: str) -> str:
    return f'<div style="{_SCROLL}">{content}</div>'


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{text(summary)}</summary>{_scroll(content)}</details>"


def _words(key: str) -> str:
    return key.replace("_", " ")


def _cell(value: object) -> Cell:
    return value if isinstance(value, str | int | float | None) else str(value)
