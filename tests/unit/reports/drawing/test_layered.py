"""Places of boxes and routes of edges."""

import random

import pytest

from rlx.reports.drawing.layered import place

SIZE = (100.0, 40.0)


def _chain(count):
    return [(k, k + 1) for k in range(count - 1)]


def _overlapping(placed, sizes):
    """Return the pairs of boxes that share a point."""
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(placed.corners, sizes, strict=True)]
    return [
        (a, b)
        for b, second in enumerate(boxes)
        for a, first in enumerate(boxes[:b])
        if first[0] < second[2] and second[0] < first[2]
        and first[1] < second[3] and second[1] < first[3]
    ]  # fmt: skip


def test_a_chain_is_one_column():
    placed = place([SIZE] * 5, _chain(5))
    assert len({x for x, _ in placed.corners}) == 1
    assert [y for _, y in placed.corners] == sorted({y for _, y in placed.corners})
    assert all(len(route) == 2 and route[0][0] == route[1][0] for route in placed.routes)


def test_a_residual_edge_goes_around_the_boxes_between():
    placed = place([SIZE] * 4, [*_chain(4), (0, 3)], frozenset({0}))
    x = {round(corner[0], 1) for corner in placed.corners}
    assert len(x) == 1
    around = placed.routes[-1]
    outside = [p for p in around if p[0] > x.copy().pop() + SIZE[0]]
    assert len(outside) == 2
    assert outside[0][0] == outside[1][0]


def test_the_longest_way_stays_straight_beside_a_side_branch():
    # 0 -> 1 -> 2 -> 4 and 0 -> 3 -> 4
    placed = place([SIZE] * 5, [(0, 1), (1, 2), (0, 3), (2, 4), (3, 4)], frozenset({0}))
    assert len({round(placed.corners[k][0]) for k in (0, 1, 2, 4)}) == 1
    assert abs(placed.corners[3][0] - placed.corners[1][0]) > SIZE[0]


def test_what_depends_on_no_input_stands_right_above_its_reader():
    # 0 is an input; 5 (without operands) is read by 4 only.
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (5, 6), (4, 6)]
    placed = place([SIZE] * 7, edges, frozenset({0}))
    assert placed.corners[5][1] == placed.corners[4][1]


def test_heights_of_boxes_move_what_is_below():
    placed = place([SIZE, (100.0, 200.0), SIZE], _chain(3))
    (_, second), (_, third) = placed.corners[1:]
    assert third - second > 200


@pytest.mark.parametrize("seed", range(20))
def test_boxes_of_random_graphs_never_overlap_and_edges_lead_down(seed):
    rng = random.Random(seed)
    count = rng.randint(2, 40)
    sizes = [(rng.choice((60.0, 216.0)), rng.choice((30.0, 54.0, 300.0))) for _ in range(count)]
    edges = sorted(
        {(rng.randrange(b), b) for b in range(1, count) for _ in range(rng.randint(0, 3))}
    )
    placed = place(sizes, edges, frozenset({0}))
    assert _overlapping(placed, sizes) == []
    for (source, target), route in zip(edges, placed.routes, strict=True):
        assert [y for _, y in route] == sorted(y for _, y in route)
        x, y = placed.corners[source]
        assert route[0] == pytest.approx((x + sizes[source][0] / 2, y + sizes[source][1]), abs=0.11)
        x, y = placed.corners[target]
        assert route[-1] == pytest.approx((x + sizes[target][0] / 2, y), abs=0.11)
    assert all(0 <= x <= placed.width and 0 <= y <= placed.height for x, y in placed.corners)


def test_an_empty_graph_and_a_single_box():
    assert place([], []).corners == []
    assert len(place([SIZE], []).corners) == 1
