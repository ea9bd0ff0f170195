"""Every op that the engine has runs on it and gives the reference's codes."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from targets.fpga.architectures.engine.interpreter import interpreted, program_of
from targets.fpga.harness import drive

from rlx.ir import Graph, i8, i32
from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.exponential import softmax_scaling
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    Q_OPS,
    QArgmax,
    QAveragePool2d,
    QClamp,
    QConcat,
    QConv2d,
    QDense,
    QMaxPool2d,
    QMean,
    QMinimum,
    QMul,
    QReshape,
    QSoftmax,
    Window,
)
from rlx.support.errors import DoesNotFitError, EmitError, UnsupportedOpError
from rlx_fpga.architectures.engine.architecture import RULES
from rlx_fpga.architectures.engine.design import Engine
from rlx_fpga.architectures.engine.lower import LANES, assemble, refusal
from rlx_fpga.architectures.engine.program import Feed
from strategies import STRATEGIES, random_graphs
from support.messages import raises

MACHINE_OPS = [
    op for op in Q_OPS if op in RULES and op.name not in ("q.reshape", "q.argmax", "q.softmax")
]
CASES = 3


def run(graph, inputs, multipliers=8, **options):
    """Return the outputs of the machine for one frame, and the machine."""
    machine = Engine(assemble(graph, multipliers))
    beats = {
        name: inputs[value.name].reshape(-1, 1)
        for name, value in zip(machine.input_names, graph.inputs, strict=True)
    }
    counts = {
        name: value.type.size
        for name, value in zip(machine.output_names, graph.outputs, strict=True)
    }
    found = drive(machine, beats, counts, limit=3 * machine.code.interval + 5000, **options)
    return [
        found.outputs[name].reshape(value.type.static_shape)
        for name, value in zip(machine.output_names, graph.outputs, strict=True)
    ]


def cases_of(op):
    """Return a few small cases of an op that the architecture takes."""
    found = []

    @settings(max_examples=60, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
    @given(STRATEGIES[op](size=2, batch=1))
    def collect(case):
        if len(found) == CASES or sum(v.type.size for v in case.graph.inputs) > 150:
            return
        try:
            assemble(case.graph, 8)
        except (EmitError, UnsupportedOpError):
            return
        found.append(case)

    collect()
    return found


@pytest.mark.sim
@pytest.mark.parametrize("op", MACHINE_OPS, ids=lambda op: op.name)
def test_op_gives_the_codes_of_the_reference(op):
    cases = cases_of(op)
    assert len(cases) >= 2
    for case in cases:
        for one, expected in zip(run(case.graph, case.inputs), evaluate(case.graph, case.inputs),
                                 strict=True):  # fmt: skip
            assert np.array_equal(one, expected)


def convolution(groups, outputs, channels=6):
    rng = np.random.default_rng(groups)
    graph = Graph("net")
    w = graph.constant(rng.integers(-127, 128, (outputs, 3, 3, channels // groups)).astype(np.int8))
    b = graph.constant(rng.integers(-500, 500, outputs).astype(np.int32))
    op = QConv2d(window=Window.same((4, 4), (3, 3)), groups=groups, x_zero_point=-3,
                 zero_point=7, rescale=Rescale.of(0.004))  # fmt: skip
    graph.output(graph.apply(op, graph.input("x", i8(1, 4, 4, channels)), w, b))
    return graph


@pytest.mark.sim
@pytest.mark.parametrize(
    ("groups", "outputs", "multipliers"), [(2, 6, 8), (3, 3, 8), (2, 12, 6), (6, 12, 8)]
)
def test_groups_are_blocks_or_one_group_with_zeros(groups, outputs, multipliers):
    graph = convolution(groups, outputs)
    x = np.random.default_rng(9).integers(-128, 128, (1, 4, 4, 6)).astype(np.int8)
    (found,) = run(graph, {"x": x}, multipliers)
    assert np.array_equal(found, evaluate(graph, {"x": x})[0])


def concatenation(axis, shapes):
    graph = Graph("net")
    parts = [graph.input(f"x{n}", i8(*shape)) for n, shape in enumerate(shapes)]
    graph.output(graph.apply(QConcat(axis=axis), *parts))
    return graph


@pytest.mark.sim
@pytest.mark.parametrize(
    ("axis", "shapes"),
    [(-1, [(1, 3, 2, 2), (1, 3, 2, 5), (1, 3, 2, 1)]), (1, [(1, 2, 3, 2), (1, 1, 3, 2)])],
)
def test_joined_tensors_lie_between_each_other(axis, shapes):
    graph = concatenation(axis, shapes)
    rng = np.random.default_rng(5)
    inputs = {
        value.name: rng.integers(-128, 128, value.type.static_shape).astype(np.int8)
        for value in graph.inputs
    }
    (found,) = run(graph, inputs)
    assert np.array_equal(found, evaluate(graph, inputs)[0])


def test_every_op_has_a_rule_or_a_reason():
    assert [op.name for op in Q_OPS if not RULES.knows(op)] == []


def pool(window, shape=(1, 6, 6, 2)):
    graph = Graph("net")
    graph.output(graph.apply(QAveragePool2d(window=window), graph.input("x", i8(*shape))))
    return graph


@pytest.mark.parametrize("count", [2, 3, 4, 5, 7, 9, 12, 16, 25, 49, 64, 125, 625])
def test_divisions_are_exact(count):
    # Refused if not one scaling gives every quotient: so being taken is the proof.
    program = assemble(pool(Window((1, count)), (1, 1, count, 2)), 8)
    (scale,) = program.scales
    assert scale.multiplier >= 1 << 30


def test_refusals_say_why():
    padded = Window((3, 3), padding=((1, 1), (1, 1)))
    with raises(UnsupportedOpError):
        assemble(pool(padded), 8)
    graph = Graph("net")
    x = graph.input("x", i8(1, 4))
    op = QMul(x_zero_point=0, y_zero_point=0, rescale=Rescale.of(0.1), zero_point=0)
    graph.output(graph.apply(op, x, x, name="m"))
    with raises(UnsupportedOpError):
        assemble(graph, 8)
    graph = Graph("net")
    graph.output(graph.input("x", i32(1, 4)))
    with raises(EmitError):
        assemble(graph, 8)


def test_a_graph_without_work_is_refused():
    graph = Graph("net")
    x = graph.input("x", i8(1, 4))
    graph.output(graph.apply(QReshape(shape=(4,)), x))
    with raises(EmitError):
        assemble(graph, 8)


def dense(outputs):
    graph = Graph("net")
    w = graph.constant(np.ones((outputs, 64), np.int8))
    b = graph.constant(np.zeros(outputs, np.int32))
    op = QDense(x_zero_point=0, rescale=Rescale.of(0.01), zero_point=0)
    graph.output(graph.apply(op, graph.input("x", i8(1, 64)), w, b))
    return graph


@pytest.mark.parametrize(("multipliers", "lanes"), [(5, 1), (8, 4), (28, 16), (200, 32)])
def test_array_takes_what_the_budget_allows(multipliers, lanes):
    assert assemble(dense(40), multipliers).lanes == lanes
    assert lanes in LANES


def test_too_small_a_budget_is_refused():
    with raises(DoesNotFitError):
        assemble(dense(3), 4)


def test_no_more_lanes_than_are_of_use():
    assert assemble(dense(3), 200).lanes == 4


def codes_for(graph, seed=0):
    """Return random codes for each input of a graph."""
    rng = np.random.default_rng(seed)
    return {
        value.name: rng.integers(-128, 128, value.type.static_shape).astype(np.int8)
        for value in graph.inputs
    }


def check(graph, inputs, multipliers=8, **options):
    """Compare a program, run by its docstrings, with the reference; return it."""
    program = program_of(graph, multipliers, **options)
    expected = evaluate(graph, inputs)
    for found, wanted in zip(interpreted(program, inputs), expected, strict=True):
        assert np.array_equal(found, wanted)
    return program


@pytest.mark.parametrize("op", MACHINE_OPS, ids=lambda op: op.name)
def test_an_op_that_is_not_refused_has_a_program_with_the_codes_of_the_reference(op):
    taken = []

    @settings(max_examples=16, suppress_health_check=list(HealthCheck))
    @given(STRATEGIES[op](size=3, batch=2), st.sampled_from([5, 6, 8, 12, 200]))
    def run_it(case, multipliers):
        (result,) = case.graph.outputs
        if refusal(result.node) is None:
            check(case.graph, case.inputs, multipliers)
            taken.append(case)
            return
        with pytest.raises(UnsupportedOpError):
            program_of(case.graph, multipliers)

    run_it()
    # Of minima only those with a constant are taken.
    assert len(taken) >= 4 or op is QMinimum


def test_programs_of_networks_never_overwrite_what_is_still_read():
    taken = []

    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(random_graphs(size=2, batch=1), st.sampled_from(Feed))
    def run_it(case, feed):
        try:
            check(case.graph, case.inputs, feed=feed)
        except (EmitError, UnsupportedOpError):
            return
        taken.append(case)

    run_it()
    assert len(taken) >= 5


@pytest.mark.parametrize("multipliers", [5, 6, 8, 12, 20])
@pytest.mark.parametrize(("groups", "outputs"), [(1, 5), (2, 6), (2, 12), (3, 3), (6, 6), (6, 12)])
def test_convolutions_of_any_groups_are_exact_on_any_lanes(groups, outputs, multipliers):
    graph = convolution(groups, outputs)
    program = check(graph, codes_for(graph), multipliers)
    # The last block holds what the others leave, at least one result and never more than they.
    (one,) = program.instructions
    assert 1 <= one.last_lanes <= one.lanes <= program.lanes


def test_windows_may_have_any_stride_dilation_and_padding():
    rng = np.random.default_rng(0)
    for groups in (1, 2, 4) * 6:
        size, kernel, stride = (tuple(map(int, rng.integers(1, n, 2))) for n in (7, 4, 4))
        dilation = tuple(map(int, rng.integers(1, 4, 2)))
        window = Window.same(size, kernel, stride, dilation)
        graph = Graph("net")
        w = graph.constant(rng.integers(-128, 128, (4, *kernel, 4 // groups)).astype(np.int8))
        b = graph.constant(rng.integers(-(1 << 24), 1 << 24, 4).astype(np.int32))
        rescale = Rescale.of(*(2.0**-16 * (1 + rng.random(4))))
        op = QConv2d(window=window, groups=groups, x_zero_point=int(rng.integers(-128, 128)),
                     zero_point=9, rescale=rescale)  # fmt: skip
        y = graph.apply(op, graph.input("x", i8(1, *size, 4)), w, b)
        graph.output(graph.apply(QMaxPool2d(window=Window.same((y.type.shape[1:3]), (2, 3))), y))
        check(graph, codes_for(graph), int(rng.choice([5, 8, 12])))


@pytest.mark.parametrize("axes", [(1,), (2, 3), (-1,), (1, 2), (1, 2, 3), (1, 3), (0, 1)])
@pytest.mark.parametrize("shape", [(1, 3, 4, 5), (1, 3, 1, 5), (1, 1, 1, 1)])
def test_means_are_over_axes_that_follow_one_another(shape, axes):
    """Axes of one value do not count: neither between the others nor among them."""
    graph = Graph("net")
    x = graph.input("x", i8(*shape))
    count = int(np.prod([shape[axis] for axis in axes]))
    op = QMean(axes=axes, x_zero_point=-5, rescale=Rescale.of(0.9).divided(count), zero_point=3)
    graph.output(graph.apply(op, x))
    if axes == (1, 3) and shape[2] > 1:
        with raises(UnsupportedOpError):
            program_of(graph)
        return
    check(graph, codes_for(graph))


def test_every_channel_s_accumulator_must_have_32_bits():
    """Three products of -128 are below the bias, and the last one is too large by one."""
    for bias, taken in ((-(1 << 31) + 3 * 128 + 1, True), (-(1 << 31) + 3 * 128, False)):
        graph = Graph("net")
        w = graph.constant(np.ones((2, 3), np.int8))
        b = graph.constant(np.array([5, bias], np.int32))
        op = QDense(x_zero_point=0, rescale=Rescale.of(2.0**-25), zero_point=0)
        node = graph.apply(op, graph.input("x", i8(1, 3)), w, b).node
        assert (refusal(node) is None) is taken


def activations(size):
    graph = Graph("net")
    graph.output(graph.apply(QClamp(low=-7), graph.input("x", i8(1, size))))
    return graph


@pytest.mark.parametrize(("size", "span"), [(1, 2), (2, 2), (3, 4), (64, 64), (65, 128)])
def test_memory_has_one_port_above_the_limit_only(size, span):
    """A clamp works in place: its operand is all that is stored."""
    program = program_of(activations(size), two_ports=size)
    assert (program.memory, program.span, program.one_port) == (size, span, False)
    assert program.instructions[0].loops.counts == (1, 1, size, 1, 1, 1)
    assert program_of(activations(size), two_ports=size - 1).one_port
    assert not program_of(activations(size)).one_port


def logits(*ops, shape=(1, 5), keep=False):
    """Return a graph in which ``ops`` have one operand, which may be an output too."""
    graph = Graph("net")
    x = graph.apply(QClamp(low=-100), graph.input("x", i8(*shape)))
    graph.output(*(graph.apply(op, x, name="f") for op in ops), *([x] if keep else []))
    return graph


MULTIPLIER, SHIFT, MINIMUM = softmax_scaling(0.1)
SOFTMAX = QSoftmax(multiplier=MULTIPLIER, left_shift=SHIFT, diff_min=MINIMUM)


@pytest.mark.parametrize("ops", [(SOFTMAX,), (QArgmax(),), (SOFTMAX, QArgmax(), SOFTMAX)])
def test_softmax_and_index_are_done_on_the_way_out(ops):
    """Each softmax takes one of the budget's multipliers, an index none."""
    graph = logits(*ops, keep=True)
    minimum = 5 + ops.count(SOFTMAX)
    program = check(graph, codes_for(graph), minimum)
    assert [finish and finish.op for finish in program.finishes] == [*ops, None]
    assert len(program.instructions) == 1
    with raises(DoesNotFitError):
        program_of(graph, minimum - 1)


