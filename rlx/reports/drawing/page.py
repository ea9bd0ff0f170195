"""A page that shows a graph: drawing, table of layers, and a pane for the selected one."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rlx.ir.inspect import inspect_graph
from rlx.reports.drawing.graph import layer_labels, layout
from rlx.reports.drawing.layers import layer_details, layer_table
from rlx.reports.drawing.svg import style, to_svg
from rlx.support.text.html import text

if TYPE_CHECKING:
    from rlx.ir.graph import Graph

_HERE: Final = Path(__file__).parent


def graph_page(graph: Graph) -> str:
    """Return one HTML page that needs nothing else: no library, no request.

    Names of the model are text only, and the page forbids the browser to run another script than
    its own.
    """
    labels = layer_labels(graph)
    script = (_HERE / "page.js").read_text(encoding="utf-8")
    sections = "\n".join(
        f'<section data-layer="{text(label)}" hidden>{details}</section>'
        for label, details in layer_details(graph, labels).items()
    )
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(graph.name)}</title>",
            f"<style>\n{(_HERE / 'page.css').read_text(encoding='utf-8')}{style('page')}</style>",
            "</head>",
            "<body>",
            f"<header><h1>{text(graph.name)}</h1><p>{text(inspect_graph(graph).stats())}</p></header>",
            "<main>",
            f'<div id="graph">{to_svg(layout(graph, labels=labels), theme="page")}</div>',
            f'<div id="side"><div id="details">{sections}</div>',
            f'<div class="scroll">{layer_table(graph, labels)}</div></div>',
            "</main>",
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _policy(script: str) -> str:
    """Return the browser's policy: it may load and run the page's own style and script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline';"
        f" script-src 'sha256-{digest}'"
    )
