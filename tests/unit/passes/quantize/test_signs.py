"""Layers of which only the sign is read: exact in integers, whatever the size of their sums."""

import numpy as np
import pytest

from rlx.ir.evaluate import evaluate
from rlx.passes.quantize import convert
from support.files.onnx_builder import helper, load, model

DOMAIN = "qonnx.custom_op.general"
RANDOM = np.random.default_rng(3)


def bipolar(x, y):
    return helper.make_node("BipolarQuant", [x, "s"], [y], domain=DOMAIN)


def network(weights, *nodes, shape):
    """Return a layer ``c`` of signs of ``x`` with weights ``v`` dequantized, and nodes behind."""
    constants = {"w": weights, "s": np.float32(0.25), "z": np.float32(0), "b": np.float32(8),
                 "t": RANDOM.uniform(0.001, 0.1, (len(weights), *(1,) * (weights.ndim - 1)))
                 .astype(np.float32)}  # fmt: skip
    quantized = helper.make_node("Quant", ["w", "t", "z", "b"], ["v"], domain=DOMAIN, narrow=1)
    inside = [bipolar("x", "a"), quantized, *nodes]
    return load(model(inside, {"x": shape}, {"y": None}, constants, domains=[DOMAIN]))


def integers(graph):
    """Return the stored weights of the layer, [outputs, taps..., channels]."""
    return next(n.result.constant for n in graph.nodes if n.result.type.quant and n.result.constant
                is not None).astype(np.int64)  # fmt: skip


def conv():
    made = helper.make_node("Conv", ["a", "v"], ["c"], pads=[1] * 4)
    weights = (RANDOM.standard_normal((5, 3, 3, 3)) * 0.5).astype(np.float32)
    graph = network(weights, made, bipolar("c", "y"), shape=[1, 3, 6, 6])

    def sums(signs):
        padded = np.pad(signs, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        return np.einsum("nchwij,oijc->nohw", windows, integers(graph))

    return graph, sums


def dense():
    made = helper.make_node("Gemm", ["a", "v"], ["c"], transB=1)
    weights = (RANDOM.standard_normal((9, 40)) * 0.3).astype(np.float32)
    graph = network(weights, made, bipolar("c", "y"), shape=[64, 40])
    return graph, lambda signs: signs @ integers(graph).T


@pytest.mark.parametrize("build", [conv, dense])
def test_signs_are_exact(build):
    graph, sums = build()
    made = convert(graph, {}).graph
    shape = graph.inputs[0].type.static_shape
    for size in (1e-12, 1e-3, 1.0, 1e6):
        x = (RANDOM.standard_normal(shape) * size).astype(np.float32)
        total = sums(np.where(x >= 0, 1, -1))
        assert (np.abs(total) <= 2).any()
        assert np.array_equal(evaluate(made, {"x": x})[0], np.where(total >= 0, 0.25, -0.25))


def test_a_sum_of_0_is_positive():
    graph = network(np.float32([[1, -1]]), helper.make_node("Gemm", ["a", "v"], ["c"], transB=1),
                    bipolar("c", "y"), shape=[1, 2])  # fmt: skip
    made = convert(graph, {}).graph
    for x, sign in (([5, 3], 1), ([-5, 3], -1), ([0, -0.1], 1)):
        (y,) = evaluate(made, {"x": np.float32([x])})
        assert y.tolist() == [[0.25 * sign]]


def test_a_layer_that_is_read_otherwise_too_keeps_its_range():
    made = helper.make_node("Gemm", ["a", "v"], ["c"], transB=1)
    graph = network(np.float32([[1, -1], [1, 2]]), made, bipolar("c", "e"),
                    helper.make_node("Add", ["c", "e"], ["y"]), shape=[1, 2])  # fmt: skip
    ready = convert(graph, {v: _range(v) for v in (graph.outputs[0], _named(graph, "c"))})
    assert max(abs(n.result.type.quant.scale[0]) for n in ready.graph.op_nodes
               if n.op.name == "q.dense") == 0.5  # fmt: skip


def _named(graph, name):
    return next(n.result for n in graph.op_nodes if n.name == name)


def _range(value):
    from rlx.ir import QuantParams

    del value
    return QuantParams.per_tensor(0.5)
