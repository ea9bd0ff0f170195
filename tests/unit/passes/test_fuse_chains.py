"""Chains of elementwise int8 ops become one op with the same results."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from rlx.driver.exporters.tflite import to_tflite
from rlx.ir import DType, Graph, GraphModule, QuantParams, Stage, TensorType, i8
from rlx.ir.evaluate import evaluate
from rlx.ir.origin import Origin
from rlx.ir.verify import verify
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    QAdd,
    QChain,
    QClamp,
    QMaximum,
    QMul,
    QPrelu,
    QRequantize,
    QReshape,
    QTable,
)
from rlx.passes import pipeline
from rlx.passes.chains import MAX_CHANNELS, channel_functions
from rlx.passes.fit import REWRITES
from rlx.passes.fuse_chains import FuseChains
from support.files.tflite_builder import run_tflm
from support.networks.prelu_chains import (
    FORMS,
    ROUNDINGS,
    Writer,
    every_value,
    product,
    random_chain,
)

HALF = Rescale.of(0.5)
SCALED = QRequantize(x_zero_point=1, rescale=HALF, zero_point=2)


def fused_ops(graph):
    """Return the ops of the fused graph, after all values of each channel were compared."""
    fused = FuseChains().apply(graph)
    inputs = every_value(graph)
    before, after = ([a.tolist() for a in evaluate(g, inputs)] for g in (graph, fused))
    assert before == after
    return [node.op for node in fused.op_nodes]


def uniform(*ops):
    """Return a graph with ops of one operand, one after the other."""
    graph = Graph("net")
    value = graph.input("x", i8(1, 256, 1, 3))
    for op in ops:
        value = graph.apply(op, value)
    graph.output(value)
    return graph


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_random_chains_keep_every_value_of_every_channel(form, seed):
    ops = fused_ops(random_chain(form, seed))
    # Without negative values, max(x, alpha * x) is x where no slope is above 1.
    assert len(ops) <= 1
    assert all(isinstance(op, (QChain, QClamp, QPrelu, QTable)) for op in ops)


@pytest.mark.parametrize("seed", range(0, 12, len(ROUNDINGS)))
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_tflite_micro_gives_the_values_of_the_fused_op(form, seed):
    graph = random_chain(form, seed)
    inputs = every_value(graph)
    (expected,) = run_tflm(to_tflite(graph), inputs["x"])
    (fused,) = evaluate(FuseChains().apply(graph), inputs)
    assert np.array_equal(expected.reshape(fused.shape), fused)


# The other seeds below 12 give a PReLU.
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5, 7, 9, 11])
def test_a_chain_as_its_ops_is_the_chain_again(seed):
    graph = random_chain(FORMS[seed % 3], seed)
    fused = FuseChains().apply(graph)
    node = fused.outputs[0].node
    assert isinstance(node.op, QChain)
    steps = Graph("steps")
    x = steps.input("x", node.operands[0].type)
    constants = [
        steps.constant(o.constant, name=o.name, quant=o.type.quant) for o in node.operands[1:]
    ]
    steps.output(REWRITES[QChain](steps, node, (x, *constants)))
    inputs = every_value(graph)
    assert np.array_equal(evaluate(steps, inputs)[0], evaluate(graph, inputs)[0])
    assert FuseChains().apply(steps).outputs[0].node.op == node.op


def test_slopes_of_up_to_one_in_one_scale_are_a_prelu():
    random = np.random.default_rng(5)
    for zero_point in (-127, -3, 0, 100, 127):
        graph, quant = Graph("net"), QuantParams.per_tensor(0.1, zero_point)
        x = graph.input("x", TensorType((1, 256, 1, 6), DType.I8, quant))
        alphas = np.append(random.uniform(-1, 1, 5), 1.0)
        graph.output(product(Writer(graph), x, alphas, quant, quant))
        (op,) = fused_ops(graph)
        assert isinstance(op, QPrelu)


def test_ops_that_do_not_differ_by_channel_are_a_table():
    (op,) = fused_ops(
        uniform(QClamp(low=-5), QRequantize(x_zero_point=1, rescale=HALF, zero_point=2))
    )
    assert isinstance(op, QTable)
    assert op.function == "clamp-requantize"


def test_clamps_are_one_clamp_and_ops_that_undo_each_other_nothing():
    assert fused_ops(uniform(QClamp(low=-5), QClamp(low=-9, high=90))) == [QClamp(low=-5, high=90)]
    negate = QTable(table=tuple(range(127, -129, -1)))
    assert fused_ops(uniform(negate, negate)) == []


@pytest.mark.parametrize(
    "op",
    [QClamp(low=0), SCALED],
    ids=lambda op: op.name,
)
def test_single_ops_of_one_operand_stay(op):
    graph = uniform(op)
    assert FuseChains().apply(graph) is graph


def test_an_op_with_one_constant_for_all_channels_is_a_table():
    graph = Graph("net")
    x = graph.input("x", i8(1, 256, 1, 3))
    constant = graph.constant(np.array(7, np.int8))
    op = QMul(x_zero_point=0, y_zero_point=0, rescale=HALF, zero_point=0)
    graph.output(graph.apply(op, constant, graph.apply(QMaximum(), constant, x)))
    assert [type(op) for op in fused_ops(graph)] == [QTable]


def test_a_product_by_channel_alone_stays():
    graph = Graph("net")
    x, y = graph.input("x", i8(1, 256, 1, 3)), graph.constant(np.array([1, 2, 3], np.int8))
    op = QMul(x_zero_point=0, y_zero_point=0, rescale=HALF, zero_point=0)
    graph.output(graph.apply(op, x, y))
    assert FuseChains().apply(graph) is graph


def test_two_computed_values_and_other_shapes_end_a_chain():
    graph = Graph("net")
    x, y = graph.input("x", i8(1, 4)), graph.input("y", i8(1, 4))
    total = graph.apply(QMaximum(), graph.apply(QClamp(low=0), x), y)
    flat = graph.apply(QReshape(shape=(4,)), total)
    graph.output(graph.apply(QClamp(low=3), flat))
    assert FuseChains().apply(graph) is graph


def test_constants_along_another_axis_end_a_chain():
    graph = Graph("net")
    x = graph.input("x", i8(1, 4, 3))
    rows = graph.constant(np.arange(4, dtype=np.int8).reshape(4, 1))
    graph.output(graph.apply(QClamp(low=1), graph.apply(QMaximum(), x, rows)))
    assert FuseChains().apply(graph) is graph


def test_a_value_that_others_read_stays_the_beginning_of_a_chain():
    graph = Graph("net")
    x = graph.input("x", i8(1, 256, 1, 2))
    shared = graph.apply(SCALED, x, name="shared")
    one = graph.apply(QClamp(high=9), graph.apply(QClamp(low=3), shared))
    graph.output(one, graph.apply(QReshape(shape=(512,)), shared))
    assert [type(op) for op in fused_ops(graph)] == [QRequantize, QClamp, QReshape]


def test_a_value_read_twice_is_computed_in_the_chain():
    graph = Graph("net")
    x = graph.input("x", i8(1, 256, 1, 2))
    shared = graph.apply(QClamp(low=-100), x)
    add = QAdd(
        x_zero_point=1,
        y_zero_point=2,
        x_rescale=HALF,
        y_rescale=HALF,
        rescale=Rescale.of(2**-19),
        zero_point=0,
    )
    graph.output(graph.apply(add, shared, shared))
    (op,) = fused_ops(graph)
    assert isinstance(op, QTable)


def test_a_chain_may_have_many_values_that_are_read_twice():
    graph = Graph("net")
    value = graph.input("x", i8(1, 256, 1, 3))
    slopes = graph.constant(np.array([-128, 3, 100], np.int8))
    mul = QMul(x_zero_point=0, y_zero_point=0, rescale=Rescale.of(2**-7), zero_point=-1)
    for _ in range(60):
        value = graph.apply(QMaximum(), value, graph.apply(mul, value, slopes))
    graph.output(value)
    (op,) = fused_ops(graph)
    assert len(tuple(op.body.op_nodes)) == 120


def test_a_chain_may_be_longer_than_pythons_stack():
    count, values = 2 * sys.getrecursionlimit(), np.arange(-128, 128, dtype=np.int8)
    turn = QTable(table=tuple(np.roll(values, 1).tolist()))
    graph = FuseChains().apply(uniform(*[turn] * count))
    (node,) = graph.op_nodes
    assert node.op.table == tuple(np.roll(values, count).tolist())


def test_ops_with_more_constants_than_are_tabulated_stay():
    graph = Graph("net")
    x, y = (i8(1, MAX_CHANNELS + 1), np.arange(MAX_CHANNELS + 1).astype(np.int8))
    value = graph.apply(QMaximum(), graph.input("x", x), graph.constant(y))
    graph.output(graph.apply(QMaximum(), value, graph.constant(y[::-1].copy())))
    assert FuseChains().apply(graph) is graph


def test_a_fused_node_has_the_origins_of_all():
    graph = Graph("net")
    value = graph.input("x", i8(1, 4))
    for place in ("operator 1", "operator 2", "operator 3"):
        value = graph.apply(QClamp(low=0), value, name=place, origin=Origin("net.tflite", place))
    graph.output(value)
    node = FuseChains().apply(graph).outputs[0].node
    assert (node.name, node.origin.passes) == ("operator 3", ("fuse-chains",))
    places = ("net.tflite operator 3", "net.tflite operator 1", "net.tflite operator 2")
    assert node.origin.places == places


def test_functions_of_one_value_are_found_through_several_nodes():
    graph = random_chain(FORMS[0], 3)
    (x,), (y,) = graph.inputs, graph.outputs
    functions = channel_functions(graph)
    assert functions[y].source == x
    assert functions[y].tables.shape == (256, 5)


def test_the_pass_is_part_of_the_pipeline_of_targets():
    assert "fuse-chains" in pipeline("default").names


def test_constants_may_have_names_alike():
    graph = Graph("net")
    x = graph.input("x", i8(1, 256, 1, 3))
    for slopes in ((3, -5, 7), (2, 9, -4)):
        constant = graph.constant(np.array(slopes, np.int8), name="x")
        x = graph.apply(
            QMul(x_zero_point=0, y_zero_point=0, rescale=HALF, zero_point=0), x, constant
        )
    graph.output(x)
    assert [type(op) for op in fused_ops(graph)] == [QChain]
    verify(GraphModule(FuseChains().apply(graph), Stage.MIR))
