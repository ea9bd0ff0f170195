"""Transposed convolutions on int8 against TensorFlow Lite Micro."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.support.errors import FrontendError
from rlx.support.limits import Limits
from support.files.tflite_builder import TfliteBuilder
from support.messages import raises
from support.references.tflite_compare import compare, random_codes, random_scale, random_zero_point

ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
Pair = tuple[int, int]


def transposed(
    seed: int,
    size: Pair,
    kernel: Pair,
    stride: Pair,
    padding: str,
    result: Pair | None = None,
    batch: int = 1,
) -> bytes:
    """Return a random model; ``result`` is the whole output unless it is given."""
    random = np.random.default_rng(seed)
    inner, outputs = (int(n) for n in random.integers(1, 6, 2))
    model = TfliteBuilder()
    x = model.tensor(
        (batch, *size, inner), scale=random_scale(random), zero_point=random_zero_point(random)
    )
    if result is None:
        sides = list(zip(size, kernel, stride, strict=True))
        result = tuple(n * s if padding == "SAME" else (n - 1) * s + max(k, s) for n, k, s in sides)
    shape = (batch, *result, outputs)
    per_channel = bool(random.integers(2))
    scales = [random_scale(random) for _ in range(outputs)] if per_channel else random_scale(random)
    weights = model.constant(random_codes(random, (outputs, *kernel, inner)), scale=scales)
    operands = [model.constant(np.array(shape, np.int32)), weights, x]
    if random.random() < 0.7:
        bias = random.integers(-5000, 5000, outputs).astype(np.int32)
        operands.append(model.constant(bias, scale=scales))
    y = model.tensor(
        shape, scale=random_scale(random, 0.05, 5), zero_point=random_zero_point(random)
    )
    model.operator(
        "TRANSPOSE_CONV", operands, [y], version=3, padding=padding, strideH=stride[0],
        strideW=stride[1], fusedActivationFunction=ACTIVATIONS[seed % 4],
    )  # fmt: skip
    return model.build([x], [y])


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_equals_tflm(kernel: int, stride: int, padding: str) -> None:
    for seed in range(4):
        compare(transposed(seed, (3, 4), (kernel, kernel), (stride, stride), padding), seed)


@pytest.mark.parametrize("seed", range(60))
def test_random_windows_and_results_equal_tflm(seed: int) -> None:
    random = np.random.default_rng(100 + seed)
    size, kernel, stride = (
        tuple(int(n) for n in random.integers(1, most, 2)) for most in (6, 6, 4)
    )
    # Results that leave inputs out, and ones that no input reaches.
    result = tuple(int(n) for n in random.integers(1, 18, 2))
    padding = str(random.choice(["SAME", "VALID"]))
    compare(transposed(seed, size, kernel, stride, padding, result, batch=1 + seed % 2), seed)


def ops(data: bytes) -> list[str]:
    return [node.op.name for node in tflite.load(data).graph.op_nodes]


def test_becomes_a_convolution_and_squares() -> None:
    data = transposed(0, (4, 4), (2, 2), (2, 2), "SAME")
    assert ops(data) == ["q.conv2d", "q.reshape", "q.transpose", "q.reshape"]


def test_stride_1_is_a_convolution() -> None:
    assert ops(transposed(0, (4, 4), (3, 3), (1, 1), "SAME")) == ["q.conv2d"]


def test_channels_that_the_weights_do_not_have_are_refused() -> None:
    model = TfliteBuilder()
    x = model.tensor((1, 2, 2, 3), scale=0.5)
    weights = model.constant(np.ones((1, 2, 2, 4), np.int8), scale=0.5)
    y = model.tensor((1, 4, 4, 1), scale=0.5)
    shape = model.constant(np.array([1, 4, 4, 1], np.int32))
    model.operator("TRANSPOSE_CONV", [shape, weights, x], [y], strideH=2, strideW=2)
    with raises(FrontendError):
        tflite.load(model.build([x], [y]))


def test_weights_of_endless_phases_are_refused() -> None:
    data = transposed(0, (1, 1), (1, 1), (999, 999), "SAME", (2, 2))
    with raises(FrontendError):
        tflite.load(data, limits=Limits(elements=1000))
