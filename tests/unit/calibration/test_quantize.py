"""Float networks and samples to integer networks and reports."""

from dataclasses import replace

import numpy as np
import pytest

import rlx
from rlx.calibration.observation import observe
from rlx.calibration.replay import CalibrationReplay
from rlx.calibration.settings import Settings
from rlx.cli.commands.quantize import summary
from rlx.ir import TensorType
from rlx.ir.evaluate import evaluate, evaluate_all
from rlx.ir.file import save
from rlx.metrics.compare import compare_graphs
from rlx.metrics.runner import Runner, computed_values
from rlx.ops.real import RealDequantize, RealQuantize
from rlx.passes.quantize.weighted import weighted_layers
from rlx.samples.batches import read_samples
from rlx.support.errors import DoesNotFitError, UsageError
from support.messages import raises
from support.networks.quantized_net import (
    CLASSES,
    float_network,
    named,
    samples,
    with_scaled_channel,
)

GRAPH = float_network()
CALIB, TEST = samples(48, 1), samples(64, 2)
ANY = {"min_sqnr": -np.inf, "min_agreement": 0.0}
"""Limits that every network keeps."""


def labels_of(graph, x):
    return np.array([evaluate(graph, {"image": one[np.newaxis]})[0].argmax() for one in x])


def test_the_integer_network_is_close_to_the_float_one():
    found = rlx.quantize(GRAPH, CALIB, test={"x": TEST, "y": labels_of(GRAPH, TEST)})
    report = found.report
    assert report.comparison.samples == len(TEST)
    assert report.comparison.top1[0] == 1.0
    assert report.comparison.agreement > 0.8
    assert report.comparison.output.sqnr_db > 18
    assert report.tested
    assert report.mean_bits == 8
    kinds = {n.op.dialect for n in found.module.graph.op_nodes}
    edges = [n.op for n in found.module.graph.op_nodes if n.op.dialect == "real"]
    assert kinds == {"q", "real"}
    assert {type(op) for op in edges} == {RealQuantize, RealDequantize}
    assert len(edges) == 2


def test_the_outcome_is_printed_as_a_table():
    found = rlx.quantize(GRAPH, CALIB, test=TEST, **ANY)
    table, _, figures = str(found).partition("\n\n")
    title, headings, *rows = table.splitlines()
    assert title == f"Layers of {GRAPH.name}, quantized"
    assert headings.split()[:3] == ["layer", "op", "bits"]
    assert [row.split()[0] for row in rows] == [layer.name for layer in found.report.layers]
    assert figures.startswith("bits of a weight    8\n")
    assert repr(found).startswith(f"<Quantized {GRAPH.name!r}: bits of a weight 8, ")


