"""What a picture of a graph consists of, with coordinates in pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rlx.ir.graph import Node

Point: TypeAlias = tuple[float, float]
"""Pixels to the right of the left edge, and below the upper one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One layer, input or output.

    Texts are as they come from the model: whoever writes them into a page escapes them.

    Attributes:
        id: Label of the layer, unique in the drawing, such as ``conv2d_0``.
        op: Name of the op, such as ``q.conv2d``.
        kind: What it does: ``port``, ``weights``, ``elementwise``, ``moves`` or ``other``.
        lines: Texts below label and op.
        note: Text at the right edge, such as the share of time; possibly empty.
        tooltip: Everything worth knowing, on several lines.
        x: Left edge.
        y: Upper edge.
        width: Width.
        height: Height.
        node: The node that is drawn; for an output the node that makes it.
    """

    id: str
    op: str
    kind: str
    lines: tuple[str, ...]
    note: str
    tooltip: str
    x: float
    y: float
    width: float
    height: float
    node: Node


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
        boxes: In the order of the graph: inputs and layers, then outputs.
        edges: Each pair of boxes once for each value between them.
        width: Width of the picture.
        height: Height of the picture.
    """

    title: str
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    width: float
    height: float
