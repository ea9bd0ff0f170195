"""Vectors divided by their lengths, against TensorFlow Lite Micro."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.support.errors import UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder, run_tflm
from support.messages import raises
from support.references.tflite_compare import compare, random_zero_point


def model_of(
    shape: tuple[int, ...], zero_point: int, scale: float = 1 / 128, activation: str = "NONE"
) -> bytes:
    model = TfliteBuilder()
    x = model.tensor(shape, scale=0.1, zero_point=zero_point)
    y = model.tensor(shape, scale=scale, zero_point=0)
    model.operator("L2_NORMALIZATION", [x], [y], fusedActivationFunction=activation)
    return model.build([x], [y])


def check(codes: np.ndarray, zero_point: int) -> None:
    data = model_of(codes.shape, zero_point)
    graph = tflite.load(data).graph
    (found,) = evaluate(graph, {graph.inputs[0].name: codes})
    np.testing.assert_array_equal(found, run_tflm(data, codes)[0])


@pytest.mark.parametrize("seed", range(60))
def test_normalized_vectors_equal_tflm(seed: int) -> None:
    random = np.random.default_rng(seed)
    rank = int(random.integers(1, 5))
    shape = (*(int(n) for n in random.integers(1, 7, rank - 1)), int(random.integers(1, 300)))
    compare(model_of(shape, random_zero_point(random)), seed)


@pytest.mark.parametrize("zero_point", [-128, -1, 0, 5, 127])
def test_every_pair_equals_tflm(zero_point: int) -> None:
    codes = np.arange(-128, 128, dtype=np.int8)
    pairs = np.stack(np.broadcast_arrays(codes[:, np.newaxis], codes), axis=-1)
    check(np.ascontiguousarray(pairs), zero_point)


@pytest.mark.parametrize("length", [1 << n for n in range(2, 16)])
def test_sums_of_every_size_equal_tflm(length: int) -> None:
    random = np.random.default_rng(length)
    for limit in (1, 2, 12, 127):
        codes = random.integers(-limit, limit + 1, (4, length)).astype(np.int8)
        codes[0], codes[1] = 0, limit
        codes[2, 1:] = 0
        check(codes, 0)
        if limit == 127 and length < 1 << 15:
            check(codes, -128)


def test_sums_of_squares_beyond_int32_are_refused() -> None:
    with raises(UnsupportedOpError):
        tflite.load(model_of((1, 32_768), -128))


@pytest.mark.parametrize(
    ("scale", "activation"), [(1 / 64, "NONE"), (1 / 128, "RELU")], ids=["scale", "activation"]
)
def test_other_results_are_refused(scale: float, activation: str) -> None:
    with raises(UnsupportedOpError):
        tflite.load(model_of((1, 4), 0, scale, activation))
