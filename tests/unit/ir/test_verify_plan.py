"""The verifier of memory plans: planned networks pass, and each kind of damage is named."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Graph, GraphModule, MemoryPlan, Placement, Region, Stage, i8
from rlx.ir.verify import problems
from rlx.memory import plan_memory
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QAdd, QClamp, QReshape, QSlice
from strategies import random_graphs

ADD = QAdd(
    x_zero_point=0, y_zero_point=0, x_rescale=Rescale.of(0.5), y_rescale=Rescale.of(0.5),
    rescale=Rescale.of(2**-19), zero_point=0,
)  # fmt: skip


def planned():
    """Return a graph x -> a -> b -> c, d = b + c, e = view of d, and a plan made by hand."""
    graph = Graph("g")
    x = graph.input("x", i8(8))
    a = graph.apply(QClamp(low=1), x, name="a")
    b = graph.apply(QClamp(low=2), a, name="b")
    c = graph.apply(QClamp(low=3), b, name="c")
    d = graph.apply(ADD, b, c, name="d")
    e = graph.apply(QReshape(shape=(2, 4)), d, name="e")
    graph.output(e)
    arena, out = Region.ARENA, Region.OUTPUT
    places = (
        Placement(x, Region.INPUT, 0, 8, -1, 0),
        Placement(a, arena, 0, 8, 0, 1),
        Placement(b, arena, 8, 8, 1, 3),
        Placement(c, arena, 0, 8, 2, 3),
        Placement(d, out, 0, 8, 3, 4),
        Placement(e, out, 0, 8, 4, 5, alias_of=d),
    )
    return graph, MemoryPlan(tuple(n for n in graph.op_nodes), places, 16, 4)


def found(graph, plan):
    return problems(GraphModule(graph, Stage.LIR, plan))


def with_place(plan, name, **changes):
    places = tuple(replace(p, **changes) if p.value.name == name else p for p in plan.placements)
    return replace(plan, placements=places)


def test_sound_plan_passes():
    assert found(*planned()) == []


@given(random_graphs(size=3), st.sampled_from([1, 4, 16]))
def test_planned_networks_pass(case, alignment):
    assert found(case.graph, plan_memory(case.graph, alignment=alignment)) == []


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("a", {"nbytes": 7}, "%1 'a' has 7 bytes, but i8[8] needs 8"),
        ("a", {"offset": 2}, "%1 'a' is at 2, which is not aligned to 4"),
        ("b", {"offset": 12}, "%2 'b' is at 12 with 8 bytes, outside an arena of 16"),
        ("b", {"offset": -8}, "%2 'b' is at -8 with 8 bytes, outside an arena of 16"),
        ("x", {"offset": 4}, "%0 'x' is at 4 with 8 bytes, outside its buffer of 8"),
        ("b", {"last": 2}, "%2 'b' is placed for steps 1 to 2, but needed from 1 to 3"),
        ("b", {"first": 2}, "%2 'b' is placed for steps 2 to 3, but needed from 1 to 3"),
        ("c", {"offset": 8}, "%3 'c' overwrites %2 'b', which is still needed"),
        ("c", {"offset": 4}, "%3 'c' overwrites %2 'b', which is still needed"),
        ("b", {"offset": 0}, "%2 'b' overwrites %1 'a', which is still needed"),
    ],
)
def test_damaged_placement_is_found(name, changes, message):
    graph, plan = planned()
    assert message in found(graph, with_place(plan, name, **changes))


def test_in_place_result_is_an_alias_of_an_operand_that_dies():
    graph, plan = planned()
    a, b = (p.value for p in plan.placements[1:3])
    in_place = with_place(with_place(plan, "b", offset=0, alias_of=a), "c", offset=8)
    assert found(graph, in_place) == []
    # Without the alias it is an accident; and `b` lives on, so `c` cannot take its place.
    assert found(graph, with_place(in_place, "b", alias_of=None)) == [
        "%2 'b' overwrites %1 'a', which is still needed"
    ]
    greedy = with_place(in_place, "c", offset=0, alias_of=b)
    assert found(graph, greedy) == ["%3 'c' overwrites %2 'b', which is still needed"]


def test_two_results_cannot_take_the_same_operand():
    graph = Graph("g")
    x = graph.input("x", i8(4))
    a = graph.apply(QClamp(), x, name="a")
    b = graph.apply(QClamp(low=1), a, name="b")
    c = graph.apply(QClamp(low=2), a, name="c")
    d = graph.apply(ADD, b, c, name="d")
    graph.output(d)
    arena = Region.ARENA
    places = (
        Placement(x, Region.INPUT, 0, 4, -1, 0),
        Placement(a, arena, 0, 4, 0, 2),
        Placement(b, arena, 0, 4, 1, 3, alias_of=a),
        Placement(c, arena, 0, 4, 2, 3, alias_of=a),
        Placement(d, Region.OUTPUT, 0, 4, 3, 4),
    )
    plan = MemoryPlan(tuple(graph.op_nodes), places, 4, 4)
    assert found(graph, plan) == [
        "%2 'b' overwrites %1 'a', which is still needed",
        "%3 'c' overwrites %2 'b', which is still needed",
    ]


def test_an_operand_that_is_a_part_of_the_overwritten_one_is_found():
    graph = Graph("g")
    x = graph.input("x", i8(4))
    a = graph.apply(QClamp(), x, name="a")
    part = graph.apply(QSlice(start=(1,), stop=(2,), step=(1,)), a, name="part")
    b = graph.apply(ADD, a, part, name="b")
    graph.output(b)
    places = (
        Placement(x, Region.INPUT, 0, 4, -1, 0),
        Placement(a, Region.OUTPUT, 0, 4, 0, 2),
        Placement(part, Region.OUTPUT, 1, 1, 1, 2, alias_of=a),
        Placement(b, Region.OUTPUT, 0, 4, 2, 3, alias_of=a),
    )
    plan = MemoryPlan(tuple(graph.op_nodes), places, 0, 1)
    assert found(graph, plan) == ["%3 'b' overwrites %2 'part', which is still needed"]


def test_view_shares_bytes_while_both_live():
    graph = Graph("g")
    x = graph.input("x", i8(4))
    a = graph.apply(QClamp(), x, name="a")
    view = graph.apply(QReshape(shape=(2, 2)), a, name="view")
    back = graph.apply(QReshape(shape=(4,)), view, name="back")
    d = graph.apply(ADD, a, back, name="d")
    graph.output(d)
    arena = Region.ARENA
    places = (
        Placement(x, Region.INPUT, 0, 4, -1, 0),
        Placement(a, arena, 0, 4, 0, 3),
        Placement(view, arena, 0, 4, 1, 2, alias_of=a),
        Placement(back, arena, 0, 4, 2, 3, alias_of=a),
        Placement(d, arena, 4, 4, 3, 4),
    )
    plan = MemoryPlan(tuple(graph.op_nodes), places, 8, 4)
    assert found(graph, plan) == []
    moved = with_place(plan, "d", offset=0)
    assert found(graph, moved) == [
        "%4 'd' overwrites %1 'a', which is still needed",
        "%4 'd' overwrites %3 'back', which is still needed",
    ]


def test_input_buffer_is_read_only():
    graph, plan = planned()
    x = plan.placements[0].value
    plan = with_place(plan, "a", region=Region.INPUT, alias_of=x)
    assert found(graph, plan) == ["%1 'a' overwrites an input buffer"]


def test_schedule_must_have_every_node_once_and_in_order():
    graph, plan = planned()
    a, b, *rest = plan.schedule
    assert found(graph, replace(plan, schedule=(b, a, *rest))) == [
        "%2 'b' is scheduled before %1 'a', which it reads"
    ]
    assert found(graph, replace(plan, schedule=(a, b, b, *rest))) == [
        "the schedule has %2 'b' twice"
    ]
    assert found(graph, replace(plan, schedule=(a, b, *rest[:-1]))) == ["the schedule lacks %5 'e'"]
    foreign = replace(plan, schedule=(graph.nodes[0], *plan.schedule))
    assert found(graph, foreign) == [
        "the schedule has %0 'x', which is not of the graph or computes nothing"
    ]


def test_every_value_needs_one_placement():
    graph, plan = planned()
    first, *rest = plan.placements
    assert found(graph, replace(plan, placements=tuple(rest))) == ["%0 'x' has no placement"]
    assert found(graph, replace(plan, placements=(first, first, *rest))) == [
        "%0 'x' has two placements"
    ]
    stranger = planned()[1].placements[1]
    assert found(graph, replace(plan, placements=(stranger, first, *rest))) == [
        "%1 'a' has a placement, but is constant or not of the graph"
    ]
    assert found(graph, with_place(plan, "b", alias_of=stranger.value)) == [
        "%2 'b' is an alias of a value without a placement"
    ]


def test_alias_of_itself_does_no_harm():
    graph, plan = planned()
    a = plan.placements[1].value
    assert found(graph, with_place(plan, "a", alias_of=a)) == []


def test_alignment_must_be_positive():
    graph, plan = planned()
    assert found(graph, replace(plan, alignment=0)) == [
        "the plan's alignment must be at least 1, got 0"
    ]
