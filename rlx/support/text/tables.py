"""Tables and figures of reports: their contents, and their layout in lines of a width.

Targets and commands describe their output with :class:`Table` and :class:`Figures`; the command
line prints them (``rlx.cli.table``). Nothing here knows about terminals.
"""

from __future__ import annotations

import math
import textwrap
import unicodedata
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GAP: Final = "  "
"""Space between two columns."""

_MIN_COLUMN_WIDTH: Final = 6
"""Minimum width of each column in characters, if the line has space for it."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        heading: Description of the column, in words.
        unit: Unit of its numbers, such as ``B``; may be empty.
        priority: 0 is always shown. Where there is no space for all columns, those of the highest
            number are left out first.
        right: Whether cells end at the same place, as numbers do; None if they do if all cells
            are numbers.
        total: Cell of the row for the whole table; None for nothing.
        shortest: Places to which cells may be shortened where there is no space; None for never.
        sentences: Whether cells are sentences, which continue in further lines, not shortened.
        meaning: Meaning of the heading, for a line under the table; may be empty.
    """

    heading: str
    unit: str = ""
    priority: int = 0
    right: bool | None = None
    total: object = None
    shortest: int | None = None
    sentences: bool = False
    meaning: str = ""

    @property
    def title(self) -> str:
        """The heading with the unit: ``flash, B``."""
        return f"{self.heading}, {self.unit}" if self.unit else self.heading


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings.

    Attributes:
        title: Description of the rows; may be empty.
        columns: From left to right.
        rows: A cell for each column: numbers, texts, or None for nothing.
        emphasis: Index of the row that matters most, such as the layer that takes the most time.
        total: Name of the row for the whole, in the first column; None for no such row.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[object, ...], ...]
    emphasis: int | None = None
    total: str | None = None

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                msg = f"a row of {len(row)} cells under {len(self.columns)} headings"
                raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """One number or text of a report: ``flash  34,609 B  constants 29,476, code 5,133``."""

    label: str
    value: object
    unit: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures under a title, which may be empty."""

    title: str
    figures: tuple[ReportFigure, ...]


View: TypeAlias = "Sequence[Table | Figures]"
"""Parts of a report that are shown, in order."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of text; ``kind`` is ``title``, ``heading``, ``row``, ``emphasis`` or ``total``."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A table as lines.

    Attributes:
        lines: Title, headings, rows and total.
        columns: The columns that are in them.
        left_out: The columns that had no space.
    """

    lines: tuple[TextLine, ...]
    columns: tuple[Column, ...]
    left_out: tuple[Column, ...]


def plain_view(title: str, report: Mapping[str, object]) -> View:
    """Return a view of any report: ``layers`` as a table, single values as figures.

    Args:
        title: Title of the table of layers.
        report: ``layers`` is a list of rows with the same keys; ``columns`` those to show first.
    """
    layers = report.get("layers")
    view: list[Table | Figures] = []
    if isinstance(layers, list) and layers:
        view.append(table_of(title, layers, first=report.get("columns")))
    figures = tuple(
        ReportFigure(key.replace("_", " "), value)
        for key, value in report.items()
        if isinstance(value, int | float | str)
    )
    return [*view, Figures("", figures)] if figures else view


def table_of(title: str, rows: Sequence[Mapping[str, object]], first: object = None) -> Table:
    """Return a table of rows with the same keys.

    Args:
        title: Description of the rows.
        rows: Cells by key; other values than numbers and texts are left out.
        first: Keys that are shown where there is no space for all; None for the order of the keys.
    """
    keys = dict.fromkeys(key for row in rows for key in row)
    plain = [k for k in keys if all(_is_plain(row.get(k)) for row in rows)]
    before = [str(key) for key in first if key in plain] if isinstance(first, list | tuple) else []
    order = [*before, *(key for key in plain if key not in before)]
    columns = tuple(
        Column(key.replace("_", " "), priority=i, shortest=12) for i, key in enumerate(order)
    )
    return Table(title, columns, tuple(tuple(row.get(key) for key in order) for row in rows))


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, int | float | str)


def text_of(value: object) -> str:
    """Return a value as tables show it: thousands are grouped, and no character moves a cursor."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if 1000 <= abs(value) < math.inf else f"{value:.4g}"
    return printable(str(value))


