"""Elementwise arithmetic against TensorFlow Lite Micro."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.ops.q import QClamp, QRequantize
from support.files.tflite_builder import TfliteBuilder, run_tflm
from support.references.litert import run_reference
from support.references.tflite_compare import compare, random_codes, random_scale, random_zero_point

FUSED = ("ADD", "SUB", "MUL")
BINARY = (*FUSED, "SQUARED_DIFFERENCE")
ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
SHAPES = (
    ((2, 3, 4, 5), (2, 3, 4, 5)),
    ((1, 3, 4, 5), (1, 1, 1, 5)),
    ((1, 3, 1, 5), (1, 1, 4, 1)),
    ((1, 4, 7), (1, 7)),
    ((6,), (1,)),
    ((3, 1), (3, 8)),
)


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("code", BINARY)
def test_binary_equals_tflm(code: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    first, second = SHAPES[seed % len(SHAPES)]
    model = TfliteBuilder()
    x = model.tensor(first, scale=random_scale(random), zero_point=random_zero_point(random))
    y = model.tensor(second, scale=random_scale(random), zero_point=random_zero_point(random))
    result = model.tensor(
        np.broadcast_shapes(first, second),
        scale=random_scale(random, 1e-2, 1),
        zero_point=random_zero_point(random),
    )
    options = {"fusedActivationFunction": ACTIVATIONS[seed % 4]} if code in FUSED else {}
    model.operator(code, [x, y], [result], **options)
    compare(model.build([x, y], [result]), seed)


@pytest.mark.parametrize("code", BINARY)
def test_binary_with_constant_equals_tflm(code: str) -> None:
    random = np.random.default_rng(7)
    model = TfliteBuilder()
    x = model.tensor((1, 4, 4, 3), scale=0.05, zero_point=-3)
    y = model.constant(random_codes(random, (3,)), scale=0.01, zero_point=9)
    result = model.tensor((1, 4, 4, 3), scale=0.03, zero_point=1)
    model.operator(code, [x, y], [result])
    compare(model.build([x], [result]))


@pytest.mark.parametrize("code", BINARY)
def test_binary_of_one_tensor_equals_tflm(code: str) -> None:
    model = TfliteBuilder()
    x = model.tensor((1, 17), scale=0.05, zero_point=-3)
    result = model.tensor((1, 17), scale=0.07, zero_point=10)
    model.operator(code, [x, x], [result])
    compare(model.build([x], [result]))


@pytest.mark.parametrize("seed", range(12))
def test_quantize_equals_tflm(seed: int) -> None:
    random = np.random.default_rng(seed)
    _check_unary(random, "QUANTIZE", seed, same=False)


@pytest.mark.parametrize("seed", range(12))
def test_relu_equals_tflm(seed: int) -> None:
    random = np.random.default_rng(seed)
    _check_unary(random, "RELU", seed, same=seed % 2 == 0)


@pytest.mark.parametrize("seed", range(12))
def test_relu6_equals_tflm(seed: int) -> None:
    random = np.random.default_rng(seed)
    _check_unary(random, "RELU6", seed, same=True)


def test_relu_of_one_scale_is_a_clamp() -> None:
    for y_scale, wanted in ((0.25, QClamp), (0.5, QRequantize)):
        model = TfliteBuilder()
        x = model.tensor((1, 5), scale=0.25, zero_point=4)
        y = model.tensor((1, 5), scale=y_scale, zero_point=4)
        model.operator("RELU", [x], [y])
        (node,) = tflite.load(model.build([x], [y])).graph.op_nodes
        assert type(node.op) is wanted
        assert node.op.low == 4


def _check_unary(random: np.random.Generator, code: str, seed: int, *, same: bool) -> None:
    model = TfliteBuilder()
    scale, zero_point = random_scale(random), random_zero_point(random)
    x = model.tensor((1, 300), scale=scale, zero_point=zero_point)
    if not same:
        scale, zero_point = random_scale(random), random_zero_point(random)
    y = model.tensor((1, 300), scale=scale, zero_point=zero_point)
    model.operator(code, [x], [y])
    compare(model.build([x], [y]), seed)


@pytest.mark.parametrize("ratio", [1.0, 0.4, 3.0, 30.0, 1 / 300])
@pytest.mark.parametrize("zero_points", [(0, 0, 0), (-128, 127, -128), (3, -70, 15)])
def test_every_squared_difference_equals_tflm(
    ratio: float, zero_points: tuple[int, int, int]
) -> None:
    codes = np.arange(-128, 128, dtype=np.int8)
    x_scale, y_scale = 0.05, float(np.float32(0.05 * ratio))
    for steps in (60.0, 1.0):
        model = TfliteBuilder()
        x = model.tensor((256, 1), scale=x_scale, zero_point=zero_points[0])
        y = model.tensor((1, 256), scale=y_scale, zero_point=zero_points[1])
        scale = float(np.float32(max(x_scale, y_scale) ** 2 * steps))
        result = model.tensor((256, 256), scale=scale, zero_point=zero_points[2])
        model.operator("SQUARED_DIFFERENCE", [x, y], [result])
        data = model.build([x, y], [result])
        graph = tflite.load(data).graph
        names = (value.name for value in graph.inputs)
        inputs = codes.reshape(256, 1), codes.reshape(1, 256)
        (squares,) = evaluate(graph, dict(zip(names, inputs, strict=True)))
        np.testing.assert_array_equal(squares, run_tflm(data, *inputs)[0])


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("code", ["RELU_N1_TO_1", "RELU_0_TO_1"])
def test_clamps_to_1_equal_litert(code: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    codes = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)
    model = TfliteBuilder()
    params = {"scale": random_scale(random), "zero_point": random_zero_point(random)}
    x = model.tensor((1, 256), **params)
    if seed % 2:
        params = {"scale": random_scale(random), "zero_point": random_zero_point(random)}
    y = model.tensor((1, 256), **params)
    model.operator(code, [x], [y])
    data = model.build([x], [y])
    graph = tflite.load(data).graph
    (found,) = evaluate(graph, {graph.inputs[0].name: codes})
    np.testing.assert_array_equal(found, run_reference(data, codes)[0])
