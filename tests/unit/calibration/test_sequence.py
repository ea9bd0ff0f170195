"""Weights that make up for what the layers before them lost."""

import numpy as np
import pytest

import rlx
from rlx.calibration import measured as module
from rlx.calibration import sequence
from rlx.calibration.observation import observe
from rlx.calibration.sequence import rounded_in_sequence
from rlx.ir import QuantParams
from rlx.passes.quantize.convert import prepare
from rlx.passes.quantize.weighted import weighted_layers
from rlx.samples.batches import read_samples, take
from support.networks.quantized_net import float_network, samples

GRAPH = float_network()
CALIB, TEST = samples(96, 1), samples(64, 2)


ANY = {"min_sqnr": -np.inf, "min_agreement": 0.0}
"""Limits that every network keeps."""


def in_sequence(graph, data, bits, params=None):
    """Return the quantized weights of every layer of a float graph, with ``bits`` each."""
    layers = {layer.node: layer for layer in weighted_layers(graph)}
    wide = {layer.node.operands[0]: QuantParams.per_tensor(0.05, 0) for layer in layers.values()}
    read = read_samples(graph, data, what="calibration data")
    widths = dict.fromkeys(layers, bits)
    observed = observe(graph, read, squares=True).moments
    return rounded_in_sequence(graph, layers, widths, params or wide, observed, read)


@pytest.mark.slow
@pytest.mark.parametrize(("weights", "gain_db"), [(4, 0.5), (2, 2.0)])
def test_less_is_lost_than_by_each_layer_for_itself(weights, gain_db, monkeypatch):
    def mean_sqnr():
        found = [
            rlx.quantize(float_network(seed), CALIB, test=TEST, weights=weights, **ANY)
            for seed in range(4)
        ]
        return np.mean([f.report.comparison.output.sqnr_db for f in found])

    better = mean_sqnr()
    monkeypatch.setattr(module, "rounded_in_sequence", lambda *_: None)
    assert better > mean_sqnr() + gain_db


def test_a_layer_makes_up_for_a_constant_factor_before_it():
    """Values that were clipped to a half come back by weights that are nearly twice as large."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(4, 6)).astype(np.float32)
    traced = rlx.trace("net", lambda x: x.linear(weights), rlx.f32(1, 6))
    graph = prepare(rlx.freeze(traced.graph, traced.parameters)).graph
    (layer,) = weighted_layers(graph)
    # Every input is 1 or -1, and int8 values of this scale end near a half.
    data = rng.choice([-1.0, 1.0], size=(200, 6)).astype(np.float32)
    half = {layer.node.operands[0]: QuantParams.per_tensor(0.5 / 127.5, 0)}
    found = in_sequence(graph, data, 8, half)[layer.node]
    ratios = np.linalg.norm(found.weights.reals(), axis=1) / np.linalg.norm(weights, axis=1)
    # Some trust in the layer's own weights holds them back.
    assert np.all((ratios > 1.5) & (ratios < 2))


def test_biases_keep_the_means():
    graph = prepare(GRAPH).graph
    found = in_sequence(graph, CALIB, 2)
    first = weighted_layers(graph)[0]
    reals = first.from_rows(found[first.node].weights.reals())
    before, after = (
        first.node.op.evaluate(CALIB, w, b)[0].reshape(-1, first.outputs).mean(axis=0)
        for w, b in ((first.weights, first.bias), (reals, found[first.node].bias))
    )
    np.testing.assert_allclose(before, after, atol=0.01)


def test_samples_are_bounded(monkeypatch):
    graph, seen = prepare(GRAPH).graph, []

    def taken(read, count):
        seen.append(count)
        return take(read, count)

    monkeypatch.setattr(sequence, "take", taken)
    monkeypatch.setattr(sequence, "MAX_SAMPLES", 40)
    assert in_sequence(graph, CALIB, 4) is not None
    assert seen == [40]


def test_few_samples_fit_nothing(monkeypatch):
    graph = prepare(GRAPH).graph
    assert in_sequence(graph, CALIB[:31], 4) is None
    assert in_sequence(graph, CALIB[:32], 4) is not None
    monkeypatch.setattr(sequence, "MAX_BYTES", 1000)
    assert in_sequence(graph, CALIB, 4) is None


def test_rows_of_very_many_terms_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(sequence, "MAX_TERMS", 3)
    graph = prepare(GRAPH).graph
    first = weighted_layers(graph)[0]
    found = in_sequence(graph, CALIB, 8)[first.node]
    nearest = np.abs(found.weights.reals() - first.rows()).max(axis=1)
    assert (nearest <= found.weights.scales / 2 + 1e-9).all()


WEIGHTS = np.ones((4, 6), np.float32)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: x.transpose(1, 0).relu(), (1, 6)),
        (lambda x: x.linear(WEIGHTS), (5, 6)),
        (lambda x: x.linear(WEIGHTS), (6,)),
    ],
    ids=["mixed", "rows", "vector"],
)
def test_a_network_that_cannot_be_batched_has_none(function, shape):
    traced = rlx.trace("net", function, rlx.f32(*shape))
    graph = prepare(rlx.freeze(traced.graph, traced.parameters)).graph
    data = CALIB.reshape(-1)[: 40 * np.prod(shape)].reshape(40, *shape)
    assert in_sequence(graph, data, 4) is None
    assert rlx.quantize(graph, data, weights=4).report.mean_bits in (0, 4)
