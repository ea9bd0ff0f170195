"""Places of values: words of their own while they are needed, and again after that."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rlx.ir import DType, Graph, GraphModule, TensorType
from rlx.ops.q import QClamp, QConcat, QReshape, QTranspose
from rlx_wgpu import BACKEND
from rlx_wgpu.layout import Arrays, Layout, padded_bytes


def layout_of(graph):
    return Layout(BACKEND.plan(GraphModule.hir(graph), None))


def test_a_chain_takes_two_places():
    graph = Graph("chain")
    values = [graph.input("x", TensorType((5,), DType.I8))]
    for _ in range(5):
        values.append(graph.apply(QClamp(low=-9), values[-1]))
    graph.output(values[-1])
    layout = layout_of(graph)
    assert [layout.of(v).offset for v in values] == [0, 2, 0, 2, 0, 2]
    assert layout.memory_words == 4


def test_values_that_live_together_share_no_word():
    graph = Graph("fan")
    x = graph.input("x", TensorType((2, 3), DType.I8))
    parts = [graph.apply(QClamp(low=-i), x) for i in range(1, 4)]
    joined = graph.apply(QConcat(axis=0), *parts)
    graph.output(joined, x)
    layout = layout_of(graph)
    spans = sorted((p.offset, p.offset + p.words) for p in map(layout.of, [x, *parts, joined]))
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


def test_a_reshaped_value_is_in_the_words_of_its_operand():
    graph = Graph("flat")
    x = graph.input("x", TensorType((2, 6), DType.I8))
    flat = graph.apply(QReshape(shape=(12,)), x)
    turned = graph.apply(QTranspose(axes=(0,)), flat)
    graph.output(turned)
    layout = layout_of(graph)
    assert layout.of(flat) == layout.of(x)
    assert layout.of(turned).offset == 3


def test_states_and_outputs_keep_their_words():
    graph = Graph("state")
    state = graph.state("kept", TensorType((4,), DType.I8))
    x = graph.input("x", TensorType((4,), DType.I8))
    following = graph.apply(QClamp(low=0), x)
    y = graph.apply(QClamp(low=1), graph.apply(QClamp(low=0), state))
    graph.output(y, following, names=["y", "kept"])
    layout = layout_of(graph)
    assert len({layout.of(v).offset for v in (state, following, y)}) == 3


def test_parameters_are_in_one_buffer_and_constants_in_another():
    graph = Graph("scaled")
    a = graph.param("a", TensorType((5,), DType.I8))
    b = graph.param("b", TensorType((3,), DType.I8))
    c = graph.constant(np.arange(5, dtype=np.int8))
    graph.output(graph.apply(QConcat(axis=0), a, b, c))
    layout = layout_of(graph)
    assert [(p.buffer, p.offset) for p in map(layout.of, (a, b))] == [("params", 0), ("params", 2)]
    assert layout.params_words == 3
    assert layout.of(c).buffer == "constants"


def test_equal_constants_are_stored_once():
    arrays = Arrays("constants")
    first = arrays.add(np.arange(5, dtype=np.int8))
    other = arrays.add(np.array([1, -1], np.int32))
    assert arrays.add(np.arange(5, dtype=np.int8)) == first
    assert (first.offset, other.offset, arrays.words) == (0, 2, 4)
    assert arrays.content() == bytes([0, 1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255])


def test_bytes_are_filled_up_to_words():
    assert padded_bytes(np.array([[1, 2], [3, 4]], np.int8).T) == bytes([1, 3, 2, 4])
    assert padded_bytes(np.array([1], np.int16)) == bytes([1, 0, 0, 0])
    assert padded_bytes(np.zeros((0, 3), np.int8)) == b""
