"""Pruned networks lose their constant and unread channels, and not one output bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Constant, Graph, GraphModule, Stage, i8, rebuild
from rlx.ir.evaluate import evaluate, evaluate_all
from rlx.ir.verify import verify
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QAdd, QConv2d, QDense, QReshape, Window
from rlx.passes.base import UntilStable
from rlx.passes.constant_channels import DropConstantChannels
from rlx.passes.dead_code import DeadCode
from rlx.passes.ranges import channel_ranges, may_leave_image
from strategies import random_graphs

DROP = UntilStable(passes=(DropConstantChannels(), DeadCode()))


def pruned(graph, seed):
    """Return ``graph`` with the weights of random input and output channels set to zero."""
    random = np.random.default_rng(seed)

    def visit(new, node, operands):
        del operands
        if not isinstance(node.op, Constant) or node.name != "weights":
            return None
        codes = node.op.value.astype(np.int8)
        codes[random.random(len(codes)) < 0.5] = 0
        codes[..., random.random(codes.shape[-1]) < 0.3] = 0
        return [new.constant(codes.astype(node.op.value.dtype))]

    return rebuild(graph, visit)


@given(case=random_graphs(size=3), seed=st.integers(0, 2**16))
def test_dropping_channels_keeps_every_bit(case, seed):
    before = pruned(case.graph, seed)
    after = DROP.apply(before)
    verify(GraphModule(after, Stage.MIR))
    assert [a.tolist() for a in evaluate(after, case.inputs)] == [
        a.tolist() for a in evaluate(before, case.inputs)
    ]
    assert [v.type for v in after.outputs] == [v.type for v in before.outputs]


@given(case=random_graphs(size=3), seed=st.integers(0, 2**16))
def test_ranges_hold_every_code(case, seed):
    graph = pruned(case.graph, seed)
    values = evaluate_all(graph, case.inputs)
    for value, range_ in channel_ranges(graph).items():
        codes = values[value].reshape(-1, values[value].shape[-1])
        assert (codes >= range_.low).all()
        assert (codes <= range_.high).all()


def conv(graph, x, weights, bias, *, padding=((0, 0), (0, 0)), groups=1, zero_point=0, low=-128):
    weights = np.asarray(weights, np.int8)
    op = QConv2d(
        window=Window(weights.shape[1:3], padding=padding),
        groups=groups,
        x_zero_point=0,
        rescale=Rescale.of(*[0.5] * len(weights)),
        zero_point=zero_point,
        low=low,
    )
    w, b = graph.constant(weights), graph.constant(np.asarray(bias, np.int32))
    return graph.apply(op, x, w, b, name="conv")


def two_layers(*, first_bias, padding=((0, 0), (0, 0)), kernel=(1, 1)):
    """A pointwise layer whose second channel has no weights, then a layer that reads both."""
    g = Graph("g")
    x = g.input("x", i8(1, 4, 4, 1))
    y = conv(g, x, [[[[3]]], [[[0]]]], [0, first_bias])
    g.output(conv(g, y, np.ones((1, *kernel, 2)), [7], padding=padding))
    return g


def channels(graph):
    return [n.types[0].shape[-1] for n in graph.op_nodes]


def test_constant_channel_goes_into_the_bias():
    after = DROP.apply(two_layers(first_bias=10))
    assert channels(after) == [1, 1]
    first, second = after.op_nodes
    assert first.op.rescale.channels == 1
    assert second.operands[2].constant.tolist() == [7 + 5]


def test_constant_channel_stays_where_padding_shows_it():
    graph = two_layers(first_bias=10, padding=((1, 1), (1, 1)), kernel=(3, 3))
    assert channels(DROP.apply(graph)) == [2, 1]


def test_constant_zero_goes_in_spite_of_padding():
    graph = two_layers(first_bias=0, padding=((1, 1), (1, 1)), kernel=(3, 3))
    assert channels(DROP.apply(graph)) == [1, 1]


def test_unread_channel_goes():
    g = Graph("g")
    y = conv(g, g.input("x", i8(1, 2, 2, 1)), [[[[3]]], [[[5]]]], [0, 0])
    g.output(conv(g, y, [[[[2, 0]]]], [0]))
    assert channels(DROP.apply(g)) == [1, 1]


def test_depthwise_and_flattening_follow():
    g = Graph("g")
    y = conv(g, g.input("x", i8(1, 2, 2, 1)), [[[[3]]], [[[0]]], [[[4]]]], [0, 0, 0])
    y = conv(g, y, np.ones((3, 2, 2, 1)), [0, 0, 0], groups=3, padding=((1, 0), (1, 0)))
    y = g.apply(QReshape(shape=(1, 12)), y)
    op = QDense(x_zero_point=0, rescale=Rescale.of(0.1), zero_point=0)
    w = g.constant(np.arange(24).reshape(2, 12).astype(np.int8))
    g.output(g.apply(op, y, w, g.constant(np.zeros(2, np.int32))))
    after = DROP.apply(g)
    assert channels(after) == [2, 2, 8, 2]
    assert next(n.op.groups for n in after.op_nodes if n.op.name == "q.conv2d") == 1
    assert [n.op.groups for n in after.op_nodes if n.op.name == "q.conv2d"] == [1, 2]


def test_both_branches_of_an_add_keep_the_same_channels():
    g = Graph("g")
    x = g.input("x", i8(1, 2, 2, 1))
    a = conv(g, x, [[[[3]]], [[[0]]], [[[0]]]], [0, 4, 4])
    b = conv(g, x, [[[[2]]], [[[0]]], [[[1]]]], [0, 6, 0])
    add = QAdd(
        x_zero_point=0, y_zero_point=0, x_rescale=Rescale.of(0.5), y_rescale=Rescale.of(0.5),
        rescale=Rescale.of(2**-19), zero_point=0,
    )  # fmt: skip
    g.output(conv(g, g.apply(add, a, b), [[[[1, 1, 1]]]], [0]))
    assert channels(DROP.apply(g)) == [2, 2, 2, 1]


def test_outputs_and_inputs_keep_their_channels():
    g = Graph("g")
    g.output(conv(g, g.input("x", i8(1, 2, 2, 2)), [[[[3, 0]]], [[[0, 0]]]], [0, 0]))
    after = DROP.apply(g)
    assert channels(after) == [2]
    assert after.inputs[0].type.shape == (1, 2, 2, 2)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (Window((3, 1), padding=((1, 1), (0, 0))), [[True], [False], [True]]),
        (Window((3, 1), stride=(2, 1), padding=((1, 0), (0, 0))), [[True], [False], [False]]),
        (Window((1, 2), dilation=(1, 3), padding=((0, 0), (0, 3))), [[False, True]]),
        (Window((2, 2)), [[False, False], [False, False]]),
    ],
)
def test_may_leave_image_names_the_taps_that_meet_padding(window, expected):
    assert may_leave_image(window, (5, 5)).tolist() == expected
