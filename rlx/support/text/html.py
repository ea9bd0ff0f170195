"""Pieces of HTML; texts of a model are escaped here.

Tests: tests/unit/reports/drawing/test_page.py
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, TypeAlias

from rlx.support.text.names import printable
from rlx.support.text.tables import float_text

if TYPE_CHECKING:
    from collections.abc import Sequence

Cell: TypeAlias = "str | int | float | None"

# Inline: notebooks ignore style sheets of their outputs.
_RIGHT = ' style="text-align:right"'
_LEFT = ' style="text-align:left"'


def text(value: object) -> str:
    """Return anything as text that HTML and XML show and do not act on."""
    return escape(printable(str(value)))


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    labels: Sequence[str] = (),
    last: Sequence[Cell] = (),
) -> str:
    """Return a table; columns of numbers are aligned at the right.

    Args:
        header: Title of each column.
        rows: Cells; numbers are written with commas, None as a dash.
        labels: ``data-layer`` of each row, if they have one.
        last: A row of totals.
    """
    right = [
        bool(rows) and all(not isinstance(r[c], str) for r in rows) for c in range(len(header))
    ]
    head = "".join(
        f"<th{_RIGHT if r else _LEFT}>{text(title)}</th>"
        for title, r in zip(header, right, strict=True)
    )
    marks = [f' data-layer="{text(label)}"' for label in labels] or [""] * len(rows)
    body = "\n".join(
        f"<tr{mark}>{_cells(row, right)}</tr>" for row, mark in zip(rows, marks, strict=True)
    )
    foot = f"\n<tfoot><tr>{_cells(last, right)}</tr></tfoot>" if last else ""
    return (
        f'<table class="rlx-table">\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>{foot}\n</table>"
    )


def _cells(row: Sequence[Cell], right: Sequence[bool]) -> str:
    return "".join(
        f"<td{_RIGHT if r else _LEFT}{_sort_key(cell)}>{_shown(cell)}</td>"
        for cell, r in zip(row, right, strict=True)
    )


def _sort_key(cell: Cell) -> str:
    return f' data-value="{cell}"' if isinstance(cell, int | float) else ""


def _shown(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return float_text(cell) if isinstance(cell, float) else text(cell)
