"""Exported ``.tflite`` files give TensorFlow Lite Micro the bits of the integer ops."""

import dataclasses
import re

import numpy as np
import pytest
from ml_dtypes import int4

from rlx.driver.exporters.tflite import to_tflite
from rlx.driver.exporters.tflite.rules import RULES
from rlx.frontends.tflite import frontend as tflite
from rlx.frontends.tflite.schema import OPERATOR_NAMES
from rlx.ir import DType, Graph, QuantParams, TensorType
from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import Q_OPS, QAdd, QAveragePool2d, QConcat, QConv2d, QRequantize, Window
from rlx.support.errors import UnsupportedOpError
from support import ROOT
from support.files.tflite_builder import run_tflm, unpack
from support.messages import raises
from support.networks.exported_ops import (
    GRAPHS,
    X,
    Y,
    dense,
    random_inputs,
    requantized,
    single,
    total,
    typed,
)
from support.networks.quantized_networks import quantized_networks
from support.networks.recurrent import Svdf

DIGITS = ROOT / "examples" / "digits" / "digits.tflite"


def operators(data):
    """Return the names of a file's operators."""
    model = unpack(data)
    codes = [code.builtinCode for code in model.operatorCodes]
    return [OPERATOR_NAMES[codes[o.opcodeIndex]] for o in model.subgraphs[0].operators]


def check(graph, seed=0):
    inputs = random_inputs(graph, seed)
    data = to_tflite(graph)
    found = run_tflm(data, *inputs.values())
    read = tflite.load(data).graph
    again = evaluate(read, {v.name: x for v, x in zip(read.inputs, inputs.values(), strict=True)})
    for y, other, expected in zip(found, again, evaluate(graph, inputs), strict=True):
        assert np.array_equal(y.reshape(expected.shape), expected)
        assert np.array_equal(other, expected)
    return data


def test_every_op_has_a_rule():
    assert all(RULES.knows(op) for op in Q_OPS)


QUOTIENTS = {"div", "div-clamped"}


def test_every_op_is_tried():
    graphs = [make() for name, make in GRAPHS.items() if name not in QUOTIENTS]
    tried = {type(node.op) for graph in graphs for node in graph.op_nodes}
    assert tried == {op for op in Q_OPS if op in RULES}


@pytest.mark.parametrize("name", sorted(QUOTIENTS))
def test_quotients_are_refused(name):
    with raises(UnsupportedOpError):
        to_tflite(GRAPHS[name]())


@pytest.mark.parametrize("name", [name for name in GRAPHS if name not in QUOTIENTS])
def test_the_interpreter_gives_the_bits_of_the_op(name):
    check(GRAPHS[name]())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("clamp", ["MAXIMUM", "MINIMUM"]),
        ("clamp-relu", ["RELU"]),
        ("conv-same", ["CONV_2D"]),
        ("conv-padded", ["PADV2", "CONV_2D"]),
        ("depthwise", ["PADV2", "DEPTHWISE_CONV_2D", "MAXIMUM", "MINIMUM"]),
        ("max-pool-padded", ["PADV2", "MAX_POOL_2D", "MAXIMUM"]),
        ("table", ["CAST", "ADD", "GATHER"]),
        ("table-absolute", ["CAST", "ADD", "GATHER"]),
        ("table-leaky", ["LEAKY_RELU"]),
        ("table-logistic", ["LOGISTIC"]),
    ],
)
def test_operators(name, expected):
    assert operators(to_tflite(GRAPHS[name]())) == expected


def test_a_narrow_layer_is_stored_as_int8():
    check(dense((3, 20), (7, 20), dtype=int4))


# A single op's message, or a line for each op below a line that counts them.
AVERAGES = re.compile(
    r"(TFLite cannot express \d+ ops)?(\n?( +q\.conv2d [^\n]*: )?averages windows to [^\n]*)+"
)


@pytest.mark.slow
def test_quantized_networks():
    refused = []
    for number, case in enumerate(quantized_networks(1, 100)):
        try:
            check(case.graph, seed=number)
        except UnsupportedOpError as error:
            refused.append(error.message)
    # About one random network in a thousand has such pools; which networks are drawn depends on
    # the modules that are loaded, whose constants Hypothesis draws from.
    assert len(refused) < 4
    assert [message for message in refused if not AVERAGES.fullmatch(message)] == []


def test_an_average_of_another_scale_is_refused():
    graph = Graph("net")
    quant = QuantParams.per_tensor(0.5)
    x = graph.input("x", TensorType((1, 5, 5, 3), DType.I8, quant))
    ones = graph.constant(np.ones((3, 2, 3, 1), np.int8), quant=QuantParams.per_tensor(1.0))
    op = QConv2d(
        window=Window((2, 3)), groups=3, x_zero_point=0, zero_point=0, rescale=Rescale.of(1 / 3)
    )
    bias = graph.constant(np.zeros(3, np.int32))
    graph.output(graph.apply(op, x, ones, bias, quant=QuantParams.per_tensor(0.25)))
    with raises(UnsupportedOpError):
        to_tflite(graph)


def test_a_network_read_from_tflite_is_written_as_it_was():
    graph = tflite.load(DIGITS).graph
    data = to_tflite(graph)
    assert tflite.load(data).graph == graph
    assert to_tflite(graph) == data


def test_names_are_kept():
    read = tflite.load(to_tflite(tflite.load(DIGITS).graph)).graph
    assert [v.name for v in read.inputs] == ["image"]
    assert read.output_names == ("probabilities",)


def averaged(**window):
    return single(QAveragePool2d(window=Window((2, 2), **window)), (1, 4, 4, 2))


@pytest.mark.parametrize(
    "graph",
    [
        lambda: requantized(Rescale.of(1.0, rounding=Rounding.SINGLE)),
        lambda: requantized(Rescale.of(0.7)),
        lambda: single(QConcat(axis=1), (1, 4), result=Y),
        lambda: requantized(Rescale.of(1.0), 3),
        lambda: averaged(padding=((1, 1), (0, 0))),
        lambda: averaged(dilation=(2, 1)),
    ],
)
def test_what_tflite_cannot_give_exactly_is_refused(graph):
    with raises(UnsupportedOpError):
        to_tflite(graph())


def test_all_ops_that_are_refused_are_listed():
    graph = Graph("two")
    x = graph.input("x", typed((1, 4)))
    for name in ("first", "second"):
        op = QRequantize(x_zero_point=-7, rescale=Rescale.of(0.7), zero_point=-7)
        x = graph.apply(op, x, name=name, quant=X)
    graph.output(x)
    with raises(UnsupportedOpError):
        to_tflite(graph)


def test_a_layer_with_a_state_is_refused():
    with raises(UnsupportedOpError):
        to_tflite(tflite.load(Svdf().build(1)).graph)


def test_a_shift_of_operands_that_is_not_the_interpreters_is_refused():
    graph = total(QAdd)
    (node,) = graph.op_nodes
    other = single(
        dataclasses.replace(node.op, left_shift=15), (1, 4), (1, 4), result=node.types[0].quant
    )
    with raises(UnsupportedOpError):
        to_tflite(other)
