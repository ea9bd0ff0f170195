"""Products with constant matrices as dense layers: the same numbers, and weights that count."""

import numpy as np
import pytest

import rlx
from rlx.ir.evaluate import evaluate
from rlx.passes.quantize.linear_form import LinearForm

RANDOM = np.random.default_rng(5)
FIRST, SECOND, THIRD = (
    RANDOM.standard_normal(shape).astype(np.float32) for shape in ((16, 12), (8, 12), (12, 4))
)
TYPES = rlx.f32(1, 16), rlx.f32(1, 8)
DATA = {
    "audio": RANDOM.standard_normal((64, 16)).astype(np.float32),
    "motion": RANDOM.standard_normal((64, 8)).astype(np.float32),
}


def ops(graph):
    return [node.op.name for node in graph.op_nodes]


def products():
    def function(audio, motion):
        return (audio @ FIRST + motion @ SECOND).relu() @ THIRD

    return rlx.trace("fusion", function, *TYPES)


def layers():
    def function(audio, motion):
        return (audio.linear(FIRST.T) + motion.linear(SECOND.T)).relu().linear(THIRD.T)

    return rlx.trace("fusion", function, *TYPES)


def test_a_product_with_a_constant_matrix_is_a_dense_layer():
    first, second, third = (np.round(4 * w) for w in (FIRST, SECOND, THIRD))
    graph = rlx.trace("net", lambda a, b: (a @ first + b @ second).relu() @ third, *TYPES).graph
    formed = LinearForm().apply(graph)
    assert ops(formed) == ["nn.linear", "nn.linear", "real.add", "nn.relu", "nn.linear"]
    # Sums of small integers are exact in any order.
    sample = dict(zip("ab", (np.round(4 * values[:1]) for values in DATA.values()), strict=True))
    np.testing.assert_array_equal(*(evaluate(one, sample)[0] for one in (graph, formed)))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x @ x.mT,
        lambda x: FIRST.T @ x.mT,
        lambda x: x @ RANDOM.standard_normal((3, 16, 4)).astype(np.float32),
    ],
    ids=["both computed", "the left one constant", "a stack of matrices"],
)
def test_other_products_stay(function):
    graph = rlx.trace("net", function, rlx.f32(2, 16)).graph
    assert LinearForm().apply(graph) == graph


@pytest.mark.parametrize("options", [{}, {"weights": "4"}, {"weights": "auto", "bits": 5}])
def test_products_are_quantized_as_dense_layers_are(options):
    found, expected = (
        rlx.quantize(net(), DATA, min_sqnr=0, min_agreement=0, **options)
        for net in (products, layers)
    )
    assert [layer.bits for layer in found.report.layers] == [
        layer.bits for layer in expected.report.layers
    ]
    assert found.report.weight_bytes == expected.report.weight_bytes > 0
    assert found.report.mean_bits == expected.report.mean_bits > 0
    assert all(layer.closeness is not None for layer in found.report.layers)
    results = [rlx.run(one, DATA).values for one in (found, expected)]
    np.testing.assert_array_equal(*results)


def test_products_of_a_recurrent_layer_have_weights():
    w, r = (RANDOM.standard_normal(shape).astype(np.float32) * 0.3 for shape in ((6, 5), (6, 6)))
    graph = rlx.trace("rnn", lambda x: x.rnn(w, r)[1], rlx.f32(3, 1, 5))
    samples = RANDOM.standard_normal((32, 3, 1, 5)).astype(np.float32)
    report = rlx.quantize(graph, samples, weights="4", min_sqnr=0).report
    assert report.mean_bits == 4
    assert report.weight_bytes > 0
    assert {layer.bits for layer in report.layers if layer.op == "nn.linear"} == {4}