def test_an_index_is_taken_on_the_last_axis_with_more_than_one_value():
    graph = logits(QArgmax(axis=1), shape=(1, 5, 1, 1))
    check(graph, codes_for(graph))
    with raises(UnsupportedOpError):
        program_of(logits(QArgmax(axis=1), shape=(1, 5, 1, 2)))


def test_softmax_is_refused_inside_of_a_network_and_for_two_outputs():
    graph = logits(SOFTMAX)
    (y,) = graph.outputs
    assert refusal(y.node) is None
    twice = Graph("net")
    x = twice.apply(QClamp(), twice.input("x", i8(1, 5)))
    y = twice.apply(SOFTMAX, x)
    twice.output(y, y)
    inside = logits(SOFTMAX)
    (y,) = inside.outputs
    inside.apply(QClamp(), y)
    for graph in (twice, inside):
        with raises(UnsupportedOpError):
            program_of(graph, 8)


def test_the_fastest_array_is_chosen_and_of_two_the_smaller():
    intervals = {
        n: assemble(dense(3), n + 4).interval for n in LANES if assemble(dense(3), n + 4).lanes == n
    }
    chosen = assemble(dense(3), 36)
    assert chosen.interval == min(intervals.values())
    # Three results of 64 products each: no array is of more use than one with four lanes.
    assert set(intervals) == {1, 2, 4}
