"""Pieces of HTML that notebooks show of objects: small, safe and without scripts.

Tests: tests/unit/reports/drawing/test_objects.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.support.text.html import table, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.support.text.html import Cell
    from rlx.support.text.tables import Table

MAX_LAYERS: Final = 250
"""Layers of the largest graph that a notebook shows; a larger one is for a page of its own."""

_SCROLL: Final = "max-height:480px;overflow:auto"


def report_html(
    title: str,
    facts: Mapping[str, Cell],
    rows: Sequence[Mapping[str, Any]] = (),
    columns: Sequence[str] = (),
    *,
    picture: str = "",
) -> str:
    """Return a report: facts about the whole, and a row for each layer.

    Args:
        title: Its subject, in a line.
        facts: Figures of the whole by name; those that are neither number nor text are left out.
        rows: Figures of each layer.
        columns: Keys of the rows to show; all of the first row by default.
        picture: The layers as SVG, or "".
    """
    cells_by_name = {k: v for k, v in facts.items() if isinstance(v, str | int | float)}
    parts = (
        [table([_words(k) for k in cells_by_name], [tuple(cells_by_name.values())])]
        if cells_by_name
        else []
    )
    if picture:
        parts.append(scroll(picture))
    if rows:
        keys = columns or list(rows[0])
        cells = [[_cell(row.get(key)) for key in keys] for row in rows[:MAX_LAYERS]]
        parts.append(folded(f"{len(rows):,} layers", table([_words(k) for k in keys], cells)))
    return block(title, *parts)


def table_html(content: Table, notes: Sequence[str] = ()) -> str:
    """Return a table as a piece of HTML, with notes under it."""
    rows = [[_cell(cell) for cell in row] for row in content.rows]
    lines = [f"<p>{text(note)}</p>" for note in notes]
    return block(content.title, table([column.title for column in content.columns], rows), *lines)


def block(head: str, *parts: str) -> str:
    """Return pieces of HTML under a line of text."""
    return f'<div class="rlx"><p>{text(head)}</p>\n' + "\n".join([*parts, "</div>"])


def scroll(content: str) -> str:
    """Return a piece of HTML in a box of limited height."""
    return f'<div style="{_SCROLL}">{content}</div>'


def folded(summary: str, content: str) -> str:
    """Return a piece of HTML that opens at a click on its summary."""
    return f"<details><summary>{text(summary)}</summary>{scroll(content)}</details>"


def _words(key: str) -> str:
    return key.replace("_", " ")


def _cell(value: object) -> Cell:
    return value if isinstance(value, str | int | float | None) else str(value)
