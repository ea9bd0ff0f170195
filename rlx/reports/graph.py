"""Drawing of a report's network (``rlx.reports.drawing``), each layer as high as its share.

Tests: tests/unit/reports/test_page.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from rlx.reports.drawing.arrange import COLUMNS, arrange
from rlx.reports.drawing.boxes import Draft
from rlx.reports.drawing.svg import to_svg
from rlx.reports.kinds import colour_of
from rlx.reports.model import shape_text
from rlx.reports.tables import percent_text
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from rlx.reports.model import Layer, Port
    from rlx.reports.report import Report


def graph_svg(report: Report) -> Markup:
    """Return the layers from top to bottom, each as high as its share of the time.

    A page selects a layer's box by ``data-layer``, its position; those of inputs have none.
    """
    whole = max(sum(one.share for one in report.layers), 1.0)  # more than 1 in a pipeline
    drafts = [_port(place, one) for place, one in enumerate(report.inputs)]
    drafts += [_layer(one, one.share / whole) for one in report.layers]
    drawing = arrange(printable(report.title), drafts, _links(report))
    return Markup(to_svg(drawing, theme="page"))


def _port(position: int, port: Port) -> Draft:
    return Draft(
        id=shorten(printable(port.name) or f"input {position}", COLUMNS), key="", op="input",
        kind="port", lines=(f"{port.dtype} {shape_text(port.shape)}",),
        tooltip=printable(port.name), is_input=True,
    )  # fmt: skip


def _layer(layer: Layer, share: float) -> Draft:
    note = percent_text(layer.share)
    return Draft(
        id=shorten(f"{layer.index}  {printable(layer.name)}", COLUMNS),
        key=str(layer.index),
        op="",
        kind=colour_of(layer.op),
        lines=(shorten(printable(layer.op), COLUMNS - len(note)), layer.type_text),
        note=note,
        tooltip=f"{printable(layer.name)}, {layer.op}, {layer.type_text}, {note}",
        share=share,
    )


def _links(report: Report) -> list[tuple[int, int, str]]:
    """Return the values between boxes: inputs come first, then layers."""
    count = len(report.inputs)
    links = []
    for layer in report.layers:
        for source in dict.fromkeys(layer.inputs):
            box = count + source if source >= 0 else -1 - source
            text = report.layers[source].type_text if source >= 0 else ""
            if 0 <= box < count + layer.index:
                links.append((box, count + layer.index, text))
    return links