_MAX_WITH_ALL_DIGITS: Final = 1e15
"""Numbers from here on have an exponent: the digits before the point are noise of the format."""


def float_text(value: float, digits: int = 4) -> str:
    """Return a number with significant digits: ``digits``, or all before the point."""
    large = 10**digits - 0.5 <= abs(value) < _MAX_WITH_ALL_DIGITS
    return f"{value:,.0f}" if large else f"{value:,.{digits}g}"


def share_text(part: float, whole: float) -> str:
    """Return a share in percent, without a unit: ``12``, ``<1``, ``0``."""
    percent = 100 * part / whole if whole else 0.0
    return "<1" if 0 < percent < 0.5 else f"{percent:.0f}"


def printable(text: str) -> str:
    """Return ``text`` with escapes for characters that are not printable."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def width_of(text: str) -> int:
    """Return the places that a text takes on a terminal: two for characters of East Asia."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def shortened(text: str, width: int, mark: str = "…") -> str:
    """Return ``text`` in at most ``width`` places, with ``mark`` for its middle if it is longer."""
    if width_of(text) <= width:
        return text
    space = max(0, width - len(mark))
    end, start = "", ""
    for character in reversed(text):
        if width_of(end) + width_of(character) > space // 2:
            break
        end = character + end
    for character in text:
        if width_of(start) + width_of(character) > space - width_of(end):
            break
        start += character
    return (start + mark + end)[: max(width, 0)]


def lay_out(table: Table, width: int | None = None, mark: str = "…") -> TableLayout:
    """Return the lines of a table, with the columns that have space in ``width`` places.

    Args:
        table: The table.
        width: Places in a line; None for all columns and whole cells.
        mark: Mark in place of the middle of a cell that is shortened.
    """
    cells = [[text_of(cell) for cell in row] for row in table.rows]
    titles = [column.title for column in table.columns]
    totals = _totals(table)
    texts = [titles, *cells, *([totals] if totals else [])]
    natural = [max(width_of(row[c]) for row in texts) for c in range(len(titles))]
    column_indices, widths = _visible_columns(table.columns, natural, titles, width)
    right = [_is_right(table, c) for c in range(len(titles))]

    def lines_of(row: Sequence[str], kind: str) -> list[TextLine]:
        cells = [row[c] for c in column_indices]
        if width is not None:
            parts = [
                _split(row[c], w, table.columns[c])
                for c, w in zip(column_indices, widths, strict=True)
            ]
            return [TextLine(text(cells), kind) for cells in zip_longest(*parts, fillvalue="")]
        return [TextLine(text(cells), kind)]

    def text(cells: Sequence[str]) -> str:
        places = zip(cells, column_indices, widths, strict=True)
        return GAP.join(_padded(cell, w, mark, right=right[c]) for cell, c, w in places).rstrip()

    title = table.title if width is None else shortened(table.title, width, mark)
    lines = [TextLine(title, "title")] if table.title else []
    lines += lines_of(titles, "heading")
    for i, row in enumerate(cells):
        lines += lines_of(row, "emphasis" if i == table.emphasis else "row")
    if totals:
        lines += lines_of(totals, "total")
    return TableLayout(
        tuple(lines),
        tuple(table.columns[c] for c in column_indices),
        tuple(column for c, column in enumerate(table.columns) if c not in column_indices),
    )


def _split(cell: str, width: int, column: Column) -> list[str]:
    """Return a cell, or the lines of a sentence."""
    if not column.sentences:
        return [cell]
    return textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False) or [""]


