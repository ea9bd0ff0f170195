"""Every op that this architecture has computes the reference's codes; others are refused."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlx.ir import Graph, i8
from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    Q_OPS,
    QArgmax,
    QAveragePool2d,
    QConv2d,
    QDense,
    QMul,
    QSoftmax,
    QSub,
    Window,
)
from rlx.support.errors import DoesNotFitError, UnsupportedOpError
from rlx_fpga.architectures.parallel import lower
from rlx_fpga.architectures.parallel.architecture import RULES
from rlx_fpga.architectures.parallel.lower import unroll
from rlx_fpga.architectures.parallel.pipeline import LEVELS, schedule
from rlx_fpga.devices import device
from strategies import STRATEGIES

pytestmark = pytest.mark.usefixtures("as_typed")


def run(graph, inputs):
    """Return the outputs that the netlists of all layers give."""
    values = {v: inputs[v.name].reshape(-1).astype(np.int64) for v in graph.inputs}
    for layer in unroll(graph):
        operands = np.concatenate([values[v] for v in layer.operands])
        steps = layer.netlist.evaluate(operands)
        values[layer.node.result] = np.array([steps[o] for o in layer.outputs])
    return [values[v].reshape(v.type.static_shape) for v in graph.outputs]


@pytest.mark.parametrize("op", [op for op in Q_OPS if op in RULES], ids=lambda op: op.name)
def test_op_gives_the_codes_of_the_reference(op):
    taken = []

    @settings(max_examples=120 if op is QMul else 12, suppress_health_check=list(HealthCheck))
    @given(STRATEGIES[op](size=2, batch=1))
    def check(case):
        try:
            found = run(case.graph, case.inputs)
        except UnsupportedOpError:
            return
        taken.append(case)
        for one, expected in zip(found, evaluate(case.graph, case.inputs), strict=True):
            assert np.array_equal(one, expected)

    check()
    # Half of the products are of two computed values, and refused.
    assert len(taken) >= 6


def test_every_op_has_a_rule_or_a_reason():
    assert [op.name for op in Q_OPS if not RULES.knows(op)] == []


def dense(count, outputs=1):
    rng = np.random.default_rng(0)
    graph = Graph("net")
    x = graph.input("x", i8(1, count))
    w = graph.constant(rng.integers(-127, 128, (outputs, count)).astype(np.int8))
    b = graph.constant(np.zeros(outputs, np.int32))
    op = QDense(x_zero_point=3, rescale=Rescale.of(0.01), zero_point=0)
    graph.output(graph.apply(op, x, w, b))
    return graph


def test_too_large_a_network_is_refused():
    with pytest.raises(DoesNotFitError) as caught:
        unroll(dense(1000, 20))
    assert str(caught.value).splitlines() == [
        "graph 'net': unrolled it would take about 55,813 additions; the limit is 40,000",
        "  hint: use --architecture dataflow, which shares multipliers",
    ]


def test_as_many_additions_as_the_limit_are_taken(monkeypatch):
    """A row of ``3, 7`` has four signed digits, once for each of three rows of the input."""
    graph = Graph("net")
    w, b = graph.constant(np.array([[3, 7]], np.int8)), graph.constant(np.zeros(1, np.int32))
    op = QDense(x_zero_point=0, rescale=Rescale.of(0.1), zero_point=0)
    graph.output(graph.apply(op, graph.input("x", i8(3, 2)), w, b))
    assert sum(map(lower.product_digits, graph.op_nodes)) == 12
    monkeypatch.setattr(lower, "MAX_DIGITS", 12)
    (layer,) = unroll(graph)
    bits = layer.netlist.adder_bits
    monkeypatch.setattr(lower, "devices", lambda: {"d": replace(device("zu7ev"), lut=bits)})
    unroll(graph)
    monkeypatch.setattr(lower, "devices", lambda: {"d": replace(device("zu7ev"), lut=bits - 1)})
    with pytest.raises(DoesNotFitError, match=rf"take about {bits} LUTs; .*zu7ev, has {bits - 1}"):
        unroll(graph)
    monkeypatch.setattr(lower, "MAX_DIGITS", 11)
    with pytest.raises(DoesNotFitError, match=r"about 12 additions; the limit is 11\n"):
        unroll(graph)


def test_lanes_without_weights_are_counted_too(monkeypatch):
    """Ops on many elements were once built for minutes, for a device that nobody has."""
    monkeypatch.setattr(lower, "devices", lambda: {"small": device("ice40-up5k")})
    graph = Graph("net")
    op = QSub(x_zero_point=3, y_zero_point=-2, x_rescale=Rescale.of(0.37),
              y_rescale=Rescale.of(0.71), rescale=Rescale.of(2**-19), zero_point=0)  # fmt: skip
    graph.output(graph.apply(op, *(graph.input(name, i8(1, 100)) for name in "xy")))
    with pytest.raises(DoesNotFitError) as caught:
        unroll(graph)
    problem, hint = str(caught.value).splitlines()
    assert re.fullmatch(
        r"graph 'net': unrolled its additions take about [56],\d{3} LUTs; the largest device that"
        r" rlx knows, ice40-up5k, has 5,280",
        problem,
    )
    assert hint == "  hint: use --architecture dataflow, which shares multipliers"


@pytest.mark.parametrize(
    ("op", "inputs", "reason"),
    [
        (QSoftmax(multiplier=1 << 30, left_shift=20, diff_min=-100), 1,
         "its division takes many cycles; output the logits or argmax"),
        (QMul(x_zero_point=0, y_zero_point=0, rescale=Rescale.of(0.01), zero_point=0), 2,
         "a product of two computed values needs a multiplier"),
    ],
)  # fmt: skip
def test_another_op_is_refused(op, inputs, reason):
    graph = Graph("net")
    operands = [graph.input(f"x{place}", i8(1, 4)) for place in range(inputs)]
    graph.output(graph.apply(op, *operands, name="m"))
    with pytest.raises(UnsupportedOpError) as caught:
        unroll(graph)
    (line,) = str(caught.value).splitlines()
    assert line == f"{op.name} %{inputs} 'm': not supported by the parallel architecture: {reason}"


def test_scaling_that_would_wrap_is_refused():
    """A factor of 4 shifts the accumulator by 3 bits first: 2^29 would become more than 32 bits."""

    def network(bias):
        graph = Graph("net")
        weights = graph.constant(np.full((1, 2), 5, np.int8))
        biases = graph.constant(np.array([bias], np.int32))
        op = QDense(x_zero_point=0, rescale=Rescale.of(4.0), zero_point=0)
        graph.output(graph.apply(op, graph.input("x", i8(1, 2)), weights, biases, name="d"))
        return graph

    x = {"x": np.array([[-128, 127]], np.int8)}
    largest = (1 << 28) - 128 * 10 - 1
    assert np.array_equal(run(network(largest), x)[0], evaluate(network(largest), x)[0])
    with pytest.raises(UnsupportedOpError) as caught:
        unroll(network(1 << 29))
    problem = "q.dense %3 'd': its scaling cannot be expressed as one multiplication"
    assert str(caught.value) == problem


def pooled(op, *shape):
    """Return the codes of ``op`` by its netlist, and the reference's, for 40 frames."""
    graph = Graph("net")
    graph.output(graph.apply(op, graph.input("x", i8(1, *shape))))
    rng = np.random.default_rng(0)
    for index in range(40):
        codes = rng.integers(-128, 128, (1, *shape)).astype(np.int8)
        if index < 2:
            codes[:] = (-128, 127)[index]
        yield run(graph, {"x": codes})[0], evaluate(graph, {"x": codes})[0]


