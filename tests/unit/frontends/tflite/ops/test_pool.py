"""Pooling against TensorFlow Lite Micro."""

from __future__ import annotations

import numpy as np
import pytest

from support.files.tflite_builder import TfliteBuilder
from support.references.tflite_compare import compare, random_scale, random_zero_point

ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("code", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_pool_equals_tflm(code: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    size = random.integers(1, 12, 2)
    stride = random.integers(1, 4, 2)
    padding = ("SAME", "VALID")[seed % 2]
    kernel = np.minimum(random.integers(1, 6, 2), size if padding == "VALID" else 99)
    out = -(-size // stride) if padding == "SAME" else (size - kernel) // stride + 1
    batch, channels = (int(n) for n in random.integers(1, 6, 2))
    codes = {"scale": random_scale(random), "zero_point": random_zero_point(random)}
    model = TfliteBuilder()
    x = model.tensor((batch, *size, channels), **codes)
    y = model.tensor((batch, *out, channels), **codes)
    model.operator(
        code, [x], [y], padding=padding, strideH=int(stride[0]), strideW=int(stride[1]),
        filterHeight=int(kernel[0]), filterWidth=int(kernel[1]),
        fusedActivationFunction=ACTIVATIONS[seed % 4],
    )  # fmt: skip
    compare(model.build([x], [y]), seed)