def _totals(table: Table) -> list[str]:
    """Return the cells of the row for the whole; none without one."""
    if table.total is None:
        return []
    rest = ["" if c.total is None else text_of(c.total) for c in table.columns[1:]]
    return [table.total, *rest]


def _is_right(table: Table, index: int) -> bool:
    column = table.columns[index]
    if column.right is not None:
        return column.right
    cells = [row[index] for row in table.rows if row[index] is not None]
    return bool(cells) and all(
        isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells
    )


def _visible_columns(
    columns: Sequence[Column], natural: Sequence[int], titles: Sequence[str], width: int | None
) -> tuple[list[int], list[int]]:
    """Return the indices of the columns that have space, and the width of each."""
    column_indices = list(range(len(columns)))
    if width is None:
        return column_indices, list(natural)
    narrow = [
        n if c.shortest is None else min(n, max(c.shortest, width_of(t)))
        for c, n, t in zip(columns, natural, titles, strict=True)
    ]
    while _line_width(narrow, column_indices) > width:
        droppable = [c for c in column_indices if columns[c].priority]
        if not droppable:
            break
        column_indices.remove(max(droppable, key=lambda c: (columns[c].priority, c)))
    widths = [natural[c] for c in column_indices]
    _shrink(widths, [narrow[c] for c in column_indices], width)
    # Required columns are shortened too where the line would be too long.
    _shrink(widths, [min(_MIN_COLUMN_WIDTH, w) for w in widths], width)
    _shrink(widths, [1] * len(widths), width)
    return column_indices, widths


def _line_width(widths: Sequence[int], column_indices: Sequence[int]) -> int:
    return sum(widths[c] for c in column_indices) + len(GAP) * (len(column_indices) - 1)


def _shrink(widths: list[int], narrowest: Sequence[int], width: int) -> None:
    """Take places from the widest columns, down to ``narrowest``, until a line has ``width``."""
    over = sum(widths) + len(GAP) * (len(widths) - 1) - width
    for _ in range(max(0, over)):
        free = [i for i, w in enumerate(widths) if w > narrowest[i]]
        if not free:
            return
        widths[max(free, key=lambda i: widths[i])] -= 1


def _padded(text: str, width: int, mark: str, *, right: bool) -> str:
    """Return a cell that fills its column."""
    text = shortened(text, width, mark)
    return " " * (width - width_of(text)) + text if right else _filled(text, width)


def view_text(view: View) -> str:
    """Return all columns and figures of a view, with an empty line between its parts."""
    parts = [
        [line.text for line in lay_out(part).lines]
        if isinstance(part, Table)
        else [*([part.title] if part.title else []), *figure_lines(part)]
        for part in view
    ]
    return "\n\n".join("\n".join(lines) for lines in parts)


def figure_lines(figures: Figures, width: int | None = None) -> list[str]:
    """Return figures as lines with labels, values and notes under each other.

    Args:
        figures: The figures.
        width: Places in a line, for notes, which continue in further lines; None for any length.
    """
    rows = [
        (printable(f.label), f"{text_of(f.value)} {f.unit}".rstrip(), printable(f.note))
        for f in figures.figures
    ]
    if not rows:
        return []
    labels = max(width_of(label) for label, _, _ in rows)
    # Texts such as paths may be long; they do not push the notes of others away.
    values = max((width_of(value) for _, value, note in rows if note), default=0)
    return [line for row in rows for line in _figure(row, labels, values, width)]


def _figure(row: tuple[str, str, str], labels: int, values: int, width: int | None) -> list[str]:
    label, value, note = row
    start = _filled(label, labels) + GAP + _filled(value, values if note else 0)
    if not note:
        return [start.rstrip()]
    indent = width_of(start) + len(GAP)
    space = len(note) if width is None else max(width - indent, 20)
    first, *rest = textwrap.wrap(note, space, break_long_words=False, break_on_hyphens=False)
    return [start + GAP + first, *(" " * indent + line for line in rest)]


def _filled(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))
