"""Running sums against TensorFlow Lite Micro, and against exact ones where that is wrong."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.support.errors import UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder, run_tflm
from support.messages import raises
from support.references.tflite_compare import compare, random_codes, random_scale, random_zero_point

SHAPES = (
    ((16,), 0),
    ((2, 12), 1),
    ((2, 12), -1),
    ((3, 4, 5), 1),
    ((9, 2, 3), 0),
    ((1, 2, 3, 15), 3),
)


def model_of(
    shape: tuple[int, ...], axis: int, x: tuple[float, int], y: tuple[float, int], **options: bool
) -> bytes:
    model = TfliteBuilder()
    given = model.tensor(shape, scale=x[0], zero_point=x[1])
    made = model.tensor(shape, scale=y[0], zero_point=y[1])
    model.operator("CUMSUM", [given, model.constant(np.array(axis, np.int32))], [made], **options)
    return model.build([given], [made])


@pytest.mark.parametrize("seed", range(48))
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_without_zero_point_equal_tflm(shape: tuple[tuple[int, ...], int], seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random_scale(random)
    options = {"exclusive": bool(seed & 1), "reverse": bool(seed & 2)}
    y = float(np.float32(x * random.uniform(0.5, 10) if seed % 3 else x * 2.0 ** (seed % 7 - 1)))
    compare(model_of(*shape, (x, 0), (y, random_zero_point(random)), **options), seed)


@pytest.mark.parametrize("ratio", [1.0, 2.0, 4.0, 0.5, 3.0, 10.0, 1.6])
@pytest.mark.parametrize("zero_point", [-128, 0, 7])
def test_every_sum_of_16_equals_tflm(ratio: float, zero_point: int) -> None:
    # From -2032 to 2032, each as a row of its own.
    sums = np.arange(-2032, 2033)
    rows = (sums[:, np.newaxis] + np.arange(16)) // 16
    y = float(np.float32(0.1 * ratio))
    data = model_of(rows.shape, 1, (0.1, 0), (y, zero_point), exclusive=False, reverse=False)
    codes = rows.astype(np.int8)
    graph = tflite.load(data).graph
    (found,) = evaluate(graph, {graph.inputs[0].name: codes})
    np.testing.assert_array_equal(found, run_tflm(data, codes)[0])


@pytest.mark.parametrize("count", [5, 200])
@pytest.mark.parametrize("zero_point", [-128, 5, 127])
def test_sums_with_a_zero_point_are_the_nearest(count: int, zero_point: int) -> None:
    random = np.random.default_rng(count)
    x, y = np.float32(0.1), np.float32(0.73)
    data = model_of((4, count), 1, (float(x), zero_point), (float(y), -9))
    graph = tflite.load(data).graph
    codes = random_codes(random, (4, count))
    codes[0] = zero_point
    (found,) = evaluate(graph, {graph.inputs[0].name: codes})
    factor = Fraction(float(x)) / Fraction(float(y))
    sums = np.cumsum(codes.astype(np.int64) - zero_point, axis=1)
    exact = [[_nearest(factor * int(s)) - 9 for s in row] for row in sums]
    np.testing.assert_array_equal(found, np.clip(exact, -128, 127))


def _nearest(real: Fraction) -> int:
    rounded = int(abs(real) + Fraction(1, 2))
    return rounded if real >= 0 else -rounded


def test_long_axes_are_refused() -> None:
    with raises(UnsupportedOpError):
        tflite.load(model_of((1, 257), 1, (0.1, 0), (0.1, 0)))
