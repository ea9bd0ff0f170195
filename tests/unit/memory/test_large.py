"""Large graphs: valid plans, and work in proportion to the graph, counted."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ir import Graph, GraphModule, Stage, f32
from rlx.ir.graph import Source
from rlx.memory import elementwise_in_place, packing, to_lir
from rlx.memory.lifetimes import no_scratch
from rlx.memory.orders import (
    MAX_SEARCHED_NODES,
    MAX_STATES,
    STATES_PER_NODE,
    OrderSearch,
    state_limit,
)
from rlx.memory.schedule import _fewest_bytes_first
from rlx.memory.sharing import BufferSharing
from rlx.ops.real import RealAdd, RealConcat, RealMatmul, RealReshape, RealTanh

WIDTH = 4


def random_graph(nodes, seed=0, reach=None):
    """Return a graph whose nodes read any of the ``reach`` values before them."""
    chosen = random.Random(seed)
    graph = Graph("g")
    values = [graph.input("x", f32(2, WIDTH))]
    weights = graph.param("w", f32(WIDTH, WIDTH))
    for _ in range(nodes):
        near = values[-reach:] if reach else values
        a, b = chosen.choice(near), chosen.choice(near)
        kind = chosen.randrange(5)
        if kind == 0 and a.type == b.type:
            value = graph.apply(RealAdd(), a, b)
        elif kind == 1 and a.type.shape[0] + b.type.shape[0] <= 32:
            value = graph.apply(RealConcat(axis=0), a, b)
        elif kind == 2:
            value = graph.apply(RealMatmul(), a, weights)
        elif kind == 3:
            value = graph.apply(RealReshape(shape=a.type.shape), a)
        else:
            value = graph.apply(RealTanh(), a)
        values.append(value)
    users = graph.users()
    graph.output(*(v for v in values[1:] if not users[v]))
    return graph


def residual(blocks):
    """Return blocks of three branches beside a shortcut: six nodes each."""
    graph = Graph("g")
    x = graph.input("x", f32(2, WIDTH))
    weights = graph.param("w", f32(WIDTH, WIDTH))
    for _ in range(blocks):
        a, b, c = (graph.apply(RealMatmul(), x, weights) for _ in range(3))
        x = graph.apply(RealAdd(), x, graph.apply(RealAdd(), graph.apply(RealAdd(), a, b), c))
    graph.output(x)
    return graph


@pytest.mark.parametrize("reach", [3, 30, None])
def test_plan_of_a_large_graph_is_valid(reach):
    graph = random_graph(600, reach=reach)
    module = to_lir(GraphModule(graph, Stage.MIR), alignment=64)  # verifies it
    assert len(module.plan.schedule) == 600


def test_search_of_a_deep_graph_visits_a_few_sets_for_each_node():
    graph = residual(300)
    nodes = len(list(graph.op_nodes))
    orders = OrderSearch(BufferSharing(graph), elementwise_in_place, no_scratch)
    assert orders.lowest_peak() is not None
    assert nodes < orders.visited < 2 * nodes


def test_search_of_a_wide_graph_is_given_up_in_proportion():
    graph = random_graph(400)
    orders = OrderSearch(BufferSharing(graph), elementwise_in_place, no_scratch)
    assert orders.lowest_peak() is None
    assert orders.visited <= STATES_PER_NODE * 400 + 400  # what can be ready at once


def test_limit_of_the_search_grows_with_the_graph_and_ends():
    assert state_limit(MAX_SEARCHED_NODES) == MAX_STATES
    assert state_limit(MAX_SEARCHED_NODES + 1) == STATES_PER_NODE * (MAX_SEARCHED_NODES + 1)
    assert state_limit(10**6) == MAX_STATES


@pytest.mark.parametrize(("nodes", "reach"), [(400, None), (1200, None), (1200, 20)])
def test_packing_of_a_large_graph_compares_a_bounded_number_of_buffers(monkeypatch, nodes, reach):
    compared = []
    place = packing._place

    def counted(order, sizes, overlaps):
        compared.append(len(overlaps) + sum(map(len, overlaps)))
        return place(order, sizes, overlaps)

    monkeypatch.setattr(packing, "_place", counted)
    to_lir(GraphModule(random_graph(nodes, reach=reach), Stage.MIR))
    assert sum(compared) <= max(packing.MAX_COMPARISONS, compared[0])


def fewest_bytes_first(graph):
    """Return the order of ``_fewest_bytes_first``, by looking at all nodes at each step."""
    waiting, order = list(graph.op_nodes), []
    while waiting:
        ready = [
            n
            for n in waiting
            if all(o.node in order or isinstance(o.node.op, Source) for o in n.operands)
        ]

        def balance(node):
            others = {o for n in waiting if n is not node for o in n.operands} | {*graph.outputs}
            freed = {o for o in node.operands if o not in others and o.constant is None}
            return node.types[0].nbytes - sum(o.type.nbytes for o in freed), node.index

        best = min(ready, key=balance)
        waiting.remove(best)
        order.append(best)
    return tuple(order)


@settings(max_examples=40)
@given(nodes=st.integers(1, 25), seed=st.integers(0, 10**6))
def test_fewest_bytes_come_first(nodes, seed):
    graph = random_graph(nodes, seed, reach=6)
    assert _fewest_bytes_first(graph) == fewest_bytes_first(graph)