@pytest.mark.parametrize("observer", ["min-max", "moving-average", "percentile", "mse", "kl"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_every_observer_gives_a_network_that_works(observer, symmetric):
    found = rlx.quantize(GRAPH, CALIB, test=TEST, observer=observer, symmetric=symmetric, **ANY)
    assert found.report.comparison.output.cosine > 0.95
    if symmetric:
        edge = next(n.op for n in found.module.graph.op_nodes if isinstance(n.op, RealQuantize))
        assert edge.quant.zero_point == (0,)


def test_the_report_measures_what_the_integer_network_computes():
    """Agreement, largest difference and layers, computed again sample by sample."""
    found = rlx.quantize(GRAPH, CALIB, test=TEST)
    pairs = [
        [evaluate(g, {"image": x[np.newaxis]})[0] for g in (GRAPH, found.module.graph)]
        for x in TEST
    ]
    first, second = (np.concatenate(part).astype(np.float64) for part in zip(*pairs, strict=True))
    comparison = found.report.comparison
    assert comparison.agreement == (first.argmax(1) == second.argmax(1)).mean()
    assert comparison.output.maximum == pytest.approx(np.abs(first - second).max(), rel=1e-3)
    assert comparison.output.mean == pytest.approx(np.abs(first - second).mean(), rel=1e-3)
    noise = 10 * np.log10((first**2).sum() / ((first - second) ** 2).sum())
    assert comparison.output.sqnr_db == pytest.approx(noise, abs=0.01)


def test_fewer_bits_lose_more():
    ratios = [
        rlx.quantize(GRAPH, CALIB, test=TEST, weights=bits, **ANY).report.comparison.output.sqnr_db
        for bits in (8, 4, 2)
    ]
    assert ratios[0] > ratios[1] + 4
    assert ratios[1] > ratios[2] + 4


def test_weights_have_the_bits_that_were_asked_for():
    for bits, limit in ((8, 127), (4, 7), (2, 1)):
        graph = rlx.quantize(GRAPH, CALIB, weights=bits, **ANY).module.graph
        found = [n.operands[1] for n in graph.op_nodes if n.op.name in ("q.conv2d", "q.dense")]
        assert len(found) == 4
        for value in found:
            assert value.type.dtype.bits == bits
            assert np.abs(value.constant.astype(np.int64)).max() == limit


def test_the_same_data_give_the_same_bytes(tmp_path):
    files = []
    for name in ("a", "b"):
        found = rlx.quantize(GRAPH, CALIB, test=TEST, weights="auto", bits=5)
        save(found.module, tmp_path / f"{name}.rlx")
        files.append((tmp_path / f"{name}.rlx").read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_acceptance_a_scaled_channel_is_named_and_repaired_by_equalization(place):
    bad = with_scaled_channel(GRAPH, layer=place, factor=1000.0)
    plain = rlx.quantize(GRAPH, CALIB, test=TEST, equalize=False, **ANY).report
    without = rlx.quantize(bad, CALIB, test=TEST, equalize=False, **ANY).report
    assert len(without.worst) == 3
    assert without.worst[0].name == ("conv1", "conv2", "conv3")[place]
    assert without.worst[0].loss > 20 * max(layer.loss for layer in plain.layers)
    assert without.comparison.output.sqnr_db < plain.comparison.output.sqnr_db - 10
    for equalize in (True, None):
        repaired = rlx.quantize(bad, CALIB, test=TEST, equalize=equalize, **ANY).report
        assert repaired.equalized
        assert repaired.comparison.output.sqnr_db > plain.comparison.output.sqnr_db - 3
        assert repaired.worst[0].loss < without.worst[0].loss / 20


def test_bias_correction_brings_the_means_back():
    """With ternary weights, the mean of the outputs is nearer to that of the float network."""

    def shift(correct):
        graph = rlx.quantize(
            GRAPH, CALIB, weights=2, bias_correction=correct, equalize=False, **ANY
        ).module.graph
        means = [
            np.mean([evaluate(g, {"image": x[np.newaxis]})[0] for x in TEST], axis=0)
            for g in (GRAPH, graph)
        ]
        return np.abs(means[0] - means[1]).mean()

    assert shift(True) < 0.7 * shift(False)


@pytest.mark.parametrize("bits", [3.0, 5.0, 7.0])
def test_auto_reaches_mean_bits_and_spends_them(bits):
    report = rlx.quantize(GRAPH, CALIB, weights="auto", bits=bits, **ANY).report
    assert report.mean_bits <= bits
    largest = max(layer.weights for layer in report.layers)
    total = sum(layer.weights for layer in report.layers)
    assert report.mean_bits > bits - 4 * largest / total
    assert {layer.bits for layer in report.layers} - {None} <= {8, 4, 2}


def test_auto_reaches_flash():
    total = sum(layer.weights.size for layer in weighted_layers(GRAPH))
    report = rlx.quantize(GRAPH, CALIB, weights="auto", flash=total // 2).report
    assert report.weight_bytes <= total // 2


def test_auto_keeps_the_drop():
    data = {"x": TEST, "y": labels_of(GRAPH, TEST)}
    report = rlx.quantize(
        GRAPH, {"x": CALIB, "y": labels_of(GRAPH, CALIB)}, test=data, weights="auto", max_drop=0.2
    ).report
    assert report.comparison.drop <= 0.2
    assert report.mean_bits < 8


def test_a_function_of_one_number_may_overflow_within():
    def score(x):
        y = x.linear(100 * np.eye(4, dtype=np.float32))
        return 1.0 / ((-y).exp() + 1.0)

    graph = rlx.trace("net", score, rlx.f32(1, 4)).graph
    x = np.random.default_rng(0).standard_normal((64, 1, 4)).astype(np.float32)
    assert 100 * x.min() < -100  # exp(100) is more than a float32 holds
    report = rlx.quantize(graph, x).report
    assert report.comparison.output.sqnr_db > 20
    layers = rlx.trace("net", lambda x: (x * 100).exp().linear(np.ones((4, 4))), rlx.f32(1, 4))
    with raises(UsageError):
        rlx.quantize(layers.graph, x)


@pytest.mark.parametrize("tested", [None, TEST])
def test_auto_takes_wider_weights_where_the_drop_alone_leaves_too_much_noise(tested):
    def report(limits):
        return rlx.quantize(
            GRAPH, CALIB, test=tested, weights="auto", max_drop=0.5, **ANY | limits
        ).report

    narrow = report({})
    assert not narrow.widened
    for limits in (
        {"min_sqnr": narrow.comparison.output.sqnr_db + 3},
        {"min_agreement": narrow.comparison.agreement + 0.01},
    ):
        wide = report(limits)
        assert wide.widened
        assert wide.mean_bits > narrow.mean_bits
        assert wide.comparison.output.sqnr_db >= limits.get("min_sqnr", -np.inf)
        assert wide.comparison.agreement >= limits.get("min_agreement", 0)


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"weights": 8}, "another observer;"),
        ({"weights": 2}, 'another observer, or weights="auto";'),
        ({"weights": "auto", "bits": 3.0}, "another observer, or more bits;"),
    ],
)
def test_a_network_of_no_use_is_written_with_the_limits_that_the_error_names(options, advice):
    with pytest.raises(DoesNotFitError) as caught:
        rlx.quantize(GRAPH, CALIB, **options, min_sqnr=1000.0)
    assert advice in caught.value.hint
    assert 'min_sqnr=float("-inf"), min_agreement=0 writes it' in caught.value.hint
    rlx.quantize(GRAPH, CALIB, **options, **ANY)


