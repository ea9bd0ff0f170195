"""Elementwise arithmetic against TensorFlow Lite Micro."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ops.q import QClamp, QRequantize
from support.files.tflite_builder import TfliteBuilder
from support.references.tflite_compare import compare, random_codes, random_scale, random_zero_point

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
@pytest.mark.parametrize("code", ["ADD", "SUB", "MUL"])
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
    model.operator(code, [x, y], [result], fusedActivationFunction=ACTIVATIONS[seed % 4])
    compare(model.build([x, y], [result]), seed)


@pytest.mark.parametrize("code", ["ADD", "SUB", "MUL"])
def test_binary_with_constant_equals_tflm(code: str) -> None:
    random = np.random.default_rng(7)
    model = TfliteBuilder()
    x = model.tensor((1, 4, 4, 3), scale=0.05, zero_point=-3)
    y = model.constant(random_codes(random, (3,)), scale=0.01, zero_point=9)
    result = model.tensor((1, 4, 4, 3), scale=0.03, zero_point=1)
    model.operator(code, [x, y], [result])
    compare(model.build([x], [result]))


@pytest.mark.parametrize("code", ["ADD", "SUB", "MUL"])
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
