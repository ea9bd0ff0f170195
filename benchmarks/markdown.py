"""Tables of the documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def markdown_table(head: Sequence[str], body: Sequence[Sequence[str]], texts: int = 1) -> str:
    """Return a Markdown table; all columns but the first ``texts`` are numbers."""
    marks = ["---" if i < texts else "---:" for i in range(len(head))]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, marks, *body))
