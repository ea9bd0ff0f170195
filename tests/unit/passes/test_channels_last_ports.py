"""Transposes at inputs and outputs are taken off, those inside stay."""

from __future__ import annotations

import numpy as np

import rlx
from rlx.ir.evaluate import evaluate
from rlx.passes.channels_last_ports import ChannelsLastPorts

LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def image_network(x):
    return x.transpose(*LAST).relu().transpose(*FIRST)


def test_the_callers_axes_are_others_and_the_numbers_the_same():
    graph = rlx.trace("net", image_network, rlx.f32(1, 3, 4, 5)).graph
    found = ChannelsLastPorts().apply(graph)
    assert [node.op.name for node in found.op_nodes] == ["nn.relu"]
    assert [v.type.shape for v in found.inputs] == [(1, 4, 5, 3)]
    assert [v.name for v in found.inputs] == [v.name for v in graph.inputs]
    x = np.random.default_rng(0).standard_normal((1, 3, 4, 5)).astype(np.float32)
    (name,) = (v.name for v in graph.inputs)
    (first,) = evaluate(graph, {name: x})
    (last,) = evaluate(found, {name: np.ascontiguousarray(x.transpose(LAST))})
    assert np.array_equal(first.transpose(LAST), last)


def test_what_others_read_stays():
    def both(x):
        return x.transpose(*LAST).relu(), x + 1.0

    graph = rlx.trace("net", both, rlx.f32(1, 3, 4, 5)).graph
    assert ChannelsLastPorts().apply(graph) is graph


def test_transposes_of_two_orders_stay():
    def two(x):
        return x.transpose(*LAST).relu(), x.transpose(*FIRST).relu()

    graph = rlx.trace("net", two, rlx.f32(1, 3, 4, 5)).graph
    assert ChannelsLastPorts().apply(graph) is graph


def test_a_transposed_output_that_is_read_again_stays():
    def read_again(x):
        y = x.relu().transpose(*LAST)
        return y, y.relu()

    graph = rlx.trace("net", read_again, rlx.f32(1, 3, 4, 5)).graph
    assert ChannelsLastPorts().apply(graph) is graph
