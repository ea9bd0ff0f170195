"""Drawings as SVG.

Tests: tests/unit/reports/drawing/test_drawing.py
"""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from rlx.reports.drawing.arrange import COLUMNS, fits_beside

if TYPE_CHECKING:
    from rlx.reports.drawing.boxes import Box, Drawing, Edge, Point

_LIGHT: Final = {
    "page": "#ffffff", "text": "#1f2328", "muted": "#656d76", "line": "#8c959f",
    "port": "#eef1f4", "weights": "#d6e6fb", "elementwise": "#d9f0dd", "moves": "#f7ecd3",
    "other": "#eadff7",
}  # fmt: skip
_DARK: Final = {
    "page": "#0d1117", "text": "#e6edf3", "muted": "#9198a1", "line": "#656c76",
    "port": "#21262d", "weights": "#173a63", "elementwise": "#163f23", "moves": "#4a3a12",
    "other": "#3b2a55",
}  # fmt: skip
# Half transparent over the background of the page, with the page's own colour of text.
_INHERIT: Final = {
    "page": "transparent", "text": "currentColor", "muted": "#848d97", "line": "#8c959f",
    "port": "#8c959f33", "weights": "#2f81f744", "elementwise": "#2da44e44", "moves": "#bf870044",
    "other": "#8250df44",
}  # fmt: skip

THEMES: Final = ("auto", "light", "dark", "inherit", "page")
"""Accepted values of ``theme`` of ``to_svg``."""

_RULES: Final = """\
.rlx-drawing { background: var(--rlx-page); font: 11px ui-monospace, Menlo, Consolas, \
"DejaVu Sans Mono", monospace; }
.rlx-drawing text { fill: var(--rlx-text); }
.rlx-drawing .rlx-muted { fill: var(--rlx-muted); }
.rlx-drawing .rlx-label { font-weight: 600; }
.rlx-drawing .rlx-right { text-anchor: end; }
.rlx-drawing .rlx-edge { fill: none; stroke: var(--rlx-line); stroke-width: 1.5; }
.rlx-drawing .rlx-layer rect { stroke: var(--rlx-line); }
.rlx-drawing .rlx-layer.rlx-selected rect { stroke: var(--rlx-text); stroke-width: 2.5; }
.rlx-drawing .rlx-tip { fill: var(--rlx-line); }
"""
_KINDS: Final = ("port", "weights", "elementwise", "moves", "other")


class Picture(str):
    """SVG as a text, which notebooks show as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def to_svg(drawing: Drawing, *, theme: str = "auto") -> str:
    """Return a drawing as one SVG element, ASCII but for the texts of the model.

    Each box is a ``<g class="rlx-layer" data-layer="ID">`` with a tooltip; a page may add the class
    ``rlx-selected``. A box with a key of its own has that for ``ID``, is an option of a list box,
    and can have the focus, for which the page sets ``tabindex``.
    Colours are the variables ``--rlx-text``, ``--rlx-line`` and so on of the class ``rlx-drawing``.

    Args:
        drawing: Result of ``layout``.
        theme: ``light`` or ``dark``; ``auto`` for the setting of the reader's system; ``inherit``
            for the text's colour of the page around it, as in notebooks; ``page`` for no styles at
            all: the page has those that :func:`style` returns.

    Raises:
        ValueError: There is no such theme.
    """
    size = f'width="{drawing.width:g}" height="{drawing.height:g}"'
    role = "listbox" if any(box.key for box in drawing.boxes) else "img"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rlx-drawing" {size}'
        f' viewBox="0 0 {drawing.width:g} {drawing.height:g}" role="{role}">',
        f"<title>{escape(drawing.title)}</title>",
    ]
    if theme != "page":
        parts.append(f"<style>\n{style(theme)}</style>")
    parts += [_edge(edge, named=theme != "page") for edge in drawing.edges]
    parts += [_box(box) for box in drawing.boxes]
    return "\n".join([*parts, "</svg>", ""])


def style(theme: str) -> str:
    """Return the style sheet of drawings.

    Raises:
        ValueError: There is no such theme.
    """
    if theme not in THEMES:
        raise ValueError(f"no theme is called {theme!r}; there are: {', '.join(THEMES)}")
    colours = {"dark": _DARK, "inherit": _INHERIT}.get(theme, _LIGHT)
    kinds = "".join(f".rlx-drawing .rlx-{k} rect {{ fill: var(--rlx-{k}); }}\n" for k in _KINDS)
    text = f".rlx-drawing {{ {_variables(colours)} }}\n{_RULES}{kinds}"
    if theme in ("auto", "page"):
        dark = f".rlx-drawing {{ {_variables(_DARK)} }}"
        text += f"@media (prefers-color-scheme: dark) {{ {dark} }}\n"
    return text


def _variables(colours: dict[str, str]) -> str:
    return " ".join(f"--rlx-{name}: {colour};" for name, colour in colours.items())


def _edge(edge: Edge, *, named: bool) -> str:
    """Return a curve with an arrowhead, and on request the names of the boxes at its ends."""
    path = "".join(_step(a, b) for a, b in pairwise(edge.points))
    (x, y), (end_x, end_y) = edge.points[0], edge.points[-1]
    tip = f"M{end_x:g} {end_y:g}l-3.5 -6h7z"
    ends = f' data-from="{escape(edge.source)}" data-to="{escape(edge.target)}"' if named else ""
    return (
        f"<g{ends}><title>{escape(edge.tooltip)}</title>"
        f'<path class="rlx-edge" d="M{x:g} {y:g}{path}"/><path class="rlx-tip" d="{tip}"/></g>'
    )


def _step(start: Point, end: Point) -> str:
    """Return one step of a path: straight down, or a curve that begins and ends vertically."""
    if start[0] == end[0]:
        return f"V{end[1]:g}"
    middle = (start[1] + end[1]) / 2
    return f"C{start[0]:g} {middle:g} {end[0]:g} {middle:g} {end[0]:g} {end[1]:g}"


def _box(box: Box) -> str:
    """Return a rectangle with its texts."""
    left, right = box.x + 8, box.x + box.width - 8
    texts = [_text(left, box.y + 16, _end(box.id), "rlx-label")]
    if box.op and fits_beside(box.id, box.op):
        texts.append(_text(right, box.y + 16, box.op, _RIGHT))
    texts += [
        _text(left, box.y + 31 + 15 * row, line, "rlx-muted" if row else "")
        for row, line in enumerate(box.lines)
    ]
    if box.note:
        texts.append(_text(right, box.y + 31, box.note, "rlx-label rlx-right"))
    key = box.id if box.key is None else box.key
    selected_by = f' data-layer="{escape(key)}"' if key else ""
    if key and box.key is not None:
        selected_by += ' tabindex="-1" role="option"'
    return (
        f'<g class="rlx-layer rlx-{escape(box.kind)}"{selected_by}>'
        f"<title>{escape(box.tooltip)}</title>"
        f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="4"/>'
        f"{''.join(texts)}</g>"
    )


def _end(label: str) -> str:
    """Return a label, or its end where that is all a box has space for."""
    return label if len(label) <= COLUMNS else f"…{label[1 - COLUMNS :]}"


_RIGHT: Final = "rlx-muted rlx-right"


def _text(x: float, y: float, text: str, classes: str) -> str:
    kind = f' class="{classes}"' if classes else ""
    return f'<text x="{x:g}" y="{y:g}"{kind}>{escape(text)}</text>'
