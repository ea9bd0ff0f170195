"""Orders of execution: the search agrees with trying them all."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rlx.ir import Graph, Region, i8
from rlx.memory import peak_bytes, plan_memory, schedule
from rlx.memory.lifetimes import elementwise_in_place, lifetimes, no_scratch, scratch_lifetimes
from rlx.memory.orders import OrderSearch
from rlx.memory.packing import pack
from rlx.memory.sharing import BufferSharing
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QAdd, QClamp, QConcat, QReshape, QSlice

ADD = QAdd(
    x_zero_point=0, y_zero_point=0, x_rescale=Rescale.of(0.5), y_rescale=Rescale.of(0.5),
    rescale=Rescale.of(2**-19), zero_point=0,
)  # fmt: skip
ALL_ORDERS = 200


def front(length):
    return QSlice(start=(0, 0), stop=(1, length), step=(1, 1))


def all_orders(graph):
    """Yield every order of the nodes that compute."""
    nodes = list(graph.op_nodes)

    def descend(order, done):
        if len(order) == len(nodes):
            yield tuple(order)
        for node in nodes:
            if node not in done and all(
                o.node in done or o.node not in nodes for o in node.operands
            ):
                yield from descend([*order, node], done | {node})

    yield from descend([], frozenset())


@st.composite
def branching_graphs(draw):
    """Small graphs with several values of several sizes alive at once."""
    graph = Graph("g")
    values = [graph.input("x", i8(1, 8))]
    for k in range(draw(st.integers(2, 7))):
        a, b = (draw(st.sampled_from(values)) for _ in range(2))
        length = a.type.shape[1]
        kind = draw(st.sampled_from(("concat", "slice", "clamp", "reshape", "add")))
        if kind == "concat" and length + b.type.shape[1] <= 64:
            value = graph.apply(QConcat(axis=1), a, b)
        elif kind == "slice" and length > 1:
            value = graph.apply(front(length // 2), a)
        elif kind == "add" and b.type.shape == a.type.shape:
            value = graph.apply(ADD, a, b)
        elif kind == "reshape":
            value = graph.apply(QReshape(shape=a.type.shape), a)
        else:
            value = graph.apply(QClamp(low=k), a)
        values.append(value)
    unused = [v for v in values[1:] if not graph.users().get(v)]
    graph.output(*unused)
    return graph


def few_orders(graph):
    """Return all orders, or give the example up if they are many."""
    found = []
    for order in all_orders(graph):
        found.append(order)
        assume(len(found) <= ALL_ORDERS)
    return found


def half(node):
    """Scratch memory: every second node needs some."""
    return 5 * (node.index % 2)


@settings(max_examples=60)
@given(graph=branching_graphs(), scratch=st.sampled_from((no_scratch, half)), inside=st.booleans())
def test_lowest_peak_is_that_of_all_orders(graph, scratch, inside):
    found = few_orders(graph)
    search = OrderSearch(BufferSharing(graph, ports_inside=inside), elementwise_in_place, scratch)
    peak, order = search.lowest_peak()
    peaks = {o: peak_bytes(graph, o, scratch=scratch, ports_inside=inside) for o in found}
    assert peak <= min(peaks.values())
    # Outputs take over buffers that have other users too: only then it may differ.
    assume(peak == peaks[order])
    assert peaks[schedule(graph, scratch=scratch, ports_inside=inside)] == peak


@settings(max_examples=40)
@given(graph=branching_graphs(), scratch=st.sampled_from((no_scratch, half)))
def test_arena_is_the_smallest_of_all_orders(graph, scratch):
    def arena(order):
        buffers = [b for b in lifetimes(graph, order) if b.region is Region.ARENA]
        return pack([*buffers, *scratch_lifetimes(order, scratch)], 1)[1]

    plan = plan_memory(graph, alignment=1, scratch=scratch)
    assert plan.arena_bytes == min(arena(order) for order in few_orders(graph))


def wide(branches):
    """Return branches that each make much and leave little; run one by one they need little."""
    graph = Graph("wide")
    x = graph.input("x", i8(1, 16))
    grown = [graph.apply(QConcat(axis=1), *[x] * (2 + k)) for k in range(branches)]
    small = [graph.apply(front(1), g) for g in grown]
    graph.output(graph.apply(QConcat(axis=1), *small))
    return graph


def test_branches_run_one_after_the_other():
    graph = wide(6)
    # What is left of each branch is computed where the output has it.
    assert peak_bytes(graph, tuple(graph.op_nodes)) == 16 * (2 + 3 + 4 + 5 + 6 + 7)
    assert (
        OrderSearch(BufferSharing(graph), elementwise_in_place, no_scratch).lowest_peak()[0]
        == 7 * 16
    )
    assert plan_memory(graph, alignment=1).arena_bytes == 7 * 16


def test_search_that_takes_too_long_is_given_up():
    orders = OrderSearch(BufferSharing(wide(6)), elementwise_in_place, no_scratch)
    assert orders.lowest_peak(limit=20) is None
    assert len(list(orders.below(1000, limit=50))) < 20
    assert list(orders.below(7 * 16)) == []


def test_scratch_is_planned_with_the_values():
    graph = wide(2)

    def scratch(node):
        return 100 if isinstance(node.op, QSlice) else 0

    plan = plan_memory(graph, alignment=4, scratch=scratch)
    assert plan.arena_bytes == 48 + 4 + 100
    assert plan_memory(graph, alignment=4).arena_bytes == 48 + 4


@pytest.mark.parametrize("alignment", [1, 4, 16])
def test_plan_is_the_same_every_time(alignment):
    plans = [plan_memory(wide(5), alignment=alignment) for _ in range(2)]
    rows = [[(p.value.node.index, p.offset, p.first, p.last) for p in plan.placements]
            for plan in plans]  # fmt: skip
    assert rows[0] == rows[1]
