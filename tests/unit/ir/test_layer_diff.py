"""Differences between two graphs, layer by layer."""

import numpy as np

from rlx.ir import Graph, QuantParams, f32, i8
from rlx.ir.diff import inspect_graph_diff
from rlx.ops import real
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QClamp, QDense, QReshape


def dense(weights, bias=(0, 0), *, factors=(0.5, 0.25), zero_point=0, scale=0.5, clamp=None):
    """Return a dense layer, with an activation of the name of ``clamp`` behind it."""
    graph = Graph("net")
    x = graph.input("x", i8(1, 3).with_quant(QuantParams.per_tensor(0.5, 0)))
    w = graph.constant(np.int8(weights), quant=QuantParams((0.1, 0.2), (0, 0), axis=0))
    b = graph.constant(np.int32(bias))
    op = QDense(x_zero_point=0, rescale=Rescale.of(*factors), zero_point=zero_point)
    y = graph.apply(op, x, w, b, name="dense", quant=QuantParams.per_tensor(scale, zero_point))
    if clamp:
        y = graph.apply(QClamp(low=0), y, name=clamp)
    y = graph.apply(QReshape(shape=(2, 1)), y, name="column")
    graph.output(y)
    return graph


WEIGHTS = [[1, 2, 3], [4, 5, 6]]
OTHER = [[1, 2, 3], [4, 50, 60]]


def changes(old, new):
    """Return kind, name and differences of each layer that differs, and the number of others."""
    found = inspect_graph_diff(old, new)
    return [(one.kind, one.name, one.changes) for one in found.layers], found.unchanged_layers


def test_equal_networks_have_no_layers_that_differ():
    assert changes(dense(WEIGHTS), dense(WEIGHTS)) == ([], 3)


def test_values_of_weights_and_bias_and_channels_of_the_rescale_are_counted():
    new = dense(OTHER, (0, 9), factors=(0.5, 0.125))
    texts = (
        "weights: 2 of 6 values, first at [1, 1]",
        "bias: 1 of 2 values, first at [1]",
        "rescale: 1 of 2 channels",
    )
    assert changes(dense(WEIGHTS), new) == ([("changed", "dense", texts)], 2)


def test_scale_and_zero_point_are_of_the_layer_and_not_of_what_moves_its_values():
    new = dense(WEIGHTS, scale=0.25, zero_point=3)
    texts = "zero point 0 -> 3", "scale 0.5 -> 0.25"
    assert changes(dense(WEIGHTS), new) == ([("changed", "dense", texts)], 2)


def test_an_added_layer_and_its_reader():
    assert changes(dense(WEIGHTS), dense(WEIGHTS, clamp="relu")) == (
        [("added", "relu", ()), ("changed", "column", ("reads relu in place of dense",))],
        2,
    )
    assert changes(dense(WEIGHTS, clamp="relu"), dense(WEIGHTS)) == (
        [("changed", "column", ("reads dense in place of relu",)), ("removed", "relu", ())],
        2,
    )


def test_nan_is_equal_to_itself_and_a_shape_is_listed_once():
    def graph(value, axes):
        net = Graph("net")
        constant = net.constant(np.float32([np.nan, value]))
        y = net.apply(real.RealAdd(), net.input("x", f32(2)), constant, name="add")
        net.output(net.apply(real.RealReshape(shape=axes), y, name="view"))
        return net

    assert changes(graph(1, (2, 1)), graph(1, (2, 1))) == ([], 3)
    assert changes(graph(1, (2, 1)), graph(2, (1, 2)))[0] == [
        ("changed", "add", ("constant: 1 of 2 values, first at [1]",)),
        ("changed", "view", ("shape 2x1 -> 1x2",)),
    ]


def test_another_op_of_the_same_name_is_a_change():
    def graph(op):
        net = Graph("net")
        net.output(net.apply(op, net.input("x", f32(2)), name="activation"))
        return net

    assert changes(graph(real.RealExp()), graph(real.RealNeg()))[0] == [
        ("changed", "activation", ("op real.exp -> real.neg",))
    ]
