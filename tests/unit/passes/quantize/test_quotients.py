"""Quotients of two computed values: layer norms and softmaxes that exporters write in parts."""

import numpy as np
import pytest

from rlx import f32, quantize, trace
from rlx.ir.evaluate import evaluate

ROWS, COLUMNS = 4, 12


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


GAMMA, BETA = normal(0, COLUMNS), normal(1, COLUMNS)


def parts_of_norm(x):
    """As torch.onnx wrote it before opset 17."""
    centred = x - x.mean(-1, keep_dims=True)
    variance = (centred * centred).mean(-1, keep_dims=True)
    return centred / (variance + 1e-5).sqrt() * GAMMA + BETA


def norm(x):
    return x.layer_norm(GAMMA, BETA)


def parts_of_softmax(x):
    e = x.exp()
    return e / e.sum(-1, keep_dims=True)


def parts_of_stable_softmax(x):
    e = (x - x.max(-1, keep_dims=True)).exp()
    return e / e.sum(-1, keep_dims=True)


def along_rows(x):
    e = x.exp()
    return e / e.sum(1, keep_dims=True)


def quantized(function, samples):
    graph = trace("net", function, f32(1, ROWS, COLUMNS)).graph
    return graph, quantize(graph, samples)


@pytest.mark.parametrize(
    ("function", "axis"),
    [(parts_of_softmax, -1), (parts_of_stable_softmax, -1), (along_rows, 1)],
)
def test_a_softmax_in_parts_is_the_softmax(function, axis):
    samples = 3 * normal(2, 16, ROWS, COLUMNS)
    _, found = quantized(function, samples)
    _, whole = quantized(lambda x: x.softmax(axis), samples)
    names = [n.op.name for n in found.module.graph.op_nodes if n.op.name.startswith("q.")]
    assert names.count("q.softmax") == 1
    assert set(names) <= {"q.softmax", "q.transpose"}
    for one in samples:
        a, b = (evaluate(f.module.graph, {"x": one[None]})[0] for f in (found, whole))
        assert np.array_equal(a, b)


def test_a_layer_norm_in_parts_is_as_close_as_the_layer():
    samples = normal(3, 64, ROWS, COLUMNS)
    ratios = [
        quantized(function, samples)[1].report.comparison.output.sqnr_db
        for function in (parts_of_norm, norm)
    ]
    assert min(ratios) > 28
    assert ratios[0] > ratios[1] - 1


def test_a_quotient_of_two_values_is_a_product_with_a_table():
    def network(x):
        return x / (x.mean(-1, keep_dims=True).sigmoid() + 1.0)

    samples = normal(4, 32, ROWS, COLUMNS)
    graph, found = quantized(network, samples)
    names = [n.op.name for n in found.module.graph.op_nodes if n.op.name.startswith("q.")]
    assert names == ["q.mean", "q.table", "q.mul"]
    for one in samples[:4]:
        wanted, made = (evaluate(g, {"x": one[None]})[0] for g in (graph, found.module.graph))
        assert np.abs(wanted - made).max() < 0.05
