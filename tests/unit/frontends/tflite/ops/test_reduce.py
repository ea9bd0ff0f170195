"""Reductions against TensorFlow Lite Micro."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.support.errors import UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder, run_tflm
from support.messages import raises
from support.references.tflite_compare import compare, random_scale, random_zero_point

AXES = ([1, 2], [2, 1], [1], [2], [3], [-1], [0, 1], [1, 3], [-2, -3], [1, 1])


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("code", ["MEAN", "SUM"])
def test_mean_and_sum_equal_tflm(code: str, axes: list[int], keep: bool) -> None:
    random = np.random.default_rng(len(axes))
    for seed in range(6):
        shape = tuple(int(n) for n in random.integers(1, 10, 4))
        codes = {"scale": random_scale(random), "zero_point": random_zero_point(random)}
        other = {"scale": random_scale(random), "zero_point": random_zero_point(random)}
        if code == "SUM":
            other["scale"] = float(np.float32(codes["scale"] * random.uniform(1, 40)))
        dropped = tuple({a % 4 for a in axes})
        model = TfliteBuilder()
        x = model.tensor(shape, **codes)
        out = np.zeros(shape).mean(axis=dropped, keepdims=keep).shape
        y = model.tensor(out, **(codes if seed % 2 else other))
        model.operator(code, [x, model.constant(np.array(axes, np.int32))], [y], keepDims=keep)
        compare(model.build([x], [y]), seed)


def test_mean_of_a_scalar_axis_equals_tflm() -> None:
    model = TfliteBuilder()
    x = model.tensor((1, 9, 3), scale=0.5, zero_point=1)
    y = model.tensor((1, 3), scale=0.25, zero_point=-1)
    model.operator("MEAN", [x, model.constant(np.int32(1))], [y], keepDims=False)
    compare(model.build([x], [y]))


@pytest.mark.parametrize("code", ["REDUCE_MAX", "REDUCE_MIN"])
@pytest.mark.parametrize("axes", [*AXES, [0, 2], [0, 1, 2, 3], [1, 2, 3]], ids=str)
def test_extremes_equal_tflm(axes: list[int], code: str) -> None:
    random = np.random.default_rng(len(axes))
    for seed in range(6):
        shape = tuple(int(n) for n in random.integers(1, 10, 4))
        codes = {"scale": random_scale(random), "zero_point": random_zero_point(random)}
        keep = bool(seed % 2) or len({a % 4 for a in axes}) == 4
        model = TfliteBuilder()
        x = model.tensor(shape, **codes)
        out = np.zeros(shape).max(axis=tuple({a % 4 for a in axes}), keepdims=keep).shape
        y = model.tensor(out, **codes)
        model.operator(code, [x, model.constant(np.array(axes, np.int32))], [y], keepDims=keep)
        compare(model.build([x], [y]), seed)


@pytest.mark.parametrize("code", ["REDUCE_MAX", "REDUCE_MIN"])
def test_extremes_of_other_scales_are_refused(code: str) -> None:
    model = TfliteBuilder()
    x = model.tensor((2, 3), scale=0.5, zero_point=3)
    y = model.tensor((2,), scale=0.25, zero_point=3)
    model.operator(code, [x, model.constant(np.array([1], np.int32))], [y])
    with raises(UnsupportedOpError):
        tflite.load(model.build([x], [y]))


@pytest.mark.parametrize("code", ["ARG_MAX", "ARG_MIN"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_arg_max_and_arg_min_equal_tflm(axis: int, code: str) -> None:
    for seed, shape in enumerate([(4, 5, 6), (1, 12, 1), (2, 1, 300)]):
        model = TfliteBuilder()
        x = model.tensor(shape, scale=0.5, zero_point=3)
        out = tuple(n for a, n in enumerate(shape) if a != axis % 3)
        y = model.tensor(out, "int32")
        model.operator(code, [x, model.constant(np.array([axis], np.int32))], [y], outputType=2)
        compare(model.build([x], [y]), seed)


@pytest.mark.parametrize("ratio", [0.01, 0.125, 0.4, 1.0, 2.5, 100.0])
def test_every_sum_of_two_values_equals_tflm(ratio: float) -> None:
    codes = np.arange(-128, 128, dtype=np.int8)
    pairs = np.stack(np.meshgrid(codes, codes), axis=-1).reshape(-1, 2)
    for zero_point in (-128, 3):
        model = TfliteBuilder()
        x = model.tensor(pairs.shape, scale=0.1, zero_point=zero_point)
        y = model.tensor((len(pairs),), scale=float(np.float32(0.1 / ratio)), zero_point=-7)
        model.operator("SUM", [x, model.constant(np.array([1], np.int32))], [y], keepDims=False)
        data = model.build([x], [y])
        graph = tflite.load(data).graph
        (sums,) = evaluate(graph, {graph.inputs[0].name: pairs})
        np.testing.assert_array_equal(sums, run_tflm(data, pairs)[0])
