"""Tables and figures on a terminal or in a pipe.

On a terminal a table has the columns that its width has space for, ``--wide`` shows all; in a pipe
or a file lines have any length and hold everything, without control characters.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any, Final

import click

from rlx.support.text.tables import Column, Figures, Table, TextLine, figure_lines, lay_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.support.text.tables import TableLayout, View

_WIDE: Final = "rlx.wide"
_STYLES: Final = {
    "title": {"bold": True},
    "heading": {"dim": True},
    "emphasis": {"bold": True},
    "total": {"bold": True},
}


def _keep_wide(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    ctx.meta[_WIDE] = value


wide_option = click.option(
    "--wide",
    is_flag=True,
    expose_value=False,
    callback=_keep_wide,
    help="Show all columns of tables, even if lines are longer than the terminal is wide.",
)


def sentences(heading: str) -> Column:
    """Return a column of sentences, which continue in further lines where there is no space."""
    return Column(heading, shortest=24, sentences=True)


def is_wide() -> bool:
    """Whether ``--wide`` was given."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(_WIDE))


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def line_width() -> int | None:
    """Return the places in a line of tables; None for any number.

    That of the terminal or of ``COLUMNS``; None with ``--wide``, and where there is no terminal.
    """
    if is_wide() or not is_terminal():
        return None
    return max(20, shutil.get_terminal_size().columns)


def styled(text: str, **style: Any) -> str:  # noqa: ANN401 - of click.style
    """Return ``text`` with a style on a terminal, plain in a pipe or with ``NO_COLOR``."""
    if not is_terminal() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return click.style(text, **style)


def symbol(character: str, plain: str) -> str:
    """Return ``character`` if standard output can show it, else ``plain``."""
    try:
        character.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return plain
    return character


def show(view: View) -> None:
    """Print tables and figures, with an empty line between them."""
    for number, part in enumerate(view):
        if number:
            print()
        if isinstance(part, Table):
            show_table(part)
        else:
            show_figures(part)


def show_table(table: Table) -> None:
    """Print a table, and under it what columns mean and which were left out."""
    width = line_width()
    layout = lay_out(table, width, symbol("…", ".."))
    for line in layout.lines:
        print(_styled_line(line))
    for text in _notes(layout):
        prose(text, dim=True)


def _styled_line(line: TextLine) -> str:
    style = _STYLES.get(line.kind)
    return styled(line.text, **style) if style else line.text


def _notes(layout: TableLayout) -> list[str]:
    """Return the lines under a table."""
    meanings = [f"{c.heading}: {c.meaning}" for c in layout.columns if c.meaning]
    left_out = ", ".join(column.heading for column in layout.left_out)
    return [
        *(["; ".join(meanings)] if meanings else []),
        *([f"not shown: {left_out} (all with --wide)"] if left_out else []),
    ]


def show_figures(figures: Figures) -> None:
    """Print figures under their title."""
    if figures.title:
        print(styled(figures.title, bold=True))
    for line in figure_lines(figures, line_width()):
        print(line)


def prose(text: str, *, lead: str = "", **style: Any) -> None:  # noqa: ANN401 - of click.style
    """Print a sentence; on a terminal in lines that end between words.

    Args:
        text: The sentence.
        lead: Text before it; it alone has the style then, and further lines are indented.
        style: As ``click.style`` takes it.
    """
    width = line_width()
    lines = [lead + text]
    if width is not None:
        lines = textwrap.wrap(
            lead + text, width, subsequent_indent="    " if lead else "",
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
    if lead and lines[0].startswith(lead):
        print(styled(lead, **style) + lines[0][len(lead) :])
        print("".join(f"{line}\n" for line in lines[1:]), end="")
        return
    for line in lines:
        print(styled(line, **style) if style else line)


def print_table(title: str, columns: Sequence[object], rows: Sequence[Sequence[object]]) -> None:
    """Print a table.

    Args:
        title: Name of the rows.
        columns: A :class:`Column`, or its heading; where there is no space for all, those with
            headings alone are left out from the right.
        rows: A cell for each column.
    """
    given = tuple(
        column if isinstance(column, Column) else Column(str(column), priority=place, shortest=12)
        for place, column in enumerate(columns)
    )
    show_table(Table(title, given, tuple(tuple(_plain(cell) for cell in row) for row in rows)))


def _plain(cell: object) -> object:
    return cell if cell is None or isinstance(cell, int | float) else str(cell)
