"""States in memory: any graph, several runs on one arena, and where next values are computed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlx
from rlx.ir import DType, Graph, GraphModule, Region, Stage, TensorType
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.memory import elementwise_in_place, host_in_place, moves_nothing, plan_memory
from rlx.ops.real import (
    RealAdd,
    RealConcat,
    RealNeg,
    RealReshape,
    RealReverse,
    RealScatter,
    RealSlice,
)

LENGTH = 4
TYPE = TensorType((LENGTH,), DType.I32)
KINDS = ("add", "neg", "reshape", "shift", "scatter", "reverse")


def part(start, stop):
    return RealSlice(start=(start,), stop=(stop,), step=(1,))


class Machine:
    """Runs a planned graph on bytes, as a runtime would."""

    def __init__(self, graph, plan, in_place):
        self.graph, self.plan, self.in_place = graph, plan, in_place
        self.arena = np.zeros(plan.arena_bytes, np.uint8)
        self.buffers = {}
        self.states = {s: np.zeros(LENGTH, np.int32) for s, _ in graph.states}

    def bytes_of(self, value):
        place = self.plan.of(value)
        buffer = self.arena
        if place.region is not Region.ARENA:
            root = place.alias_of or value
            whole = np.zeros(self.plan.of(root).nbytes, np.uint8)
            buffer = self.buffers.setdefault((place.region, root), whole)
        return buffer[place.offset : place.offset + place.nbytes]

    def read(self, value):
        if value.constant is not None:
            return value.constant
        type_ = value.type
        return self.bytes_of(value).view(type_.dtype.numpy).reshape(type_.shape).copy()

    def write(self, value, array):
        self.bytes_of(value)[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)

    def run(self, inputs):
        plan, graph = self.plan, self.graph
        self.arena[:] = np.random.default_rng(0).integers(0, 256, self.arena.size)
        kept = {s for s, _ in graph.states if plan.of(s).region is Region.STATE}
        for value in graph.inputs:
            if value not in kept:
                given = self.states[value] if value in self.states else inputs[value.name]
                self.write(value, given)
        for node in plan.schedule:
            if not moves_nothing(plan, node):
                self.spoil(node)
                results = node.op.evaluate(*map(self.read, node.operands))
                for value, array in zip(node.results, results, strict=True):
                    self.write(value, array)
        names = {s.name: s for s, _ in graph.states}
        others = {s: self.read(after) for s, after in graph.states if s not in kept}
        outputs = self.leave(names, others)
        self.states.update(others | {s: self.read(s) for s in kept})
        return outputs

    def spoil(self, node):
        """Write rubbish where results will be, unless the node may work in place there."""
        places = [self.plan.of(node.operands[k]) for k in self.in_place(node)]
        roots = [(p.region, p.alias_of or p.value, p.offset) for p in places]
        for value in node.results:
            place = self.plan.of(value)
            if (place.region, place.alias_of or value, place.offset) not in roots:
                self.bytes_of(value)[:] = 0x5A

    def leave(self, names, others):
        """Copy what the plan says, then read the outputs."""
        waiting = {c: self.arena[c.through : c.through + 4 * LENGTH]
                   for c in self.plan.copies if c.through is not None}  # fmt: skip
        for copy, area in waiting.items():
            area[:] = self.read(copy.source).view(np.uint8)
        for copy in self.plan.copies:
            if copy in waiting:
                self.bytes_of(copy.state)[:] = waiting[copy]
            else:
                self.write(copy.state, self.read(copy.source))
        outputs = []
        for name, value in zip(self.graph.output_names, self.graph.outputs, strict=True):
            state = names.get(name)
            if state in others:
                outputs.append(others[state])
            else:
                outputs.append(self.read(value if state is None else state))
        return outputs


def reference(graph, runs):
    """Return the outputs of each run by the definition."""
    states = {s.name: np.zeros(LENGTH, np.int32) for s, _ in graph.states}
    found = []
    for inputs in runs:
        outputs = evaluate(graph, inputs | states)
        named = dict(zip(graph.output_names, outputs, strict=True))
        states = {name: named[name] for name in states}
        found.append(outputs)
    return found


def some_runs(count=4):
    rng = np.random.default_rng(1)
    return [{"x": rng.integers(-9, 9, LENGTH).astype(np.int32)} for _ in range(count)]


def derived(graph, kind, a, b):
    """Return a vector computed of two others."""
    if kind == "add":
        return graph.apply(RealAdd(), a, b)
    if kind == "neg":
        return graph.apply(RealNeg(), a)
    if kind == "reshape":
        square = graph.apply(RealReshape(shape=(2, 2)), a)
        return graph.apply(RealReshape(shape=(LENGTH,)), square)
    if kind == "shift":
        new = graph.apply(RealNeg(), graph.apply(part(0, 1), b))
        return graph.apply(RealConcat(axis=0), graph.apply(part(1, LENGTH), a), new)
    if kind == "scatter":
        places = graph.constant(np.array([1, 3], np.int32))
        return graph.apply(RealScatter(), a, places, graph.apply(part(1, 3), b))
    return graph.apply(RealReverse(axes=(0,)), a)


@st.composite
def stateful_graphs(draw):
    """Graphs of vectors with states, whose next values are any values of their type."""
    graph = Graph("g")
    values = [graph.input("x", TYPE)]
    states = [graph.state(f"s{k}", TYPE) for k in range(draw(st.integers(1, 4)))]
    values += [*states, graph.constant(np.arange(LENGTH, dtype=np.int32))]
    for _ in range(draw(st.integers(0, 8))):
        a, b = draw(st.sampled_from(values)), draw(st.sampled_from(values))
        values.append(derived(graph, draw(st.sampled_from(KINDS)), a, b))
    for state in states:
        graph.output(draw(st.sampled_from(values)), names=[state.name])
    for k in range(draw(st.integers(0, 2))):
        graph.output(draw(st.sampled_from(values)), names=[f"y{k}"])
    return graph


@settings(max_examples=120)
@given(
    graph=stateful_graphs(), inside=st.booleans(), alignment=st.sampled_from((4, 16)),
    in_place=st.sampled_from((host_in_place, elementwise_in_place, lambda node: ())),
)  # fmt: skip
def test_a_planned_graph_keeps_its_states_from_run_to_run(graph, inside, alignment, in_place):
    plan = plan_memory(
        graph, alignment=alignment, in_place=in_place, ports_inside=inside, states=True
    )
    verify(GraphModule(graph, Stage.LIR, plan))
    machine = Machine(graph, plan, in_place)
    runs = some_runs()
    for inputs, wanted in zip(runs, reference(graph, runs), strict=True):
        found = machine.run(inputs)
        assert [y.tolist() for y in found] == [y.tolist() for y in wanted]


@settings(max_examples=30)
@given(graph=stateful_graphs())
def test_a_session_keeps_states_as_the_definition_says(graph):
    compiled = rlx.Session().compile(graph)
    runs = some_runs()
    for inputs, wanted in zip(runs, reference(graph, runs), strict=True):
        found = compiled.run(inputs)
        assert [y.tolist() for y in found] == [y.tolist() for y in wanted]


@given(graph=stateful_graphs())
def test_without_the_option_states_are_inputs_and_outputs(graph):
    plan = plan_memory(graph)
    assert plan.copies == ()
    assert all(p.region is not Region.STATE for p in plan.placements)
    assert {plan.of(s).region for s, _ in graph.states} == {Region.INPUT}


def planned(graph, **options):
    options = {"in_place": host_in_place, "ports_inside": True, "states": True} | options
    plan = plan_memory(graph, **options)
    verify(GraphModule(graph, Stage.LIR, plan))
    return plan


def cache(chain):
    """Return a cache that is written ``chain`` times in a run, and its values."""
    graph = Graph("cache")
    values = [graph.state("cache", TYPE)]
    for k in range(chain):
        place = graph.input(f"place{k}", TensorType((1,), DType.I32))
        row = graph.input(f"row{k}", TensorType((1,), DType.I32))
        values.append(graph.apply(RealScatter(), values[-1], place, row))
    graph.output(values[-1], names=["cache"])
    return graph, values


@pytest.mark.parametrize("chain", [1, 3])
def test_a_cache_is_written_in_place(chain):
    graph, values = cache(chain)
    plan = planned(graph)
    assert {plan.of(v).region for v in values} == {Region.STATE}
    assert plan.copies == ()
    assert plan.arena_bytes == 8 * chain  # the places and rows


def test_a_state_that_is_passed_through_costs_nothing():
    graph = Graph("g")
    state = graph.state("s", TYPE)
    graph.output(graph.apply(RealAdd(), state, graph.input("x", TYPE)), names=["y"])
    graph.output(state, names=["s"])
    plan = planned(graph)
    assert plan.copies == ()
    assert plan.of(state).region is Region.STATE


def test_the_old_value_is_kept_while_it_is_read():
    graph = Graph("g")
    state, x = graph.state("s", TYPE), graph.input("x", TYPE)
    after = graph.apply(RealNeg(), state)
    y = graph.apply(RealAdd(), graph.apply(RealAdd(), after, x), state)
    graph.output(y, after, names=["y", "s"])
    plan = planned(graph)
    assert plan.of(after).region is Region.ARENA
    (copy,) = plan.copies
    assert (copy.source, copy.state, copy.through) == (after, state, None)


def test_a_next_value_is_computed_in_the_buffer_once_nobody_reads_the_old_one():
    graph = Graph("g")
    state, x = graph.state("s", TYPE), graph.input("x", TYPE)
    total = graph.apply(RealAdd(), graph.apply(RealReverse(axes=(0,)), state), x)
    after = graph.apply(RealReverse(axes=(0,)), total)
    graph.output(after, names=["s"])
    plan = planned(graph)
    assert plan.of(after).region is Region.STATE
    assert plan.of(total).region is Region.ARENA
    assert plan.copies == ()


def test_a_state_that_leaves_as_another_output_is_an_input_like_others():
    graph = Graph("g")
    state = graph.state("s", TYPE)
    graph.output(graph.apply(RealNeg(), state), state, names=["s", "old"])
    plan = planned(graph)
    assert plan.of(state).region is Region.ARENA
    assert plan.copies == ()


@pytest.mark.parametrize("count", [2, 3])
def test_states_that_get_each_others_values_pass_one_through_the_arena(count):
    graph = Graph("g")
    states = [graph.state(f"s{k}", TYPE) for k in range(count)]
    for k, state in enumerate(states):
        graph.output(states[(k + 1) % count], names=[state.name])
    plan = planned(graph)
    assert len(plan.copies) == count
    assert sum(c.through is not None for c in plan.copies) == 1
    assert plan.arena_bytes == 4 * LENGTH


def test_a_delay_line_is_copied_from_its_end():
    graph = Graph("g")
    states = [graph.state(f"s{k}", TYPE) for k in range(3)]
    news = [graph.input("x", TYPE), *states[:-1]]
    graph.output(*news, names=[s.name for s in states])
    graph.output(graph.apply(RealNeg(), states[-1]), names=["y"])
    plan = planned(graph)
    assert [(c.state, c.through) for c in plan.copies] == [(s, None) for s in reversed(states)]
