"""The verifier of memory plans with states: each kind of damage is named."""

from dataclasses import replace

import pytest

from rlx.ir import Graph, GraphModule, MemoryPlan, Placement, Region, Stage, StateCopy, i8
from rlx.ir.verify import problems
from rlx.ops.q import QClamp


def swapped():
    """Return a graph that swaps states s and t, and computes r in its buffer; and its plan."""
    graph = Graph("g")
    r, s, t = (graph.state(name, i8(8)) for name in "rst")
    after = graph.apply(QClamp(low=1), r, name="after")
    y = graph.apply(QClamp(low=2), s, name="y")
    graph.output(after, t, s, y, names=["r", "s", "t", "y"])
    own = Region.STATE
    places = (
        Placement(r, own, 0, 8, -1, 0),
        Placement(s, own, 0, 8, -1, 2),
        Placement(t, own, 0, 8, -1, 2),
        Placement(after, own, 0, 8, 0, 2, alias_of=r),
        Placement(y, Region.ARENA, 0, 8, 1, 2),
    )
    copies = (StateCopy(s, t), StateCopy(t, s, through=8))
    return graph, MemoryPlan(tuple(graph.op_nodes), places, 16, 4, copies)


def found(graph, plan):
    return problems(GraphModule(graph, Stage.LIR, plan))


def test_sound_plan_passes():
    assert found(*swapped()) == []


def test_every_state_gets_its_next_value_once():
    graph, plan = swapped()
    first, second = plan.copies
    assert found(graph, replace(plan, copies=(first,))) == [
        "%1 's' does not get its next value, %2 't'"
    ]
    assert found(graph, replace(plan, copies=(first, second, second)))[0] == (
        "%1 's' gets its next value 2 times"
    )


def test_a_state_gets_no_other_value():
    graph, plan = swapped()
    after, y = (n.result for n in graph.op_nodes)
    wrong = StateCopy(y, plan.copies[0].state)
    assert found(graph, replace(plan, copies=(*plan.copies, wrong))) == [
        "%4 'y' is copied to %2 't', which is not a state with its own buffer,"
        " or has another next value"
    ]
    no_state = StateCopy(after, y)
    assert (
        "%3 'after' is copied to %4 'y', which is not a state"
        in (found(graph, replace(plan, copies=(*plan.copies, no_state)))[0])
    )


def test_a_next_value_elsewhere_must_be_copied():
    graph, plan = swapped()
    places = tuple(
        replace(p, region=Region.ARENA, offset=8, alias_of=None) if p.value.name == "after" else p
        for p in plan.placements
    )
    broken = replace(plan, placements=places, arena_bytes=24)
    assert "%0 'r' does not get its next value, %3 'after'" in found(graph, broken)


@pytest.mark.parametrize(
    ("through", "message"),
    [
        (None, "%2 't' is copied to %1 's' after it was overwritten"),
        (0, "%2 't' waits in the bytes of %4 'y', which is still needed"),
        (4, "%2 't' waits in the bytes of %4 'y', which is still needed"),
        (12, "%2 't' waits at 12 with 8 bytes, not in the arena or unaligned"),
        (-4, "%2 't' waits at -4 with 8 bytes, not in the arena or unaligned"),
        (6, "%2 't' waits at 6 with 8 bytes, not in the arena or unaligned"),
    ],
)
def test_a_value_that_waits_badly_is_found(through, message):
    graph, plan = swapped()
    first, second = plan.copies
    assert message in found(graph, replace(plan, copies=(first, replace(second, through=through))))


def test_two_values_cannot_wait_in_one_place():
    graph, plan = swapped()
    first, second = plan.copies
    both = (replace(first, through=8), second)
    assert found(graph, replace(plan, copies=both)) == [
        "%2 't' waits in the bytes of %1 's', which is still needed"
    ]


def test_only_states_have_buffers_that_last():
    graph, plan = swapped()
    places = tuple(
        replace(p, region=Region.STATE) if p.value.name == "y" else p for p in plan.placements
    )
    assert "%4 'y' is in the buffer of a state, but %4 'y' is not a state" in (
        found(graph, replace(plan, placements=places))
    )


def test_the_old_value_is_not_overwritten():
    graph, plan = swapped()
    s = graph.inputs[1]
    places = tuple(
        replace(p, region=Region.STATE, offset=0, alias_of=s) if p.value.name == "y" else p
        for p in plan.placements
    )
    assert "%4 'y' overwrites %1 's', which is still needed" in (
        found(graph, replace(plan, placements=places))
    )