def test_limits_that_cannot_be_kept_are_refused():
    with raises(DoesNotFitError):
        rlx.quantize(GRAPH, CALIB, weights="auto", flash=10)
    with raises(DoesNotFitError):
        rlx.quantize(GRAPH, CALIB, weights=2, max_drop=0.0)


def test_options_that_do_not_fit_are_refused():
    with raises(UsageError):
        rlx.quantize(GRAPH, CALIB, weights="3")
    with raises(UsageError):
        rlx.quantize(GRAPH, CALIB, observer="guess")
    with raises(UsageError):
        Settings(bits=5.0)


def test_batches_give_what_single_samples_give():
    watched = computed_values(GRAPH)
    runner = Runner(GRAPH, watched)
    assert runner.batch > 8
    found = [
        np.concatenate(parts)
        for parts in zip(
            *(arrays for _, arrays in runner.run(read_samples(GRAPH, TEST[:40], what="data"))),
            strict=True,
        )
    ]
    for i in (0, 33, 39):
        values = evaluate_all(GRAPH, {"image": TEST[i : i + 1]})
        for value, array in zip(watched, found, strict=True):
            np.testing.assert_allclose(array[i : i + 1], values[value], rtol=1e-4, atol=1e-5)


def test_a_layer_may_read_another_axis_in_place_of_that_of_the_samples():
    """A convolution over images that are the columns of one: its operand is [columns, ...]."""
    weights = np.random.default_rng(3).normal(size=(2, 2, 2, 3)).astype(np.float32)

    def net(x):
        columns = x.transpose(2, 1, 0, 3).tanh()
        return columns.conv(weights).transpose(2, 1, 0, 3).relu()

    graph = rlx.trace("columns", net, rlx.f32(2, 5, 4, 3)).graph
    data = np.random.default_rng(4).normal(size=(6, 2, 5, 4, 3)).astype(np.float32)
    for bits in ("8", "4"):
        assert rlx.quantize(graph, {"x": data}, weights=bits).report.comparison.output.cosine > 0.95


