"""Functions of one code and softmax against TensorFlow Lite Micro, on all 256 codes."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.ops.q import QTable
from support.files.tflite_builder import TfliteBuilder, run_tflm
from support.references.tflite_compare import compare, random_scale, random_zero_point

CODES = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)


def check(data: bytes) -> None:
    """Compare all 256 codes."""
    graph = tflite.load(data).graph
    (node,) = graph.op_nodes
    assert isinstance(node.op, QTable)
    (found,) = evaluate(graph, {graph.inputs[0].name: CODES})
    np.testing.assert_array_equal(found, run_tflm(data, CODES)[0])


def unary(code: str, x: tuple[float, int], y: tuple[float, int], **options: object) -> bytes:
    model = TfliteBuilder()
    given = model.tensor((1, 256), scale=x[0], zero_point=x[1])
    made = model.tensor((1, 256), scale=y[0], zero_point=y[1])
    model.operator(code, [given], [made], **options)
    return model.build([given], [made])


@pytest.mark.parametrize(("code", "y"), [("LOGISTIC", (1 / 256, -128)), ("TANH", (1 / 128, 0))])
def test_sigmoids_equal_tflm(code: str, y: tuple[float, int]) -> None:
    random = np.random.default_rng(0)
    for _ in range(60):
        x = random_scale(random, 1e-4, 4), random_zero_point(random)
        check(unary(code, x, y))


@pytest.mark.parametrize("scale", [2.0**-27, 1e-6, 2.0, 3.9, 4.0, 7.5, 8.0, 15.0, 16.0, 1000.0])
@pytest.mark.parametrize(("code", "y"), [("LOGISTIC", (1 / 256, -128)), ("TANH", (1 / 128, 0))])
def test_sigmoids_of_extreme_scales_equal_tflm(
    code: str, y: tuple[float, int], scale: float
) -> None:
    for zero_point in (-128, 0, 127):
        check(unary(code, (scale, zero_point), y))


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.1, 0.3, 1.0, 1.5])
def test_leaky_relu_equals_tflm(alpha: float) -> None:
    random = np.random.default_rng(1)
    for _ in range(10):
        x = random_scale(random), random_zero_point(random)
        y = random_scale(random), random_zero_point(random)
        check(unary("LEAKY_RELU", x, y, alpha=alpha))


def test_hard_swish_equals_tflm() -> None:
    random = np.random.default_rng(2)
    for _ in range(60):
        x = random_scale(random, 1e-4, 1), random_zero_point(random)
        y = random_scale(random, x[0] / 64, x[0] * 100), random_zero_point(random)
        check(unary("HARD_SWISH", x, y))


def softmax(shape: tuple[int, ...], scale: float, zero_point: int, beta: float) -> bytes:
    model = TfliteBuilder()
    x = model.tensor(shape, scale=scale, zero_point=zero_point)
    y = model.tensor(shape, scale=1 / 256, zero_point=-128)
    model.operator("SOFTMAX", [x], [y], beta=beta)
    return model.build([x], [y])


@pytest.mark.parametrize("shape", [(1, 12), (5, 2), (1, 300), (2, 3, 7), (1, 2, 3, 10), (1, 1)])
def test_softmax_equals_tflm(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(len(shape))
    for seed in range(8):
        scale, beta = random_scale(random, 1e-3, 1), float(random.choice([1.0, 0.5, 2.0, 0.1]))
        compare(softmax(shape, scale, random_zero_point(random), beta), seed, runs=4)


@pytest.mark.parametrize("scale", [1e-7, 1e-5, 7.9, 8.0, 15.9, 16.0, 31.0, 33.0, 1e6])
def test_softmax_of_extreme_scales_equals_tflm(scale: float) -> None:
    compare(softmax((8, 20), scale, 0, 1.0), runs=8)
