"""Changes of float weights: what the network computes stays, what was bad becomes better."""

import numpy as np
import pytest

import rlx
from rlx.ir.evaluate import evaluate, evaluate_all
from rlx.ops.nn import Layout, NnBatchNorm
from rlx.passes.quantize.bias_correction import corrected_bias
from rlx.passes.quantize.equalize import Equalize, before_depthwise, equalize_results
from rlx.passes.quantize.fold_batch_norm import FoldBatchNorm
from rlx.passes.quantize.rounding import LIMITS, round_weights
from rlx.passes.quantize.weighted import weighted_layers, with_weights

RANDOM = np.random.default_rng(3)


def normal(*shape, scale=1.0):
    return (RANDOM.standard_normal(shape) * scale).astype(np.float32)


def image(batch=1, channels=4):
    return normal(batch, 7, 6, channels)


def frozen(name, function, *types):
    traced = rlx.trace(name, function, *types)
    return rlx.freeze(traced.graph, traced.parameters)


def network(*, layout=Layout.CHANNELS_LAST, batch_norm=False):
    """conv, relu, depthwise conv, relu, max pool, 1x1 conv, relu, dense."""
    first = layout is Layout.CHANNELS_FIRST
    axis = 1 if first else -1

    def weights(out, inner, kernel):
        array = normal(out, *kernel, inner, scale=0.3)
        return np.ascontiguousarray(np.moveaxis(array, -1, 1)) if first else array

    def norm(x, channels):
        if not batch_norm:
            return x
        return x.batch_norm(
            normal(channels), normal(channels), normal(channels), np.abs(normal(channels)) + 0.1,
            axis=axis, epsilon=1e-3,
        )  # fmt: skip

    def layers(x):
        x = norm(x.conv(weights(8, 4, (3, 3)), normal(8), padding="same", layout=layout), 8).relu()
        x = x.conv(weights(8, 1, (3, 3)), normal(8), groups=8, padding=1, layout=layout)
        x = norm(x, 8).relu().max_pool(2, layout=layout)
        x = norm(norm(x.conv(weights(6, 8, (1, 1)), layout=layout), 6), 6).relu()
        if not first:
            return x.reshape(1, -1).linear(normal(5, 3 * 3 * 6))
        return x.mean(2, 3).linear(normal(5, 6))

    shape = (1, 4, 7, 6) if first else (1, 7, 6, 4)
    return frozen("net", layers, rlx.f32(*shape)), normal(*shape)


def outputs(graph, x):
    return evaluate(graph, {graph.inputs[0].name: x})[0]


@pytest.mark.parametrize("layout", Layout)
def test_batch_norm_becomes_part_of_the_layer_before(layout):
    graph, x = network(layout=layout, batch_norm=True)
    folded = FoldBatchNorm().apply(graph)
    assert not any(isinstance(n.op, NnBatchNorm) for n in folded.op_nodes)
    np.testing.assert_allclose(outputs(folded, x), outputs(graph, x), rtol=1e-4, atol=1e-4)


def test_batch_norm_stays_where_the_layers_result_is_read_twice():
    def layers(x):
        y = x.conv(normal(3, 1, 1, 4))
        return y.batch_norm(normal(3), normal(3), normal(3), np.ones(3, np.float32)) + y

    graph = frozen("net", layers, rlx.f32(1, 7, 6, 4))
    folded = FoldBatchNorm().apply(graph)
    assert sum(isinstance(n.op, NnBatchNorm) for n in folded.op_nodes) == 1


def test_batch_norm_along_another_axis_stays():
    def layers(x):
        y = x.conv(normal(3, 1, 1, 4))
        return y.batch_norm(normal(6), normal(6), normal(6), np.ones(6, np.float32), axis=2)

    graph = frozen("net", layers, rlx.f32(1, 7, 6, 4))
    assert any(isinstance(n.op, NnBatchNorm) for n in FoldBatchNorm().apply(graph).op_nodes)


@pytest.mark.parametrize("layout", Layout)
def test_rows_times_patches_is_the_layer(layout):
    graph, x = network(layout=layout)
    values = evaluate_all(graph, {graph.inputs[0].name: x})
    layers = weighted_layers(graph)
    assert len(layers) == 4
    for layer in layers:
        patches = layer.patches(values[layer.node.operands[0]])
        rows = layer.rows().reshape(layer.groups, -1, patches.shape[-1])
        product = np.moveaxis(patches @ np.swapaxes(rows, 1, 2), 0, 1).reshape(-1, layer.outputs)
        expected = np.moveaxis(values[layer.node.result], layer.channel_axis, -1)
        found = product + layer.bias
        np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-4, atol=1e-5)
        assert np.array_equal(layer.from_rows(layer.rows()), layer.weights)


def channel_ranges(graph):
    return [np.abs(layer.rows()).max(axis=1) for layer in weighted_layers(graph)]