def test_factors_that_are_computed_of_constants_are_no_values_of_a_sample():
    """As a batch normalization leaves them that is part of no convolution."""
    factor, shift = np.float32([[0.5], [2.0]]), np.float32([[0.1], [0.2]])

    def net(x):
        variance = x.builder.constant(factor)
        return (x.tanh() * (variance + 0.1).rsqrt() + shift * variance).relu()

    graph = rlx.trace("normalized", net, rlx.f32(1, 2, 6)).graph
    assert len(computed_values(graph)) == 1 + 4
    same = rlx.compare(graph, graph, {"x": np.ones((6, 1, 2, 6), np.float32)}, criteria="exact")
    assert same.passed
    assert [layer.closeness.count for layer in same.layers] == [72, 2 * 6, 2 * 6, 72, 2 * 6, 72, 72]
    data = np.random.default_rng(4).normal(size=(6, 1, 2, 6)).astype(np.float32)
    assert rlx.quantize(graph, {"x": data}).report.comparison.output.cosine > 0.99

    def normalized(x):
        spread = np.float32([1.0, 4.0])
        return x.tanh().batch_norm(spread, spread, spread, spread, axis=1)

    graph = rlx.trace("normalized", normalized, rlx.f32(1, 2, 6)).graph
    assert rlx.quantize(graph, {"x": data}).report.comparison.output.cosine > 0.99


def test_a_graph_that_cannot_be_batched_runs_sample_by_sample():
    def turned(x):
        return x.reshape(4, 1).relu().reshape(1, 4)

    graph = rlx.trace("turned", turned, rlx.f32(1, 4)).graph
    x = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    runner = Runner(graph, computed_values(graph))
    assert runner.batch == 1
    (out,) = zip(*(a[-1:] for _, a in runner.run(read_samples(graph, x, what="x"))), strict=True)
    assert np.array_equal(np.concatenate(out), np.maximum(x, 0))
    observation = observe(graph, read_samples(graph, x, what="x"), squares=False)
    assert all(o.histogram.total == 20 for o in observation.ranges.values())


def test_a_replayed_change_gives_what_the_changed_graph_gives():
    watched = [n.result for n in GRAPH.op_nodes]
    replay = CalibrationReplay(GRAPH, watched, {"image": TEST[:4]})
    value = watched[3]
    changed = replay.values[value] * np.float32(1.5)
    (found,) = replay.values_with(value, changed, [GRAPH.outputs[0]])
    (same,) = replay.values_with(value, replay.values[value], [GRAPH.outputs[0]])
    assert np.array_equal(same, replay.values[GRAPH.outputs[0]])
    for i in range(4):
        values = evaluate_all(GRAPH, {"image": TEST[i : i + 1]})
        rest = {value: values[value] * np.float32(1.5)}
        for node in GRAPH.nodes:
            if node.operands and node.result not in rest:
                operands = (rest.get(o, values[o]) for o in node.operands)
                rest[node.result] = node.op.evaluate(*operands)[0]
        np.testing.assert_allclose(found[i : i + 1], rest[GRAPH.outputs[0]], rtol=1e-4, atol=1e-5)


def test_comparing_a_network_with_itself_finds_no_difference():
    found = compare_graphs(GRAPH, GRAPH, {"x": TEST, "y": labels_of(GRAPH, TEST) % CLASSES})
    assert found.output.maximum == 0
    assert found.agreement == 1.0
    assert found.top1 == (1.0, 1.0)
    assert found.as_json()["output"]["sqnr_db"] is None
    assert [layer.name for layer in found.layers][:3] == ["conv1", "relu1", "conv2"]


def test_comparing_networks_of_different_outputs_is_refused():
    def other(x):
        return x.mean(1, 2, 3).reshape(1, 1)

    graph = rlx.trace("other", other, rlx.f32(1, 8, 8, 3)).graph
    with raises(UsageError):
        rlx.compare(GRAPH, graph, {"x": TEST, "image": TEST})


@pytest.mark.parametrize(
    ("figures", "drop"),
    [
        ({"top1": (0.8, 0.7)}, 0.1),
        ({"top1": (0.8, 0.8), "auc": (0.9, 0.8)}, 0.1),
        ({"top1": (0.8, 0.7), "auc": (0.9, 0.95)}, 0.1),
        ({"top1": (0.8, 0.0), "auc": (0.9, 0.0), "reconstruction": (2.0, 2.2)}, 0.1),
        ({"reconstruction": (2.0, 2.2)}, 0.1),
        ({"agreement": 0.9}, 0.1),
    ],
)
def test_what_counts_as_loss(figures, drop):
    found = rlx.compare(GRAPH, GRAPH, TEST)
    plain = dict.fromkeys(("agreement", "top1", "auc", "reconstruction"))
    assert replace(found, **{**plain, **figures}).drop == pytest.approx(drop)


