"""Quotients of all pairs against TensorFlow Lite Micro, where its shifts are defined."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.support.errors import UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder, run_tflm
from support.messages import raises
from support.references.tflite_compare import random_scale, random_zero_point

CODES = np.arange(-128, 128, dtype=np.int8)
PAIRS = CODES.reshape(256, 1), CODES.reshape(1, 256)


def model_of(
    scales: tuple[float, float, float], points: tuple[int, int, int], activation: str = "NONE"
) -> bytes:
    model = TfliteBuilder()
    x, y, z = (
        model.tensor(shape, scale=s, zero_point=p)
        for shape, s, p in zip(((256, 1), (1, 256), (256, 256)), scales, points, strict=True)
    )
    model.operator("DIV", [x, y], [z], fusedActivationFunction=activation)
    return model.build([x, y], [z])


def check(
    scales: tuple[float, float, float], points: tuple[int, int, int], activation: str = "NONE"
) -> None:
    data = model_of(scales, points, activation)
    graph = tflite.load(data).graph
    (op,) = (node.op for node in graph.op_nodes)
    (found,) = evaluate(graph, dict(zip((v.name for v in graph.inputs), PAIRS, strict=True)))
    (expected,) = run_tflm(data, *PAIRS)
    x, y = PAIRS[0].astype(int) - points[0], PAIRS[1].astype(int) - points[1]
    x, y = np.broadcast_arrays(x, y)
    magnitude = np.abs(x) * scales[0] / (np.maximum(np.abs(y), 1) * scales[1]) / scales[2]
    is_defined = (y != 0) & (magnitude >= 0.5)
    np.testing.assert_array_equal(found[is_defined], expected[is_defined])
    zero = min(max(points[2], op.low), op.high)
    assert (found[(y != 0) & (magnitude < 0.4999)] == zero).all()
    ends = np.select([x > 0, x < 0], [op.high, op.low], zero)
    assert (found[y == 0] == ends[y == 0]).all()


@pytest.mark.parametrize("seed", range(60))
def test_quotients_equal_tflm(seed: int) -> None:
    random = np.random.default_rng(seed)
    x, y = random_scale(random, 1e-2), random_scale(random, 1e-2)
    result = float(np.float32(x / y * np.exp(random.uniform(-6, 4))))
    points = tuple(random_zero_point(random) for _ in range(3))
    check((x, y, result), points, ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"][seed % 4])


@pytest.mark.parametrize("divides", [False, True])
@pytest.mark.parametrize("code", [-128, -3, 0, 77, 127])
def test_quotients_with_a_constant_are_tables(divides: bool, code: int) -> None:
    x, y = {"scale": 0.1, "zero_point": 3}, {"scale": 0.07, "zero_point": -20}
    model = TfliteBuilder()
    given = model.tensor((1, 256), **(y if divides else x))
    constant = model.constant(np.array([code], np.int8), **(x if divides else y))
    z = model.tensor((1, 256), scale=0.02, zero_point=-1)
    model.operator("DIV", [constant, given] if divides else [given, constant], [z])
    graph = tflite.load(model.build([given], [z])).graph
    assert [node.op.name for node in graph.op_nodes] == ["q.table"]
    (found,) = evaluate(graph, {graph.inputs[0].name: CODES.reshape(1, 256)})
    pairs = tflite.load(
        model_of((0.1, float(np.float32(0.07)), float(np.float32(0.02))), (3, -20, -1))
    )
    (expected,) = evaluate(
        pairs.graph, dict(zip((v.name for v in pairs.graph.inputs), PAIRS, strict=True))
    )
    row = expected[code + 128] if divides else expected[:, code + 128]
    np.testing.assert_array_equal(found[0], row)


@pytest.mark.parametrize("result", [1.0, 0.5, 2.0, 1 / 128, 1 / 3])
def test_halves_equal_tflm(result: float) -> None:
    check((0.5, 0.5, result), (0, 0, 0))


def test_factors_beyond_the_fixed_point_are_refused() -> None:
    with raises(UnsupportedOpError):
        tflite.load(model_of((1e6, 1e-3, 1.0), (0, 0, 0)))
