"""uint8 models: each operator as LiteRT computes it, stored as int8 inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ir import DType
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.support.errors import UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder
from support.messages import raises
from support.references.litert import run_reference

IMAGE = (1, 6, 6, 4)
WINDOW = {"padding": "SAME", "strideH": 1, "strideW": 1}
POOL = {"padding": "SAME", "strideH": 2, "strideW": 2, "filterHeight": 2, "filterWidth": 2}
WHOLE = {"padding": "VALID", "strideH": 3, "strideW": 3, "filterHeight": 3, "filterWidth": 3}
ROW = (1, 256)


def weights(*shape: int, low: int = 0, high: int = 255) -> tuple[np.ndarray, dict[str, Any]]:
    """Return weights around the zero point 121."""
    stored = np.random.default_rng(1).integers(low, high, shape).astype(np.uint8)
    return stored, {"scale": 0.02, "zero_point": 121}


def bias(count: int) -> tuple[np.ndarray, dict[str, Any]]:
    return np.random.default_rng(2).integers(-300, 300, count).astype(np.int32), {}


def whole(*numbers: Any) -> tuple[np.ndarray, dict[str, Any]]:
    return np.array(numbers, np.int32), {}


def one(
    name: str,
    shape: tuple[int, ...] = IMAGE,
    out: tuple[int, ...] = IMAGE,
    *constants: tuple[np.ndarray, dict[str, Any]],
    result: tuple[float, int] = (0.13, 90),
    given: tuple[float, int] = (0.1, 100),
    count: int = 1,
    **options: Any,
) -> bytes:
    """Return a model of one operator on uint8, with ``count`` inputs of rising scales."""
    model = TfliteBuilder()
    inputs = [
        model.tensor(shape, "uint8", scale=given[0] * (1 + 0.3 * i), zero_point=given[1] + 7 * i)
        for i in range(count)
    ]
    places = [*inputs, *(model.constant(array, **quant) for array, quant in constants)]
    y = model.tensor(out, "uint8", scale=result[0], zero_point=result[1])
    model.operator(name, places, [y], **options)
    return model.build(inputs, [y])


MODELS = {
    "ADD": one("ADD", count=2, result=(0.2, 110)),
    "AVERAGE_POOL_2D": one("AVERAGE_POOL_2D", IMAGE, (1, 2, 2, 4), result=(0.1, 100), **WHOLE),
    "CONV_2D": one(
        "CONV_2D", IMAGE, (1, 6, 6, 5), weights(5, 3, 3, 4, low=0, high=248), bias(5),
        result=(0.3, 90), **WINDOW,
    ),
    "DEPTHWISE_CONV_2D": one(
        "DEPTHWISE_CONV_2D", IMAGE, IMAGE, weights(1, 3, 3, 4, low=0, high=248), bias(4),
        result=(0.3, 90), depthMultiplier=1, fusedActivationFunction="RELU6", **WINDOW,
    ),
    "HARD_SWISH": one("HARD_SWISH", ROW, ROW, given=(0.05, 100), result=(0.03, 20)),
    "LEAKY_RELU": one("LEAKY_RELU", ROW, ROW, result=(0.08, 50), alpha=0.1),
    "LOGISTIC": one("LOGISTIC", ROW, ROW, given=(0.05, 100), result=(1 / 256, 0)),
    "MAX_POOL_2D": one("MAX_POOL_2D", IMAGE, (1, 3, 3, 4), result=(0.1, 100), **POOL),
    "MEAN": one("MEAN", IMAGE, (1, 4), whole(1, 2), result=(0.07, 120)),
    "MUL": one("MUL", count=2, result=(1.2, 110)),
    "PAD": one("PAD", (2, 3), (4, 4), whole([1, 1], [1, 0]), result=(0.1, 100)),
    "PRELU": one("PRELU", IMAGE, IMAGE, weights(1, 1, 4)),
    "RELU": one("RELU"),
    "RELU6": one("RELU6", result=(0.1, 100)),
    "SOFTMAX": one("SOFTMAX", (8, 12), (8, 12), result=(1 / 256, 0), beta=1.0),
    "SUB": one("SUB", count=2, result=(0.2, 110)),
    "TANH": one("TANH", ROW, ROW, given=(0.05, 100), result=(1 / 128, 128)),
    "TRANSPOSE": one("TRANSPOSE", (2, 3), (3, 2), whole(1, 0), result=(0.1, 100)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_equals_litert(name: str) -> None:
    module = tflite.load(MODELS[name])
    verify(module)
    assert module.reference == tflite.UINT8_REFERENCE
    graph = module.graph
    assert {v.type.dtype for v in (*graph.inputs, *graph.outputs)} == {DType.U8}
    random = np.random.default_rng(4)
    for _ in range(40):
        arrays = [random.integers(0, 256, v.type.static_shape).astype(np.uint8)
                  for v in graph.inputs]  # fmt: skip
        if arrays[0].shape == ROW:
            arrays = [np.arange(256).astype(np.uint8)[None]]
        names = [v.name for v in graph.inputs]
        (found,) = evaluate(graph, dict(zip(names, arrays, strict=True)))
        (expected,) = run_reference(MODELS[name], *arrays)
        np.testing.assert_array_equal(found, expected)


def test_means_that_round_in_another_way_are_refused() -> None:
    options = {**WHOLE, "padding": "SAME", "strideH": 1}
    data = one("AVERAGE_POOL_2D", IMAGE, (1, 6, 2, 4), result=(0.1, 100), **options)
    with raises(UnsupportedOpError):
        tflite.load(data)


def test_float_ends_of_a_uint8_model() -> None:
    model = TfliteBuilder()
    x = model.tensor((1, 4), "float32")
    a = model.tensor((1, 4), "uint8", scale=0.1, zero_point=100)
    b = model.tensor((1, 4), "uint8", scale=0.1, zero_point=100)
    y = model.tensor((1, 4), "float32")
    model.operator("QUANTIZE", [x], [a])
    model.operator("RELU6", [a], [b])
    model.operator("DEQUANTIZE", [b], [y])
    graph = tflite.load(model.build([x], [y])).graph
    assert [n.op.name for n in graph.op_nodes] == ["real.quantize", "q.clamp", "real.dequantize"]
    frame = np.float32([[-3.0, 0.25, 5.96, 9.0]])
    (found,) = evaluate(graph, {graph.inputs[0].name: frame})
    np.testing.assert_allclose(found, [[0.0, 0.3, 6.0, 6.0]], rtol=1e-6)