def test_outputs_that_have_classes_are_compared_by_these():
    """A softmax and an argmax have one; scores, boxes and vectors beside others have none."""

    def network(x):
        return x.softmax(), x.argmax(1), x.sigmoid(), x.reshape(1, 2, 3), x * 2.0, x.mean(1)

    graph = rlx.trace("forms", network, rlx.f32(1, 6)).graph
    x = np.random.default_rng(0).standard_normal((32, 6)).astype(np.float32)
    found = rlx.quantize(graph, x).report.comparison
    assert [o.classes is not None for o in found.outputs] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]
    plain = rlx.trace("plain", lambda x: x[:, :5] * 2.0, rlx.f32(1, 6)).graph
    assert rlx.quantize(plain, x).report.comparison.outputs[0].classes is not None
    image = rlx.trace("image", lambda x: x.reshape(1, 2, 3).softmax(), rlx.f32(1, 6)).graph
    pixels = rlx.quantize(image, x).report.comparison.outputs[0]
    assert pixels.classes.total == 64


def test_the_loss_is_that_of_the_output_that_loses_most():
    def network(x):
        large = x.linear(np.float32([[1, 0, 0, 0], [0, 1000, 0, 0]]))
        return x.linear(np.eye(4, dtype=np.float32)), large[:, :1]

    graph = rlx.trace("two", network, rlx.f32(1, 4)).graph
    x = np.random.default_rng(0).standard_normal((64, 4)).astype(np.float32)
    found = rlx.quantize(graph, x, **ANY).report.comparison
    assert found.outputs[0].closeness.sqnr_db > 30
    assert found.outputs[1].closeness.sqnr_db < 3
    assert found.drop > 0.7
    with raises(DoesNotFitError):
        rlx.quantize(graph, x, max_drop=0.05, **ANY)


def test_a_network_of_no_use_is_refused_and_the_layer_is_named():
    def network(x):
        y = x.linear(np.float32([[1, 0, 0, 0], [0, 1000, 0, 0]]))
        return y[:, :1] * 2.0

    graph = named(rlx.trace("lost", network, rlx.f32(1, 4)).graph)
    x = np.random.default_rng(0).standard_normal((64, 4)).astype(np.float32)
    with pytest.raises(DoesNotFitError) as caught:
        rlx.quantize(graph, x)
    error = str(caught.value)
    assert "above its quantization noise, less than 10 dB; first layer below that: slice1" in error
    assert caught.value.exit_status == 3
    assert rlx.quantize(graph, x, min_sqnr=-20).report.comparison.output.sqnr_db < 3


@pytest.mark.parametrize("score", ["sigmoid", "tanh"])
def test_samples_without_a_hit_leave_a_score_its_reach(score):
    """A network is not called useless for them."""
    bias = -9 if score == "sigmoid" else 0

    def network(x):
        y = x.linear(np.ones((1, 6), np.float32), np.float32([bias]))
        return getattr(y, score)()

    graph = rlx.trace("score", network, rlx.f32(1, 6)).graph
    calib = 0.02 * np.random.default_rng(1).standard_normal((64, 6)).astype(np.float32)
    inner = rlx.quantize(graph, {"x": np.concatenate([calib, np.full((1, 6), 0.02, np.float32)])})
    sample = calib[:1] * 0 + np.float32(0.02)
    assert evaluate(inner.module.graph, {"x": sample})[0] == pytest.approx(
        evaluate(graph, {"x": sample})[0], abs=0.03
    )


