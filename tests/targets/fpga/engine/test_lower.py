"""Every op that the engine has runs on it and gives the reference's codes."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from targets.fpga.harness import drive

from rlx.errors import DoesNotFitError, EmitError, UnsupportedOpError
from rlx.ir import Graph, i8, i32
from rlx.ir.evaluate import evaluate
from rlx.numerics.fixed_point import Rescale
from rlx.ops.q import Q_OPS, QAveragePool2d, QConcat, QConv2d, QDense, QMul, QReshape, Window
from rlx_fpga.architectures.engine.architecture import RULES
from rlx_fpga.architectures.engine.design import Engine
from rlx_fpga.architectures.engine.lower import LANES, assemble
from strategies import STRATEGIES

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
    with pytest.raises(UnsupportedOpError, match=r"divides all windows by the same number"):
        assemble(pool(padded), 8)
    graph = Graph("net")
    x = graph.input("x", i8(1, 4))
    op = QMul(x_zero_point=0, y_zero_point=0, rescale=Rescale.of(0.1), zero_point=0)
    graph.output(graph.apply(op, x, x, name="m"))
    with pytest.raises(UnsupportedOpError) as caught:
        assemble(graph, 8)
    assert str(caught.value) == (
        "q.mul %1 'm': the engine lacks it: the array has no product of two tensors"
        "\n  hint: use --architecture dataflow"
    )
    graph = Graph("net")
    graph.output(graph.input("x", i32(1, 4)))
    with pytest.raises(EmitError, match=r"input 'x' must be an int8 tensor of fixed shape"):
        assemble(graph, 8)


def test_a_graph_without_work_is_refused():
    graph = Graph("net")
    x = graph.input("x", i8(1, 4))
    graph.output(graph.apply(QReshape(shape=(4,)), x))
    with pytest.raises(EmitError, match=r"^graph 'net': it has no op for the array"):
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
    with pytest.raises(DoesNotFitError, match=r"needs at least 5 DSP slices, the budget is 4"):
        assemble(dense(3), 4)


def test_no_more_lanes_than_are_of_use():
    assert assemble(dense(3), 200).lanes == 4
