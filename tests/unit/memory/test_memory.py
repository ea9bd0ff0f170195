"""Memory plans: valid for any network, small, and explained."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Graph, GraphModule, Region, Stage, i8
from rlx.ir.verify import verify
from rlx.memory import memory_table, peak_bytes, plan_memory, to_lir
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QAdd, QClamp, QConcat, QMaxPool2d, QReshape, QSlice, QTable, Window
from rlx.support.errors import DoesNotFitError
from strategies import random_graphs
from support.messages import raises

ADD = QAdd(
    x_zero_point=0, y_zero_point=0, x_rescale=Rescale.of(0.5), y_rescale=Rescale.of(0.5),
    rescale=Rescale.of(2**-19), zero_point=0,
)  # fmt: skip
NEGATE = QTable(table=tuple(-c if c > -128 else 127 for c in range(-128, 128)))


def never_in_place(node):
    del node
    return ()


class Memory:
    """The bytes of a running program: one arena, and the caller's buffers."""

    def __init__(self, plan):
        self.plan = plan
        self.arena = np.zeros(plan.arena_bytes, np.uint8)
        self.buffers = {}
        self.contents = {}

    def view(self, value):
        place = self.plan.of(value)
        if place.region is Region.ARENA:
            return self.arena[place.offset : place.offset + place.nbytes]
        root = place.alias_of or value
        whole = np.zeros(self.plan.of(root).nbytes, np.uint8)
        buffer = self.buffers.setdefault((place.region, root), whole)
        return buffer[place.offset : place.offset + place.nbytes]

    def write(self, value, contents):
        self.contents[value] = contents
        self.view(value)[:] = contents

    def check(self, values):
        for value in values:
            if value.constant is None:
                assert np.array_equal(self.view(value), self.contents[value]), value.node.label


def made_of(node, contents, rng):
    """Return the bytes of a node's result: rubbish, unless they are those of its operands."""
    if isinstance(node.op, QReshape):
        return contents[node.operands[0]]
    known = all(o in contents for o in node.operands)
    if isinstance(node.op, QSlice | QConcat) and known:
        shapes = [o.type.static_shape for o in node.operands]
        arrays = [contents[o].reshape(s) for o, s in zip(node.operands, shapes, strict=True)]
        return node.op.evaluate(*arrays)[0].reshape(-1)
    return rng.integers(0, 256, node.types[0].nbytes, np.uint8)


def check_elements(node, plan):
    """Check that no element of an operand is read after an earlier one of the result is written.

    Only elementwise code writes where it reads; it goes from front to back.
    """
    if len(node.results) != 1 or not node.op.traits.elementwise:
        return
    z, shape = plan.of(node.result), node.types[0].static_shape
    for x in (plan.of(o) for o in node.operands if o.constant is None):
        if (x.region, x.alias_of or x.value) == (z.region, z.alias_of or z.value) or (
            x.region is z.region is Region.ARENA
        ):
            indices = np.arange(x.value.type.size).reshape(x.value.type.static_shape)
            read = x.offset + np.broadcast_to(indices, shape).reshape(-1)
            written = z.offset + np.arange(read.size)
            assert not ((z.offset <= read) & (read < written)).any(), node.label


def occupancy_check(graph, plan):
    """Run the schedule on a byte array as a target would, and compare every value read."""
    rng = np.random.default_rng(0)
    memory = Memory(plan)
    for value in graph.inputs:
        memory.write(value, rng.integers(0, 256, value.type.nbytes, np.uint8))
    for node in plan.schedule:
        memory.check(node.operands)
        check_elements(node, plan)
        for value in node.results:
            memory.write(value, made_of(node, memory.contents, rng))
    memory.check(graph.outputs)


@given(case=random_graphs(size=4), inside=st.booleans())
def test_plan_is_valid_for_any_network(case, inside):
    module = to_lir(GraphModule(case.graph, Stage.MIR), ports_inside=inside)
    verify(module)
    occupancy_check(case.graph, module.plan)
    assert all(p.offset % 4 == 0 for p in module.plan.placements)


@given(case=random_graphs(size=4), inside=st.booleans())
def test_plan_reaches_at_least_the_peak(case, inside):
    plan = plan_memory(case.graph, alignment=1, ports_inside=inside)
    assert plan.arena_bytes >= peak_bytes(case.graph, plan.schedule, ports_inside=inside)