@pytest.mark.parametrize("kernel", [(1, 1), (1, 3), (2, 2), (5, 5), (7, 6)])
def test_averages_round_as_the_division_does(kernel):
    for found, expected in pooled(QAveragePool2d(window=Window(kernel, (1, 1))), 7, 6, 2):
        assert np.array_equal(found, expected)


def test_padding_of_averages_is_not_counted():
    op = QAveragePool2d(window=Window.same((5, 4), (3, 3), (2, 1)), low=-20)
    for found, expected in pooled(op, 5, 4, 1):
        assert np.array_equal(found, expected)


def test_argmax_takes_the_first_on_a_tie():
    for count in (1, 2, 5, 11):
        graph = Graph("net")
        graph.output(graph.apply(QArgmax(), graph.input("x", i8(1, count))))
        for codes in np.random.default_rng(0).integers(-1, 2, (30, 1, count)).astype(np.int8):
            assert np.array_equal(run(graph, {"x": codes})[0], codes.argmax(axis=-1))


def test_pixels_share_their_operands_and_padding_costs_nothing():
    graph = Graph("net")
    x = graph.input("x", i8(1, 4, 4, 1))
    w = graph.constant(np.arange(1, 10, dtype=np.int8).reshape(1, 3, 3, 1))
    b = graph.constant(np.zeros(1, np.int32))
    op = QConv2d(window=Window.same((4, 4), (3, 3)), x_zero_point=5, rescale=Rescale.of(0.02),
                 zero_point=1)  # fmt: skip
    graph.output(graph.apply(op, x, w, b))
    (layer,) = unroll(graph)
    assert layer.netlist.adders < 16 * 20
    codes = np.random.default_rng(0).integers(-128, 128, (1, 4, 4, 1)).astype(np.int8)
    assert np.array_equal(run(graph, {"x": codes})[0], evaluate(graph, {"x": codes})[0])


@given(st.integers(1, 20))
@settings(max_examples=5)
def test_no_more_levels_between_registers_than_said(count):
    (layer,) = unroll(dense(count))
    places = schedule(layer.netlist)
    for step, (stage, level) in zip(layer.netlist.steps, places, strict=True):
        assert level <= LEVELS
        for operand in step.operands:
            before, above = places[operand]
            assert (before, above) <= (stage, level)