@pytest.mark.parametrize("layout", Layout)
def test_equalization_keeps_the_function_and_undoes_a_scaled_channel(layout):
    graph, x = network(layout=layout)
    first, second, *_ = weighted_layers(graph)
    up, down = np.ones(8), np.ones(8)
    up[3], down[3] = 1000, 1 / 1000
    bad = with_weights(
        graph,
        {
            first.node: (first.scale_outputs(up), (first.bias * up).astype(np.float32)),
            second.node: (second.scale_inputs(down), second.bias),
        },
        by="test",
    )
    np.testing.assert_allclose(outputs(bad, x), outputs(graph, x), rtol=1e-3, atol=1e-4)
    spread = [r.max() / r.min() for r in channel_ranges(bad)]
    assert spread[0] > 300
    good = Equalize().apply(bad)
    np.testing.assert_allclose(outputs(good, x), outputs(graph, x), rtol=1e-3, atol=1e-4)
    # One layer is bad or good together with its neighbours: the same as without the fault.
    for one, other in zip(
        channel_ranges(good), channel_ranges(Equalize().apply(graph)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=0.02)


@pytest.mark.parametrize("layout", Layout)
def test_results_before_depthwise_layers_fill_their_range(layout):
    graph, x = network(layout=layout)
    (node,) = before_depthwise(graph)
    ranges = np.geomspace(0.01, 5, 8)
    ranges[5] = 0
    changed = equalize_results(graph, {node: ranges})
    np.testing.assert_allclose(outputs(changed, x), outputs(graph, x), rtol=1e-3, atol=1e-4)
    before, after = channel_ranges(graph)[0], channel_ranges(changed)[0]
    expected = np.where(ranges > 0, 5 / np.where(ranges > 0, ranges, 1), 1)
    np.testing.assert_allclose(after / before, expected, rtol=1e-4)


def test_nothing_is_equalized_across_a_function_that_is_not_homogeneous():
    def layers(x):
        return x.conv(normal(3, 1, 1, 4)).clamp(0.0, 6.0).conv(normal(3, 1, 1, 3))

    graph = frozen("net", layers, rlx.f32(1, 7, 6, 4))
    assert Equalize().apply(graph) is graph


def test_nothing_is_equalized_where_a_result_is_read_twice_or_leaves_the_graph():
    def layers(x):
        y = x.conv(normal(3, 1, 1, 4))
        return y, y.conv(normal(3, 1, 1, 3))

    assert Equalize().apply(graph := frozen("net", layers, rlx.f32(1, 7, 6, 4))) is graph

    def shared(x):
        y = x.conv(normal(3, 1, 1, 4))
        return y.conv(normal(3, 1, 1, 3)) + y

    assert Equalize().apply(graph := frozen("net", shared, rlx.f32(1, 7, 6, 4))) is graph


def inputs_of(groups, terms, count=400):
    """Correlated inputs with a mean, as behind a ReLU."""
    mixed = RANDOM.standard_normal((groups, count, terms)) @ RANDOM.standard_normal(
        (groups, terms, terms)
    )
    return np.maximum(mixed, 0)


@pytest.mark.parametrize("bits", LIMITS)
@pytest.mark.parametrize("groups", [1, 5])
def test_rounded_weights_are_in_range_and_scales_are_float32(bits, groups):
    rows = normal(10, 12)
    rows[4] = 0
    moments = np.swapaxes(x := inputs_of(groups, 12), 1, 2) @ x
    found = round_weights(rows, bits, moments)
    assert np.abs(found.steps).max() <= LIMITS[bits]
    assert np.array_equal(found.scales, found.scales.astype(np.float32))
    assert (found.scales > 0).all()
    assert not found.steps[4].any()


@pytest.mark.parametrize("bits", [4, 2])
@pytest.mark.parametrize("groups", [1, 5])
def test_the_descent_lowers_the_error_of_the_results(bits, groups):
    rows = normal(10, 12)
    x = inputs_of(groups, 12)
    moments = np.swapaxes(x, 1, 2) @ x

    def error(found):
        lost = (rows - found.reals()).reshape(groups, -1, 12)
        return (np.einsum("gpk,gok->gpo", x, lost) ** 2).sum()

    assert error(round_weights(rows, bits, moments)) < 0.9 * error(round_weights(rows, bits))


def test_eight_bits_are_off_by_half_a_step_at_most():
    rows = normal(6, 40)
    found = round_weights(rows, 8)
    assert (np.abs(found.reals() - rows) <= found.scales[:, np.newaxis] * 0.500001).all()


def test_ternary_weights_of_a_ternary_matrix_are_exact():
    rows = RANDOM.integers(-1, 2, (6, 40)) * np.linspace(0.1, 3, 6)[:, np.newaxis]
    np.testing.assert_allclose(round_weights(rows, 2).reals(), rows, rtol=1e-6)


def test_a_corrected_bias_keeps_the_mean_of_the_results():
    graph, x = network()
    layer = weighted_layers(graph)[1]
    values = evaluate_all(graph, {graph.inputs[0].name: x})
    patches = layer.patches(values[layer.node.operands[0]]).astype(np.float64)
    rounded = round_weights(layer.rows(), 2)
    bias = corrected_bias(layer, rounded.reals(), patches.mean(axis=1))
    changed = with_weights(graph, {layer.node: (layer.from_rows(rounded.reals()), bias)}, by="test")
    after = evaluate_all(changed, {graph.inputs[0].name: x})
    found = after[weighted_layers(changed)[1].node.result]
    expected = values[layer.node.result]
    np.testing.assert_allclose(found.mean(axis=(0, 1, 2)), expected.mean(axis=(0, 1, 2)), atol=1e-4)
