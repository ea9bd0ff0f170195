"""Operators between element types: TFLite Micro's bits, LiteRT's for casts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from malformed.tflite_floats import sound_ends

from rlx.frontends.tflite import frontend as tflite
from rlx.ir import DType
from rlx.ir.evaluate import evaluate
from rlx.ir.module import Stage
from rlx.ir.verify import verify
from rlx.support.errors import UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder, run_tflm
from support.messages import raises
from support.references.litert import run_litert

SCALES = [(0.5, 3), (0.1, -5), (1 / 255, -128), (3e-5, 7), (1e20, 1), (0.0235, 0)]
RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}


def one(name: str, shape: tuple[int, ...], given: Any, result: Any, **options: Any) -> bytes:
    """Return a model of one operator; element type, scale and zero point of both sides."""
    model = TfliteBuilder()
    x, y = (
        model.tensor(shape, dtype, scale=scale, zero_point=zero_point)
        for dtype, scale, zero_point in (given, result)
    )
    model.operator(name, [x], [y], **options)
    return model.build([x], [y])


def run(data: bytes, *arrays: np.ndarray) -> list[np.ndarray]:
    """Return the outputs of the imported graph."""
    module = tflite.load(data)
    verify(module)
    names = [v.name for v in module.graph.inputs]
    return list(evaluate(module.graph, dict(zip(names, arrays, strict=True))))


def reals(scale: float) -> np.ndarray:
    """Return numbers at, just above and just below halves, and far away; [1, n]."""
    halves = (np.arange(-300, 300, 0.5).astype(np.float32) * np.float32(scale)).astype(np.float32)
    infinite = np.float32(np.inf)
    above, below = np.nextafter(halves, infinite), np.nextafter(halves, -infinite)
    # Beyond 2^31 steps C does not define the conversion; rlx saturates.
    far = np.float32([0.0, -0.0, 1e9, -1e9]) * np.float32(scale)
    return np.concatenate([halves, above, below, far]).astype(np.float32)[None]


@pytest.mark.parametrize(("scale", "zero_point"), SCALES)
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_quantize_equals_tflm(dtype: str, scale: float, zero_point: int) -> None:
    zero_point = 0 if dtype == "int16" else zero_point
    x = reals(scale)
    data = one("QUANTIZE", x.shape, ("float32", None, 0), (dtype, scale, zero_point))
    (found,) = run(data, x)
    (expected,) = run_tflm(data, x)
    np.testing.assert_array_equal(found, expected)
    assert len(np.unique(found)) > 200


def test_quantize_to_uint8_is_that_to_int8_moved_by_128() -> None:
    # TFLite Micro has no such kernel.
    x = reals(0.1)
    wide = one("QUANTIZE", x.shape, ("float32", None, 0), ("uint8", 0.1, 123))
    narrow = one("QUANTIZE", x.shape, ("float32", None, 0), ("int8", 0.1, -5))
    (found,), (expected,) = run(wide, x), run(narrow, x)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found.astype(np.int64), expected.astype(np.int64) + 128)


def test_quantize_saturates_and_takes_nan_for_zero() -> None:
    x = np.float32([[1e30, -1e30, np.inf, -np.inf, np.nan]])
    (found,) = run(one("QUANTIZE", x.shape, ("float32", None, 0), ("int8", 0.5, 3)), x)
    assert found.tolist() == [[127, -128, 127, -128, 3]]


@pytest.mark.parametrize(("scale", "zero_point"), SCALES)
@pytest.mark.parametrize("dtype", RANGES)
def test_dequantize_equals_tflm(dtype: str, scale: float, zero_point: int) -> None:
    low, high = RANGES[dtype]
    zero_point = {"int8": zero_point, "uint8": zero_point + 128, "int16": 0}[dtype]
    x = np.arange(low, high + 1).astype(dtype)[None]
    data = one("DEQUANTIZE", x.shape, (dtype, scale, zero_point), ("float32", None, 0))
    (found,) = run(data, x)
    (expected,) = run_tflm(data, x)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("given", "result"),
    [
        (("int8", 0.3, 4), ("int16", 0.002, 0)),
        (("int16", 0.001, 0), ("int8", 0.17, -3)),
        (("int16", 0.001, 0), ("int16", 0.0007, 0)),
        (("uint8", 0.3, 131), ("int8", 0.3, 3)),
        (("uint8", 0.3, 77), ("int8", 0.21, 3)),
        (("int8", 0.3, 3), ("uint8", 0.3, 131)),
        (("int8", 0.3, 3), ("uint8", 0.4, 100)),
    ],
)
def test_requantize_equals_tflm(given: Any, result: Any) -> None:
    low, high = RANGES[given[0]]
    x = np.arange(low, high + 1).astype(given[0])[None]
    data = one("QUANTIZE", x.shape, given, result)
    (found,) = run(data, x)
    (expected,) = run_tflm(data, x)
    assert found.dtype == np.dtype(result[0])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("edge", ["float32", "uint8", "int16"])
def test_a_network_with_other_types_at_its_ends_equals_tflm(edge: str) -> None:
    data = sound_ends(edge)
    module = tflite.load(data)
    assert module.stage is Stage.MIR
    assert module.reference == tflite.REFERENCE
    ends = {"float32": DType.F32, "uint8": DType.U8, "int16": DType.I16}
    assert module.graph.inputs[0].type.dtype is ends[edge]
    assert module.graph.outputs[0].type.dtype is ends[edge]
    random = np.random.default_rng(6)
    for _ in range(50):
        x = random.uniform(-12, 12, (1, 6)).astype(np.float32)
        if edge != "float32":
            low, high = RANGES[edge]
            x = random.integers(low, high + 1, (1, 6)).astype(edge)
        (found,), (expected,) = run(data, x), run_tflm(data, x)
        np.testing.assert_array_equal(found, expected)


def test_inputs_and_outputs_tell_what_they_stand_for() -> None:
    graph = tflite.load(sound_ends("uint8")).graph
    assert [str(v.type.quant) for v in (*graph.inputs, *graph.outputs)] == [
        f"q({float(np.float32(0.1))!r}, 100)",
        f"q({float(np.float32(0.3))!r}, 133)",
    ]


CASTS = [
    ("float32", "int32"), ("float32", "bool"), ("int32", "float32"), ("bool", "float32"),
    ("int64", "int32"), ("int32", "int64"), ("uint8", "float32"), ("float32", "uint8"),
    ("uint8", "int32"), ("float32", "float64"), ("bool", "int32"), ("int32", "bool"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "result"), CASTS)
def test_cast_equals_litert(given: str, result: str) -> None:
    x = np.arange(-6, 8, 0.5) if result != "uint8" else np.arange(0, 14, 0.5)
    frame = x[None].astype(np.float32).astype(given)
    data = one("CAST", frame.shape, (given, None, 0), (result, None, 0))
    (found,) = run(data, frame)
    expected = run_litert(data, [frame])[0][0]
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_cast_takes_quantized_values_for_numbers_where_they_stand_for_themselves() -> None:
    x = np.arange(-128, 128).astype(np.int8)[None]
    data = one("CAST", x.shape, ("int8", 1.0, 0), ("float32", None, 0))
    (found,) = run(data, x)
    np.testing.assert_array_equal(found, x.astype(np.float32))
    scaled = one("CAST", x.shape, ("int8", 0.5, 0), ("float32", None, 0))
    with raises(UnsupportedOpError):
        tflite.load(scaled)


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_weights_behind_dequantize_are_constants(dtype: str) -> None:
    random = np.random.default_rng(2)
    model = TfliteBuilder()
    x = model.tensor((1, 6), "float32")
    if dtype == "int8":
        stored = random.integers(-127, 128, (4, 6)).astype(np.int8)
        small = model.constant(stored, scale=0.02, zero_point=3)
    else:
        small = model.constant(random.normal(size=(4, 6)).astype(np.float16))
    w, y = model.tensor((4, 6), "float32"), model.tensor((1, 4), "float32")
    zero = model.constant(np.zeros(4, np.float32))
    model.operator("DEQUANTIZE", [small], [w])
    model.operator("FULLY_CONNECTED", [x, w, zero], [y])
    data = model.build([x], [y])
    graph = tflite.load(data).graph
    assert [node.op.name for node in graph.op_nodes] == ["nn.linear"]
    frame = random.normal(size=(1, 6)).astype(np.float32)
    (found,) = evaluate(graph, {graph.inputs[0].name: frame})
    expected = run_litert(data, [frame])[0][0]
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)
