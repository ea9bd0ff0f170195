"""Parts of a picture of a graph, with coordinates in pixels.

Tests: tests/unit/reports/drawing/test_drawing.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]
"""Pixels to the right of the left edge, and below the upper one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A layer, input or output that has no place yet.

    Texts are those of the model, unescaped: the writer of a page escapes them.

    Attributes:
        id: Label of the layer, unique in the drawing, such as ``conv1``.
        op: Name of the op, such as ``q.conv2d``.
        kind: Kind of op: ``port``, ``weights``, ``elementwise``, ``moves`` or ``other``.
        lines: Texts below label and op.
        note: Text at the right edge, such as the share of time; possibly empty.
        tooltip: Everything worth knowing, on several lines.
        share: Share of the whole, 0 to 1: its box is higher by this share.
        is_input: Whether it represents an input of the network.
        key: Key by which a page selects it; None for ``id``, empty if it cannot be selected.
    """

    id: str
    op: str
    kind: str = "other"
    lines: tuple[str, ...] = ()
    note: str = ""
    tooltip: str = ""
    share: float = 0.0
    is_input: bool = False
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Box(Draft):
    """One layer, input or output with its place.

    Attributes:
        x: Left edge.
        y: Upper edge.
        width: Width.
        height: Height.
    """

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A value on its way from the box that makes it to one that reads it.

    Attributes:
        source: ``id`` of the box that makes the value.
        target: ``id`` of the box that reads it.
        points: The way, from top to bottom.
        tooltip: Type of the value.
    """

    source: str
    target: str
    points: tuple[Point, ...]
    tooltip: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A graph with coordinates.

    Attributes:
        title: Name of the graph.
        boxes: Boxes in the order of the graph: inputs and layers, then outputs.
        edges: Each pair of boxes once for each value between them.
        width: Width of the picture.
        height: Height of the picture.
    """

    title: str
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    width: float
    height: float
