"""Layered layout: boxes in rows, every edge from a row to one below it.

The method of Sugiyama, Tagawa and Toda, in the simple form that suits nearly straight graphs: rows
by the longest way, order within a row by the mean place of the neighbours, then places as close to
the neighbours as the order allows. An edge over several rows has a lane through each of them; edges
from the same box share their lanes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.reports.drawing.boxes import Point

_BETWEEN: Final = 18.0
_LANE: Final = 8.0
_ROW_GAP: Final = 26.0
_MARGIN: Final = 12.0
_ORDER_SWEEPS: Final = 4
_PLACE_SWEEPS: Final = 5
_LANE_WEIGHT: Final = 1e-5
_SIDE_WEIGHT: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Placed:
    """Places of boxes and edges, in pixels.

    Attributes:
        corners: Upper left corner of each box.
        routes: Points of each edge.
        width: Width of everything, with a margin.
        height: Height of everything, with a margin.
    """

    corners: list[Point]
    routes: list[tuple[Point, ...]]
    width: float
    height: float


@dataclass(slots=True)
class _Item:
    """A box, or the lane of an edge through a row (whose ``box`` is negative).

    ``weight`` says how much it costs to move it away from its neighbours.
    """

    box: int
    width: float
    weight: float
    above: list[_Item] = field(default_factory=list)
    below: list[_Item] = field(default_factory=list)
    order: float = 0.0
    centre: float = 0.0


def place(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    inputs: frozenset[int] = frozenset(),
) -> Placed:
    """Return places for boxes and edges.

    Args:
        sizes: Width and height of each box, in an order in which every edge leads forwards.
        edges: Indices of two boxes each.
        inputs: Boxes that represent inputs. Boxes that do not depend on them, and the inputs
            themselves, are right above their first reader.
    """
    fed = _depends_on_input(len(sizes), edges, inputs)
    rows_of = _rows(fed, edges)
    latest = _latest_rows(rows_of, edges)
    boxes = [
        _Item(box, width, 1.0 if fed[box] and latest[box] == rows_of[box] else _SIDE_WEIGHT)
        for box, (width, _) in enumerate(sizes)
    ]
    rows: list[list[_Item]] = [[] for _ in range(max(rows_of, default=-1) + 1)]
    for box, row in zip(boxes, rows_of, strict=True):
        rows[row].append(box)
    lanes = _add_lanes(rows, boxes, rows_of, edges)
    _sort_rows(rows)
    _place_rows(rows)
    return _coordinates(rows, boxes, rows_of, lanes, sizes, edges)


def _depends_on_input(
    count: int, edges: Sequence[tuple[int, int]], inputs: frozenset[int]
) -> list[bool]:
    """Return whether each box depends on an input."""
    fed = [False] * count
    for source, target in sorted(edges):
        fed[target] = fed[target] or fed[source] or source in inputs
    return fed


def _rows(fed: list[bool], edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the row of each box: one below the lowest box that it reads."""
    rows = [0] * len(fed)
    readers: list[list[int]] = [[] for _ in fed]
    for source, target in sorted(edges):
        rows[target] = max(rows[target], rows[source] + 1)
        readers[source].append(target)
    # Boxes that depend on no input move down to the row above their first reader.
    for box in reversed(range(len(rows))):
        if readers[box] and not fed[box]:
            rows[box] = min(rows[reader] for reader in readers[box]) - 1
    return rows