@pytest.mark.parametrize(("bias", "lacking"), [(-9, True), (0, False)])
def test_the_summary_says_that_no_sample_is_a_hit(bias, lacking):
    def network(x):
        return x.linear(np.ones((1, 6), np.float32), np.float32([bias])).sigmoid()

    graph = rlx.trace("score", network, rlx.f32(1, 6)).graph
    calib = 0.02 * np.random.default_rng(1).standard_normal((64, 6)).astype(np.float32)
    found = rlx.quantize(graph, calib).report.comparison
    assert any("no sample comes near 1, which it can reach" in n for n in summary(found)) == lacking


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_a_network_in_another_float_type_is_quantized_in_float32(dtype):
    random = np.random.default_rng(0)
    weights, bias = random.standard_normal((4, 6)).astype(dtype), np.ones(4, dtype)

    def network(x):
        return x.linear(weights, bias).relu().linear(weights.T[:4, :4].copy(), bias[:4]).softmax()

    kind = rlx.DType.F64 if dtype is np.float64 else rlx.DType.F16
    graph = rlx.trace("net", network, TensorType((1, 6), kind)).graph
    x = random.standard_normal((32, 6)).astype(np.float32)
    found = rlx.quantize(graph, x)
    assert found.report.comparison.output.sqnr_db > 25
    ops = [n.op.name for n in found.module.graph.op_nodes]
    assert ops == ["real.quantize", "q.dense", "q.dense", "q.softmax", "real.dequantize"]


@pytest.mark.parametrize("last", ["argmax", "argmin"])
@pytest.mark.parametrize("wide", [False, True])
def test_a_network_that_ends_in_an_index(last, wide):
    random = np.random.default_rng(0)
    weights = random.standard_normal((4, 6)).astype(np.float32)

    def network(x):
        index = getattr(x.linear(weights), last)(1)
        return index.cast(rlx.DType.I64) if wide else index

    graph = rlx.trace("net", network, rlx.f32(1, 6)).graph
    x = random.standard_normal((64, 6)).astype(np.float32)
    found = rlx.quantize(graph, x)
    assert found.report.comparison.agreement > 0.9
    assert found.report.comparison.drop == 1 - found.report.comparison.agreement
    ops = [n.op.name for n in found.module.graph.op_nodes]
    assert ops[:2] == ["real.quantize", "q.dense"]
    assert "q.argmax" in ops
    assert found.report.worst[0].loss > 0


def test_stored_weights_stay_with_samples():
    """A file with some scales: the samples give the others, and no weight is rounded again."""
    stored = np.random.default_rng(0).integers(-7, 8, (4, 6)).astype(np.int8)

    def network(x):
        own = rlx.QuantParams.per_tensor(0.03)
        x = x.apply(RealQuantize(quant=own)).apply(RealDequantize(quant=own))
        weights = x.wrap(x.graph.constant(stored))
        weights = weights.apply(RealDequantize(quant=rlx.QuantParams.per_tensor(0.125)))
        return x.linear(weights).relu()

    graph = rlx.trace("net", network, rlx.f32(1, 6)).graph
    x = np.random.default_rng(1).standard_normal((32, 6)).astype(np.float32)
    found = rlx.quantize(graph, x)
    (dense,) = [n for n in found.module.graph.op_nodes if n.op.name == "q.dense"]
    assert np.array_equal(dense.operands[1].constant, stored)
    assert found.report.weight_bytes == 24


def test_layers_are_compared_with_those_of_the_balanced_network():
    """A channel that is 1000 times larger is balanced: its layer does not seem to be lost."""
    bad = with_scaled_channel(GRAPH, layer=0, factor=1000.0)
    report = rlx.quantize(bad, CALIB, test=TEST, equalize=True, **ANY).report
    assert report.equalized
    ratios = {layer.name: layer.closeness.sqnr_db for layer in report.layers}
    assert min(ratios[name] for name in ("conv1", "conv2", "conv3", "average_pool1")) > 30


def test_the_report_has_the_spread_of_weights_and_results():
    report = rlx.quantize(GRAPH, CALIB, weights=4, equalize=False, **ANY).report
    first, *_, last = report.layers
    weights = next(n.operands[1].constant for n in GRAPH.op_nodes if n.name == first.name)
    assert first.weight_values.minimum == weights.min()
    assert first.weight_values.percentiles[2] == pytest.approx(np.median(weights))
    assert (first.weight_values.lowest, first.weight_values.highest) == (-7, 7)
    assert first.results.minimum == 0  # of the ReLU that is part of the layer
    assert (first.results.low, first.results.high) == (
        first.scale * (-128 - first.zero_point), first.scale * (127 - first.zero_point)
    )  # fmt: skip
    assert last.weight_values is None
    assert (last.results.lowest, last.results.highest) == (-128, 127)
