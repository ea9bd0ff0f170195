"""Scales that differ in the last digit, scales of 0, biases at the end of int32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder
from support.messages import raises
from support.references.litert import run_litert
from support.references.tflite_compare import compare

POOL = {"padding": "VALID", "strideH": 2, "strideW": 2, "filterHeight": 2, "filterWidth": 2}
COPIES: dict[str, tuple[Any, ...]] = {
    "AVERAGE_POOL_2D": ((1, 2, 2, 4), [], POOL),
    "DEPTH_TO_SPACE": ((1, 8, 8, 1), [], {"blockSize": 2}),
    "EXPAND_DIMS": ((1, 1, 4, 4, 4), [1], {}),
    "MAX_POOL_2D": ((1, 2, 2, 4), [], {**POOL, "fusedActivationFunction": "RELU6"}),
    "PAD": ((1, 5, 4, 4), [[[0, 0], [0, 1], [0, 0], [0, 0]]], {}),
    "RESHAPE": ((1, 64), [[1, 64]], {}),
    "SLICE": ((1, 2, 4, 4), [[0] * 4, [1, 2, 4, 4]], {}),
    "SQUEEZE": ((4, 4, 4), [], {"squeezeDims": [0]}),
    "STRIDED_SLICE": ((1, 2, 4, 4), [[0] * 4, [1, 2, 4, 4], [1] * 4], {}),
    "TRANSPOSE": ((1, 4, 4, 4), [[0, 2, 3, 1]], {}),
}


def copying(code: str, given: float, made: float, points: tuple[int, int] = (3, 3)) -> bytes:
    """Return an operator that copies, and a sum behind it, which looks at the scale."""
    shape, constants, options = COPIES[code]
    model = TfliteBuilder()
    x = model.tensor((1, 4, 4, 4), scale=given, zero_point=points[0])
    y = model.tensor(shape, scale=made, zero_point=points[1])
    z = model.tensor(shape, scale=0.11, zero_point=-5)
    lists = [model.constant(np.array(c, np.int32)) for c in constants]
    model.operator(code, [x, *lists], [y], **options)
    model.operator("ADD", [y, y], [z])
    return model.build([x], [z])


def recurrent(*, scale: float, behind: str | None = None) -> bytes:
    """Return a recurrent layer with a state of this scale, and an operator that reads the state."""
    model = TfliteBuilder()
    x, y = (model.tensor((1, 4), scale=0.1) for _ in range(2))
    state = model.tensor((1, 4), scale=scale)
    model.graph.tensors[state].isVariable = True
    model.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", [x, state], [y])
    if behind is not None:
        model.operator(behind, [state], [model.tensor((1, 4), scale=0.1)])
    return model.build([x], [y])


def test_a_scale_of_0_that_only_a_recurrent_layer_names_is_no_contradiction() -> None:
    with raises(UnsupportedOpError):
        tflite.load(recurrent(scale=0.0))
    with raises(FrontendError):
        tflite.load(recurrent(scale=-1.0))
    with raises(FrontendError):
        tflite.load(recurrent(scale=0.0, behind="RELU"))


@pytest.mark.parametrize("code", COPIES)
@pytest.mark.parametrize("scale", [0.05, 1.7])
def test_copies_between_scales_that_differ_in_the_last_digit_equal_tflm(
    code: str, scale: float
) -> None:
    near = float(np.nextafter(np.float32(scale), np.float32(9)))
    compare(copying(code, scale, near))
    compare(copying(code, near, scale))


@pytest.mark.parametrize("code", ["RESHAPE", "MAX_POOL_2D"])
@pytest.mark.parametrize(
    ("given", "made", "points"),
    [
        (0.05, 0.051, (3, 3)),
        (0.05, 0.05, (3, 4)),
        (5e-7, 1e-6, (3, 3)),  # within TFLM's tolerance, and half as large
        (20.0, 20.01, (3, 3)),
    ],
)
def test_copies_between_other_scales_are_refused(
    code: str, given: float, made: float, points: tuple[int, int]
) -> None:
    with raises(UnsupportedOpError):
        tflite.load(copying(code, given, made, points))


@pytest.mark.parametrize("code", ["MAXIMUM", "MINIMUM"])
def test_operands_whose_scales_differ_in_the_last_digit_equal_tflm(code: str) -> None:
    model = TfliteBuilder()
    near = np.nextafter(np.float32(0.05), np.float32(9))
    x, y, z = (model.tensor((2, 5), scale=s, zero_point=-3) for s in (0.05, near, near))
    model.operator(code, [x, y], [z])
    compare(model.build([x, y], [z]))


def test_a_last_digit_in_front_of_dequantize_makes_no_difference() -> None:
    model = TfliteBuilder()
    near = float(np.nextafter(np.float32(0.05), np.float32(9)))
    x, y = model.tensor((1, 6), scale=0.05), model.tensor((2, 3), scale=near)
    z = model.tensor((2, 3), "float32")
    model.operator("RESHAPE", [x, model.constant(np.array([2, 3], np.int32))], [y])
    model.operator("DEQUANTIZE", [y], [z])
    data = model.build([x], [z])
    module = tflite.load(data)
    verify(module)
    codes = np.arange(-3, 3, dtype=np.int8).reshape(1, 6)
    (wanted,) = run_litert(data, [codes])
    (found,) = evaluate(module.graph, {module.graph.inputs[0].name: codes})
    np.testing.assert_array_equal(found, wanted[0])


def layer(
    code: str, scales: list[float], weights: np.ndarray, bias: np.ndarray, kind: str = "int8"
) -> bytes:
    """Return a layer of three outputs on four inputs, or depthwise on three channels."""
    model = TfliteBuilder()
    axis = 3 if code == "DEPTHWISE_CONV_2D" else 0
    shape = {"FULLY_CONNECTED": (3, 4), "CONV_2D": (3, 2, 2, 1)}.get(code, (1, 2, 2, 3))
    image = {"FULLY_CONNECTED": (1, 4), "CONV_2D": (1, 3, 3, 1)}.get(code, (1, 3, 3, 3))
    result = (1, 3) if code == "FULLY_CONNECTED" else (1, 2, 2, 3)
    # ``weights`` are those of each output.
    turned = weights.T if code == "DEPTHWISE_CONV_2D" else weights
    quant = {"scale": 0.05, "zero_point": -3} if kind == "int8" else {}
    x = model.tensor(image, kind, **quant)
    w = model.constant(turned.reshape(shape).astype(np.int8), scale=scales, axis=axis)
    b = model.constant(bias.astype(np.int32 if kind == "int8" else np.float32))
    y = model.tensor(result, kind, **({"scale": 0.1, "zero_point": -5} if kind == "int8" else {}))
    options: dict[str, Any] = (
        {} if code == "FULLY_CONNECTED" else {"padding": "VALID", "strideH": 1, "strideW": 1}
    )
    if code == "DEPTHWISE_CONV_2D":
        options["depthMultiplier"] = 1
    model.operator(code, [x, w, b], [y], version=3, **options)
    return model.build([x], [y])


WEIGHTS = np.random.default_rng(7).integers(-127, 128, (3, 4))
LAYERS = ["FULLY_CONNECTED", "CONV_2D", "DEPTHWISE_CONV_2D"]


@pytest.mark.parametrize("code", LAYERS)
@pytest.mark.parametrize("stored", [0, 17])
def test_a_channel_of_scale_0_equals_tflm(code: str, stored: int) -> None:
    weights = WEIGHTS.copy()
    weights[1] = stored
    compare(layer(code, [0.01, 0.0, 0.02], weights, np.array([5, 1000, -7])))


@pytest.mark.parametrize("code", LAYERS)
def test_weights_of_scale_0_beside_float_are_0(code: str) -> None:
    data = layer(code, [0.01, 0.0, 0.02], WEIGHTS, np.array([5, 1.5, -7]), "float32")
    graph = tflite.load(data).graph
    x = np.random.default_rng(1).uniform(-1, 1, graph.inputs[0].type.static_shape)
    (found,) = evaluate(graph, {graph.inputs[0].name: x.astype(np.float32)})
    assert (found[..., 1] == 1.5).all()
    assert (found[..., 0] != 5).any()


@pytest.mark.parametrize("code", LAYERS)
@pytest.mark.parametrize("scale", [1e-12, 1e-9, 0.01])
def test_the_smallest_bias_without_weights_equals_tflm(code: str, scale: float) -> None:
    weights = WEIGHTS.copy()
    weights[1] = 0
    compare(layer(code, [0.01, scale, 0.02], weights, np.array([5, -(2**31), -7])))


def test_the_smallest_bias_with_weights_is_refused() -> None:
    with raises(UnsupportedOpError):
        tflite.load(layer("CONV_2D", [0.01] * 3, WEIGHTS, np.array([5, -(2**31), -7])))


def test_each_row_of_an_embedding_has_its_own_scale_as_in_litert() -> None:
    model = TfliteBuilder()
    indices = model.tensor((4,), "int32")
    table = np.random.default_rng(2).integers(-127, 128, (4, 5)).astype(np.int8)
    rows = model.constant(table, scale=[0.5, 0.01, 2.0, 0.25], axis=0)
    y = model.tensor((4, 5), "float32")
    model.operator("EMBEDDING_LOOKUP", [indices, rows], [y])
    data = model.build([indices], [y])
    graph = tflite.load(data).graph
    x = np.array([3, 0, 1, 2], np.int32)
    (wanted,) = run_litert(data, [x])
    (found,) = evaluate(graph, {graph.inputs[0].name: x})
    np.testing.assert_array_equal(found, wanted[0])