def diamond():
    """x -> a -> (b, c) -> d: two branches of one element each from one large value."""
    g = Graph("diamond")
    x = g.input("x", i8(1, 4, 4, 1))
    a = g.apply(NEGATE, x, name="a")
    pool = QMaxPool2d(window=Window((4, 4)))
    b = g.apply(pool, a, name="b")
    c = g.apply(pool, g.apply(NEGATE, a, name="n"), name="c")
    g.output(g.apply(ADD, b, c, name="d"))
    return g


def test_plan_works_in_place_when_nobody_reads_the_operand_again():
    plan = plan_memory(diamond(), alignment=1)
    table = {row["value"].split("'")[1]: row for row in memory_table(plan)}
    assert table["n"]["alias_of"].endswith("'a'")
    assert plan.arena_bytes == 16 + 1


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_plan_keeps_a_part_that_is_broadcast_over_the_whole(first, inside):
    graph = Graph("g")
    x = graph.input("x", i8(4, 2))
    a = x if inside else graph.apply(NEGATE, x, name="a")
    part = graph.apply(QSlice(start=(1, 0), stop=(2, 2), step=(1, 1)), a, name="part")
    b = graph.apply(ADD, *((part, a) if first else (a, part)), name="b")
    graph.output(graph.apply(NEGATE, b, name="c"))
    plan = plan_memory(graph, alignment=1, ports_inside=inside)
    verify(GraphModule(graph, Stage.LIR, plan))
    occupancy_check(graph, plan)
    assert plan.of(b).alias_of is None


def test_plan_works_in_place_on_one_value_read_twice():
    graph = Graph("g")
    a = graph.apply(NEGATE, graph.input("x", i8(4, 2)), name="a")
    b = graph.apply(ADD, a, a, name="b")
    graph.output(graph.apply(NEGATE, b, name="c"))
    plan = plan_memory(graph)
    occupancy_check(graph, plan)
    assert plan.of(b).alias_of == a


def test_plan_without_in_place_needs_both():
    assert plan_memory(diamond(), alignment=1, in_place=never_in_place).arena_bytes == 32 + 1


def test_plan_never_writes_the_callers_input():
    g = Graph("g")
    x = g.input("x", i8(4))
    y = g.apply(NEGATE, x)
    g.output(g.apply(ADD, x, y))
    plan = plan_memory(g)
    assert plan.of(x).region is Region.INPUT
    assert plan.of(y).alias_of is None
    assert plan.of(y).region is Region.OUTPUT


def test_plan_shares_the_bytes_of_a_reshape():
    g = Graph("g")
    a = g.apply(QReshape(shape=(4,)), g.input("x", i8(2, 2)))
    g.output(g.apply(QClamp(low=0), a))
    plan = plan_memory(g)
    assert plan.of(a).region is Region.INPUT
    assert plan.arena_bytes == 0


def test_plan_copies_an_input_that_is_an_output_after_a_reshape():
    g = Graph("g")
    y = g.apply(QReshape(shape=(4,)), g.input("x", i8(2, 2)))
    g.output(y)
    assert plan_memory(g).of(y).region is Region.OUTPUT
    assert plan_memory(g).of(y).alias_of is None


def test_plan_keeps_two_outputs_apart():
    g = Graph("g")
    a = g.apply(NEGATE, g.input("x", i8(2, 2)))
    b = g.apply(QReshape(shape=(4,)), a)
    g.output(a, b)
    plan = plan_memory(g)
    assert plan.of(b).alias_of is None
    assert {plan.of(a).region, plan.of(b).region} == {Region.OUTPUT}


def test_plan_refuses_an_arena_over_the_limit():
    with raises(DoesNotFitError):
        plan_memory(diamond(), limit_bytes=19)


def test_ports_inside_share_bytes_with_what_is_computed():
    graph = diamond()
    (x,), (y,) = graph.inputs, graph.outputs
    outside, inside = plan_memory(graph), plan_memory(graph, ports_inside=True)
    assert {outside.of(x).region, outside.of(y).region} == {Region.INPUT, Region.OUTPUT}
    assert {p.region for p in inside.placements} == {Region.ARENA}
    # The negation works in the input, which nobody reads afterwards.
    assert inside.of(graph.nodes[1].result).offset == inside.of(x).offset
    assert (outside.arena_bytes, inside.arena_bytes) == (16 + 4, 16 + 4 + 4)
    assert (inside.of(x).first, inside.of(y).last) == (-1, len(inside.schedule))
