"""Arrange boxes without places, and their connections, in a drawing.

Tests: tests/unit/reports/drawing/test_drawing.py
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

from rlx.reports.drawing.boxes import Box, Draft, Drawing, Edge
from rlx.reports.drawing.layered import place

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH: Final = 216.0
"""Width of a box, in pixels."""
LINE: Final = 15.0
"""Height of a line of text, in pixels."""
COLUMNS: Final = 29
"""Characters that fit into a line of a box."""
WHOLE: Final = 900.0
"""Height that is shared out by ``share``, in pixels."""


def fits_beside(label: str, op: str) -> bool:
    """Whether the op has space next to the label of a box."""
    return len(label) + 1 + len(op) <= COLUMNS


def arrange(title: str, drafts: Sequence[Draft], links: Sequence[tuple[int, int, str]]) -> Drawing:
    """Return the boxes with places, and the edges between them.

    Args:
        title: Name of the drawing.
        drafts: Boxes in an order in which every link leads forwards.
        links: Positions of the box that makes a value and of the one that reads it, and a text
            about the value.
    """
    heights = [_height(draft) for draft in drafts]
    placed = place(
        [(WIDTH, height) for height in heights],
        [(source, target) for source, target, _ in links],
        frozenset(place for place, draft in enumerate(drafts) if draft.is_input),
    )
    boxes = tuple(
        _box(draft, x, y, height)
        for draft, height, (x, y) in zip(drafts, heights, placed.corners, strict=True)
    )
    edges = tuple(
        Edge(source=boxes[source].id, target=boxes[target].id, points=route, tooltip=text)
        for (source, target, text), route in zip(links, placed.routes, strict=True)
    )
    return Drawing(
        title=title, boxes=boxes, edges=edges,
        width=round(placed.width, 1), height=round(placed.height, 1),
    )  # fmt: skip


def _height(draft: Draft) -> float:
    return (1 + len(draft.lines)) * LINE + 9 + WHOLE * max(draft.share, 0.0)


def _box(draft: Draft, x: float, y: float, height: float) -> Box:
    given = {f.name: getattr(draft, f.name) for f in fields(Draft)}
    return Box(**given, x=round(x, 1), y=round(y, 1), width=WIDTH, height=round(height, 1))