def _latest_rows(rows: list[int], edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the lowest row that each box could be in: its own if it is on a longest way."""
    latest: list[int | None] = [None] * len(rows)
    for source, target in sorted(edges, reverse=True):
        end = latest[target]
        above = (rows[target] if end is None else end) - 1
        known = latest[source]
        latest[source] = above if known is None else min(known, above)
    return [row if late is None else late for late, row in zip(latest, rows, strict=True)]


def _add_lanes(
    rows: list[list[_Item]],
    boxes: list[_Item],
    rows_of: list[int],
    edges: Sequence[tuple[int, int]],
) -> list[list[_Item]]:
    """Link all items with those in the next row, and return the lanes of each box downwards."""
    lanes: list[list[_Item]] = [[] for _ in boxes]
    for source, target in edges:
        chain = lanes[source]
        while len(chain) < rows_of[target] - rows_of[source] - 1:
            lane = _Item(-1, _LANE, _LANE_WEIGHT)
            _link(chain[-1] if chain else boxes[source], lane)
            chain.append(lane)
            rows[rows_of[source] + len(chain)].append(lane)
        length = rows_of[target] - rows_of[source] - 1
        _link(chain[length - 1] if length else boxes[source], boxes[target])
    return lanes


def _link(upper: _Item, lower: _Item) -> None:
    upper.below.append(lower)
    lower.above.append(upper)


def _sort_rows(rows: list[list[_Item]]) -> None:
    """Order each row by the mean place of the neighbours above, then below, a few times."""
    for row in rows:
        _number(row)
    for _ in range(_ORDER_SWEEPS):
        for row in rows[1:]:
            _sort(row, lambda item: item.above)
        for row in reversed(rows[:-1]):
            _sort(row, lambda item: item.below)


def _number(row: list[_Item]) -> None:
    for place, item in enumerate(row):
        item.order = place


def _sort(row: list[_Item], neighbours: Callable[[_Item], list[_Item]]) -> None:
    def mean(item: _Item) -> float:
        near = neighbours(item)
        return sum(n.order for n in near) / len(near) if near else item.order

    row.sort(key=mean)
    _number(row)


def _place_rows(rows: list[list[_Item]]) -> None:
    """Set the centres, so that neighbours are below each other where the order allows it."""
    for row in rows:
        _set_centres(row, [0.0] * len(row))
    for _ in range(_PLACE_SWEEPS):
        for row in reversed(rows[:-1]):
            _set_centres(row, [_mean_centre(item, item.below) for item in row])
        for row in rows[1:]:
            _set_centres(row, [_mean_centre(item, item.above) for item in row])


def _mean_centre(item: _Item, neighbours: list[_Item]) -> float:
    """Return the mean centre of the neighbours, by weight: lanes and side branches hardly count."""
    if not neighbours:
        return item.centre
    return sum(n.centre * n.weight for n in neighbours) / sum(n.weight for n in neighbours)


def _set_centres(row: list[_Item], centres: list[float]) -> None:
    """Set the centres of a row with the smallest sum of squared moves, without overlaps.

    With the minimum distances subtracted, the centres must only not decrease: the method of pool
    adjacent violators finds the best such sequence.
    """
    offsets = [0.0]
    for left, right in pairwise(row):
        offsets.append(offsets[-1] + (left.width + right.width) / 2 + _BETWEEN)
    pools: list[tuple[float, float, int]] = []  # value, weight, items
    for item, aim, offset in zip(row, centres, offsets, strict=False):
        value, weight, count = aim - offset, item.weight, 1
        while pools and pools[-1][0] > value:
            other, other_weight, other_count = pools.pop()
            value = (value * weight + other * other_weight) / (weight + other_weight)
            weight, count = weight + other_weight, count + other_count
        pools.append((value, weight, count))
    values = [value for value, _, count in pools for _ in range(count)]
    for item, settled, offset in zip(row, values, offsets, strict=False):
        item.centre = settled + offset


def _coordinates(
    rows: list[list[_Item]],
    boxes: list[_Item],
    rows_of: list[int],
    lanes: list[list[_Item]],
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
) -> Placed:
    """Return pixels: the leftmost and the uppermost item at the margin."""
    items = [item for row in rows for item in row]
    left = min((item.centre - item.width / 2 for item in items), default=0.0) - _MARGIN
    right = max((item.centre + item.width / 2 for item in items), default=0.0) + _MARGIN
    tops: list[float] = []
    bottoms: list[float] = []
    y = _MARGIN
    for row in rows:
        tops.append(y)
        bottoms.append(y + max((sizes[i.box][1] for i in row if i.box >= 0), default=0.0))
        y = bottoms[-1] + _ROW_GAP
    corners = [
        (box.centre - box.width / 2 - left, tops[row])
        for box, row in zip(boxes, rows_of, strict=True)
    ]
    # Long edges pass most rows: their ends are rounded once, not for each edge.
    spans = [(round(top, 1), round(bottom, 1)) for top, bottom in zip(tops, bottoms, strict=True)]
    routes = []
    for source, target in edges:
        first, last = rows_of[source], rows_of[target]
        x = round(boxes[source].centre - left, 1)
        points = [(x, round(tops[first] + sizes[source][1], 1)), (x, spans[first][1])]
        for (top, bottom), lane in zip(spans[first + 1 : last], lanes[source], strict=False):
            centre = round(lane.centre - left, 1)
            points += [(centre, top), (centre, bottom)]
        points.append((round(boxes[target].centre - left, 1), spans[last][0]))
        routes.append(_without_collinear(points))
    return Placed(corners, routes, right - left, y - _ROW_GAP + _MARGIN)


def _without_collinear(points: list[Point]) -> tuple[Point, ...]:
    """Return the points without those in the middle of a vertical line."""
    kept = points[:1]
    for here, after in zip(points[1:], [*points[2:], None], strict=True):
        vertical = after is not None and kept[-1][0] == here[0] == after[0]
        if not vertical and here != kept[-1]:
            kept.append(here)
    return tuple(kept)
