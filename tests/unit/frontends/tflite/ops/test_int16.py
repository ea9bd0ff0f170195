"""Operators on int16 activations with int8 weights against TensorFlow Lite Micro."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.fixed_point import Rescale
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder, run_tflm
from support.messages import raises
from support.networks.int16_layers import Int16Builder, network
from support.references.tflite_compare import compare

ACTIVATIONS = ("NONE", "RELU", "RELU6")
ALL = np.arange(-32768, 32768).astype(np.int16)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("bias", ["int64", "int32", None])
@pytest.mark.parametrize(
    ("kernel", "stride", "padding"), [(3, 1, "SAME"), (3, 2, "VALID"), (1, 1, "SAME")]
)
def test_convolutions_equal_tflm(
    kernel: int, stride: int, padding: str, bias: str | None, activation: str, seed: int
) -> None:
    model = Int16Builder(seed)
    x = model.activation((2, 7, 6, 3), 1e-3)
    y = model.conv(x, 5, kernel, 0.02, bias, stride=stride, padding=padding, activation=activation)
    compare(model.build([x], [y]), seed, runs=8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("bias", ["int64", None])
@pytest.mark.parametrize("outputs", [1, 2])
def test_depthwise_convolutions_equal_tflm(
    outputs: int, bias: str | None, activation: str, seed: int
) -> None:
    model = Int16Builder(seed)
    x = model.activation((1, 7, 6, 4), 1e-3)
    y = model.conv(x, outputs, 3, 0.01, bias, depthwise=True, activation=activation)
    compare(model.build([x], [y]), seed, runs=8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("bias", ["int64", "int32", None])
def test_dense_layers_equal_tflm(bias: str | None, activation: str, seed: int) -> None:
    model = Int16Builder(seed)
    x = model.activation((3, 65), 1e-3)
    y = model.dense(x, 9, 0.02, bias, activation)
    compare(model.build([x], [y]), seed, runs=8)


@pytest.mark.parametrize("bias", ["int64", "int32"])
@pytest.mark.parametrize("factor", [0.25, 2.0**-9, 0.0123, 0.37, 1.5, 40.0])
def test_sums_at_rounding_halves_equal_tflm(bias: str, factor: float) -> None:
    """Every input value, so that sums are at both sides of many halves."""
    model = Int16Builder()
    x = model.activation((len(ALL), 1), 1.0)
    weights = np.array([[1], [2], [-3], [127]], np.int8)
    y = model.weighted(
        "FULLY_CONNECTED", x, weights, (len(ALL), 4), 1.0, bias, scales=factor, bound=100
    )
    data = model.build([x], [y])
    graph = tflite.load(data).graph
    expected = run_tflm(data, ALL[:, np.newaxis])
    found = evaluate(graph, {graph.inputs[0].name: ALL[:, np.newaxis]})
    np.testing.assert_array_equal(found[0], expected[0])


@pytest.mark.parametrize("shift", [24, 31, 35, 39, 41])
def test_biases_beyond_int32_equal_tflm(shift: int) -> None:
    model = TfliteBuilder()
    scale = 20000 / 2.0**shift
    x = model.tensor((1, 2), "int16", scale=1.0)
    w = model.constant(np.array([[1, -1], [3, 5]], np.int8), scale=scale)
    b = model.tensor([2], "int64", data=[2**shift + 12345, -(2**shift) + 7], scale=scale)
    y = model.tensor((1, 2), "int16", scale=1.0)
    model.operator("FULLY_CONNECTED", [x, w, b], [y], version=4)
    compare(model.build([x], [y]), runs=20)


@pytest.mark.parametrize("code", ["CONV_2D", "FULLY_CONNECTED"])
def test_type_of_an_absent_bias_decides_how_results_round(code: str) -> None:
    results = []
    for bias_type in (2, 4):  # int32, int64
        model = Int16Builder(1)
        shape = (1, 1, 1, 65) if code == "CONV_2D" else (1, 65)
        x = model.activation(shape, 1e-3)
        weights = model.random.integers(-127, 128, (200, *shape[1:])).astype(np.int8)
        options = {"strideW": 1, "strideH": 1, "dilationWFactor": 1, "dilationHFactor": 1}
        y = model.weighted(
            code, x, weights, (*shape[:-1], 200), 3e-3, None, scales=0.004,
            quantizedBiasType=bias_type, **(options if code == "CONV_2D" else {}),
        )  # fmt: skip
        data = model.build([x], [y])
        compare(data, runs=8)
        graph = tflite.load(data).graph
        values = np.random.default_rng(3).integers(-32768, 32768, shape).astype(np.int16)
        results.append(evaluate(graph, {graph.inputs[0].name: values})[0])
    assert (results[0] != results[1]).any()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("code", ["ADD", "SUB", "MUL"])
def test_binary_operators_equal_tflm(code: str, activation: str, seed: int) -> None:
    model = Int16Builder(seed)
    first, second = model.random.uniform(1e-4, 1e-3, 2)
    if seed == 3:
        first, second = 2.0**-12, 2.0**-13
    x = model.activation((2, 3, 40), first)
    y = model.activation(((2, 3, 40), (3, 40), (1, 40), (1,))[seed], second)
    share = model.random.uniform(0.4, 2.5)
    scale = first * second * 30000 * share if code == "MUL" else max(first, second) * share
    compare(model.build([x, y], [model.binary(code, x, y, scale, activation)]), seed, runs=8)


@pytest.mark.parametrize("code", ["ADD", "SUB", "MUL"])
def test_all_values_with_a_constant_equal_tflm(code: str) -> None:
    for number in (-32768, -1, 0, 3, 32767):
        model = Int16Builder()
        x = model.activation((1, len(ALL)), 3e-4)
        y = model.constant(np.array([number], np.int16), scale=7e-4)
        model.shapes[y] = (1,)
        result = model.binary(code, x, y, 5e-4)
        data = model.build([x], [result])
        graph = tflite.load(data).graph
        found = evaluate(graph, {graph.inputs[0].name: ALL[np.newaxis]})
        np.testing.assert_array_equal(found[0], run_tflm(data, ALL[np.newaxis])[0])


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("kernel", [2, 3])
@pytest.mark.parametrize("code", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_pools_equal_tflm(code: str, kernel: int, padding: str, activation: str) -> None:
    model = Int16Builder()
    x = model.activation((1, 8, 7, 3), 1e-3)
    y = model.pool(code, x, kernel, padding, activation)
    compare(model.build([x], [y]), runs=10)


@pytest.mark.parametrize(
    ("code", "x_scale", "scale"),
    [("RELU", 1e-3, 1e-3), ("RELU", 1e-3, 7e-4), ("RELU", 1e-3, 3e-3), ("RELU6", 1e-3, 1e-3),
     ("RELU6", 1e-5, 1e-5)],
)  # fmt: skip
def test_all_values_of_relus_equal_tflm(code: str, x_scale: float, scale: float) -> None:
    model = Int16Builder()
    x, y = model.activation((1, len(ALL)), x_scale), model.activation((1, len(ALL)), scale)
    model.operator(code, [x], [y])
    data = model.build([x], [y])
    graph = tflite.load(data).graph
    found = evaluate(graph, {graph.inputs[0].name: ALL[np.newaxis]})
    np.testing.assert_array_equal(found[0], run_tflm(data, ALL[np.newaxis])[0])


def test_moves_equal_tflm() -> None:
    model = Int16Builder()
    x, y = (model.activation((1, 4, 6), 1e-3) for _ in range(2))
    joined = model.activation((1, 8, 6), 1e-3)
    model.operator("CONCATENATION", [x, y], [joined], axis=1)
    padded = model.activation((1, 11, 9), 1e-3)
    widths = model.constant(np.array([[0, 0], [1, 2], [3, 0]], np.int32))
    model.operator("PAD", [joined, widths], [padded])
    compare(model.build([x, y], [model.reshape(padded, (9, 11))]))


@pytest.mark.parametrize("seed", range(5))
def test_networks_equal_tflm(seed: int) -> None:
    compare(network(seed), seed, runs=4)


def test_factors_of_int64_sums_have_15_bits() -> None:
    assert Rescale.wide(0.3, 1.0).multiplier == (0x4CCD0000, 0x40000000)
    assert Rescale.wide(1 - 2.0**-20).multiplier == (0x7FFF0000,)
    assert Rescale.wide(0.3).is_wide
    assert not Rescale.of(0.3).is_wide


def test_a_bias_of_int32_is_refused_where_the_reference_reads_it_as_int64() -> None:
    model = Int16Builder()
    x = model.activation((1, 4, 4, 2), 1e-3)
    y = model.conv(x, 1, 3, 0.01, "int32", depthwise=True)
    with raises(UnsupportedOpError):
        tflite.load(model.build([x], [y]))


def test_zero_points_are_refused() -> None:
    model = Int16Builder()
    x = model.tensor((1, 4), "int16", scale=1e-3, zero_point=5)
    y = model.activation((1, 4), 1e-3)
    model.operator("RELU", [x], [y])
    with raises(UnsupportedOpError):
        tflite.load(model.build([x], [y]))


def test_operators_on_int8_alone_are_refused() -> None:
    model = Int16Builder()
    x, y = (model.activation((1, 4), 1e-3) for _ in range(2))
    model.operator("HARD_SWISH", [x], [y])
    with raises(UnsupportedOpError):
        tflite.load(model.build([x], [y]))


def test_factors_beyond_those_of_the_reference_are_refused() -> None:
    model = Int16Builder()
    x = model.activation((1, 2), 1.0)
    y = model.weighted("FULLY_CONNECTED", x, np.ones((1, 2), np.int8), (1, 1), 0.001, scales=0.5)
    with raises(UnsupportedOpError):
        tflite.load(model.build([x], [y]))


def test_sums_whose_results_may_not_fit_int32_are_refused() -> None:
    model = Int16Builder()
    x = model.activation((1, 600), 1.0)
    weights = np.full((1, 600), 127, np.int8)
    y = model.weighted("FULLY_CONNECTED", x, weights, (1, 1), 0.001, scales=0.1)
    with raises(UnsupportedOpError):
        tflite.load(model.build([x], [y]))


@pytest.mark.parametrize("scale", [2.0**-12, 2.0**-11, 2.0**-13, 1e-3, 1e-7, 7.7e-3, 1.0, 2.6])
@pytest.mark.parametrize("code", ["LOGISTIC", "TANH"])
def test_all_values_of_functions_equal_tflm(code: str, scale: float) -> None:
    model = Int16Builder()
    x, y = model.activation((1, len(ALL)), scale), model.activation((1, len(ALL)), 1 / 32768)
    model.operator(code, [x], [y])
    data = model.build([x], [y])
    graph = tflite.load(data).graph
    found = evaluate(graph, {graph.inputs[0].name: ALL[np.newaxis]})
    np.testing.assert_array_equal(found[0], run_tflm(data, ALL[np.newaxis])[0])


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("scale", [1e-5, 1e-4, 1e-3, 0.1, 1.0])
@pytest.mark.parametrize("count", [1, 2, 10, 300])
def test_softmax_equals_tflm(count: int, scale: float, beta: float) -> None:
    model = Int16Builder()
    x, y = model.activation((30, count), scale), model.activation((30, count), 1 / 32768)
    model.operator("SOFTMAX", [x], [y], beta=beta)
    compare(model.build([x], [y]))


@pytest.mark.parametrize("scale", [1e-3, 7e-4, 3e-4])
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("code", ["MEAN", "SUM"])
def test_means_and_sums_equal_tflm(code: str, keep: bool, scale: float) -> None:
    model = Int16Builder()
    x = model.activation((2, 5, 6, 3), 1e-3)
    axes = model.constant(np.array([1, 2], np.int32))
    shape = (2, 1, 1, 3) if keep else (2, 3)
    y = model.activation(shape, scale * (1 if code == "MEAN" else 8))
    model.operator(code, [x, axes], [y], keepDims=keep)
    compare(model.build([x], [y]), runs=60)


@pytest.mark.parametrize("bias", ["int64", None])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_transposed_convolutions_equal_tflm(padding: str, stride: int, bias: str | None) -> None:
    model = Int16Builder()
    x = model.activation((1, 4, 4, 3), 1e-3)
    weights = model.random.integers(-127, 128, (5, 3, 3, 3)).astype(np.int8)
    scales = model.random.uniform(0.003, 0.01, 5)
    size = 4 * stride if padding == "SAME" else 3 * stride + 3
    y = model.activation((1, size, size, 5), 0.01)
    operands = [
        model.constant(np.array([1, size, size, 5], np.int32)),
        model.constant(weights, scale=scales, axis=0),
        x,
    ]
    if bias is not None:
        values = model.random.integers(-30000, 30000, 5)
        operands.append(model.tensor([5], bias, data=values, scale=np.float32(1e-3) * scales))
    model.operator("TRANSPOSE_CONV", operands, [y], padding=padding, strideW=stride, strideH=stride)
    compare(model.build([x], [y]), runs=10)


@pytest.mark.parametrize(
    ("code", "shape", "result", "numbers", "options"),
    [
        ("SQUEEZE", (1, 4, 1, 3), (1, 4, 3), (), {"squeezeDims": [2]}),
        ("EXPAND_DIMS", (1, 4), (1, 1, 4), ([1],), {}),
        ("SLICE", (1, 4, 6), (1, 2, 3), ([0, 1, 2], [1, 2, 3]), {}),
        ("STRIDED_SLICE", (1, 4, 6), (1, 2, 3), ([0, 0, 0], [1, 4, 6], [1, 2, 2]), {}),
        ("TRANSPOSE", (1, 4, 6), (1, 6, 4), ([0, 2, 1],), {}),
        ("REVERSE_V2", (1, 4), (1, 4), ([1],), {}),
        ("BROADCAST_TO", (1, 4), (2, 4), ([2, 4],), {}),
    ],
)
def test_more_moves_equal_tflm(code, shape, result, numbers, options) -> None:
    model = Int16Builder()
    x, y = model.activation(shape, 1e-3), model.activation(result, 1e-3)
    operands = [x, *(model.constant(np.array(n, np.int32)) for n in numbers)]
    model.operator(code, operands, [y], **options)
    compare(model.build([x], [y]))


@pytest.mark.parametrize(
    ("code", "x_scale", "scale"),
    [("TANH", 3.0, 1 / 32768), ("LOGISTIC", 1e-3, 1 / 65536), ("SOFTMAX", 6.0, 1 / 32768),
     ("SOFTMAX", 1e-3, 1 / 65536)],
)  # fmt: skip
def test_scales_beyond_the_fixed_point_are_refused(code: str, x_scale: float, scale: float) -> None:
    model = Int16Builder()
    x, y = model.activation((1, 4), x_scale), model.activation((1, 4), scale)
    model.operator(code, [x], [y], **({"beta": 1.0} if code == "SOFTMAX" else {}))
    with raises((UnsupportedOpError, FrontendError)):
        tflite.load(model.build([x], [y]))
