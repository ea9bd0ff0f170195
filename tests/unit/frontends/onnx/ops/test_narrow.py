"""Integers and floats of less than 8 bits: what ONNX Runtime computes, stored as narrow."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto

from rlx.ir import DType
from rlx.passes.quantize import convert
from support.files.onnx_builder import by_runtime, helper, load, model, node, onnx, run

X = np.float32([-900, -7, -1.5, -0.5, 0, 0.5, 1.5, 2.4, 3, 5.5, 14.4, 15.6, 16, 100, 1e9])
TYPES = {"UINT4": (21, 0, 15), "INT4": (21, -8, 7), "UINT2": (25, 0, 3), "INT2": (25, -2, 1)}


def with_tensors(nodes, inputs, tensors, *, opset):
    """Return a model with tensors of any element type."""
    data = model(nodes, inputs, {"y": None}, opset=opset)
    made = onnx.load_model_from_string(data)
    made.graph.initializer.extend(tensors)
    return made.SerializeToString()


def quantized_and_back(kind, opset, how, point):
    number = getattr(TensorProto, kind)
    zero = helper.make_tensor("z", number, [], [point])
    quantize, tensors, nodes = node("QuantizeLinear", "x s z", "q"), [zero], []
    if how == "constant":
        tensors, nodes = [], [helper.make_node("Constant", [], ["z"], value=zero)]
    if how == "attribute":
        quantize = node("QuantizeLinear", "x s", "q", output_dtype=number)
        tensors = [helper.make_tensor("z", number, [], [0])]
    scale = helper.make_tensor("s", 1, [], [1.0])
    nodes += [quantize, node("DequantizeLinear", "q s z", "y")]
    return with_tensors(nodes, {"x": [len(X)]}, [scale, *tensors], opset=opset)


@pytest.mark.parametrize("how", ["tensor", "constant", "attribute"])
@pytest.mark.parametrize("kind", TYPES)
def test_quantized_values_keep_within_their_type(kind, how):
    opset, low, high = TYPES[kind]
    point = 0 if how == "attribute" else 1
    data = quantized_and_back(kind, opset, how, point)
    (found,) = run(data, X)
    assert np.array_equal(found, by_runtime(data, X)[0])
    assert (found.min(), found.max()) == (low - point, high - point)


def layer_of(tensors, nodes, *, opset=21, kind=np.float32):
    nodes = [node("QuantizeLinear", "x a b", "q"), node("DequantizeLinear", "q a b", "d"), *nodes,
             node("MatMul", "d v", "m"), node("QuantizeLinear", "m e b", "p"),
             node("DequantizeLinear", "p e b", "y")]  # fmt: skip
    ends = {"a": np.float32(0.05), "b": np.int8(0), "e": np.float32(0.5)}
    plain = [onnx.numpy_helper.from_array(v, n) for n, v in ends.items()]
    return with_tensors(nodes, {"x": [1, 6]}, [*plain, *tensors], opset=opset)


def weights_of(data):
    made = convert(load(data), {}).graph
    (layer,) = (n for n in made.op_nodes if n.op.name == "q.dense")
    return layer.operands[1].type


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(("low", "high", "dtype"), [
    (-7, 7, DType.I4), (-8, 7, DType.I4), (-1, 1, DType.I2), (-2, 1, DType.I2),
    (-127, 127, DType.I8), (-8, 8, DType.I8),
])  # fmt: skip
def test_a_clip_of_weights_says_their_bits(low, high, dtype, stored):
    w = np.random.default_rng(1).standard_normal((6, 4)).astype(np.float32)
    arrays = {"w": w, "s": np.float32(0.1), "z": np.int8(0), "l": np.int8(low), "h": np.int8(high)}
    nodes = [node("QuantizeLinear", "w s z", "c"), node("Clip", "c l h", "n"),
             node("DequantizeLinear", "n s z", "v")]  # fmt: skip
    if stored:
        arrays["c"], nodes = np.clip(np.rint(arrays.pop("w") * 10), -128, 127).astype(np.int8), (
            nodes[1:]
        )  # fmt: skip
    data = layer_of([onnx.numpy_helper.from_array(a, n) for n, a in arrays.items()], nodes)
    assert weights_of(data).dtype is dtype
    x = np.linspace(-1, 1, 6, dtype=np.float32)[None]
    assert np.allclose(run(data, x)[0], by_runtime(data, x)[0])


@pytest.mark.parametrize(("kind", "point", "dtype"), [
    ("UINT4", 8, DType.I4), ("UINT4", 7, DType.I8), ("UINT4", 0, DType.I8), ("INT4", 0, DType.I4),
    ("UINT2", 2, DType.I2), ("INT2", 0, DType.I2),
])  # fmt: skip
def test_weights_of_few_bits_stay_so(kind, point, dtype):
    number, (opset, low, high) = getattr(TensorProto, kind), TYPES[kind]
    values = np.random.default_rng(2).integers(low, high + 1, 24)
    tensors = [helper.make_tensor("w", number, [6, 4], values.tolist()),
               helper.make_tensor("z", number, [], [point]),
               helper.make_tensor("s", 1, [], [0.125])]  # fmt: skip
    data = layer_of(tensors, [node("DequantizeLinear", "w s z", "v")], opset=opset)
    assert weights_of(data).dtype is dtype
    x = np.linspace(-1, 1, 6, dtype=np.float32)[None]
    assert np.array_equal(run(data, x)[0], by_runtime(data, x)[0])


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize(("kind", "type_"), [
    ("FLOAT4E2M1", ml_dtypes.float4_e2m1fn), ("FLOAT6E2M3", ml_dtypes.float6_e2m3fn),
    ("FLOAT6E3M2", ml_dtypes.float6_e3m2fn),
])  # fmt: skip
def test_floats_of_few_bits_are_read(kind, type_, raw):
    count = 16 if kind == "FLOAT4E2M1" else 64
    every = np.arange(count, dtype=np.uint8).view(type_)
    tensor = onnx.numpy_helper.from_array(every, "w")
    if not raw:
        tensor = helper.make_tensor("w", getattr(TensorProto, kind), [count], every.tolist())
    scale = helper.make_tensor("s", 1, [], [0.5])
    nodes = [node("DequantizeLinear", "w s", "v"), node("Add", "x v", "y")]
    data = with_tensors(nodes, {"x": [count]}, [tensor, scale], opset=23)
    (found,) = run(data, np.zeros(count, np.float32))
    assert np.array_equal(found, every.astype(np.float32) / 2)


@pytest.mark.parametrize(("kind", "type_"), [
    ("FLOAT8E4M3FN", ml_dtypes.float8_e4m3fn), ("FLOAT8E5M2", ml_dtypes.float8_e5m2),
])  # fmt: skip
def test_quantized_floats(kind, type_):
    zero = helper.make_tensor("z", getattr(TensorProto, kind), [], [0.0])
    scale = helper.make_tensor("s", 1, [], [2.0])
    nodes = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "y")]
    data = with_tensors(nodes, {"x": [len(X)]}, [scale, zero], opset=21)
    largest = float(ml_dtypes.finfo(type_).max)
    expected = np.clip(X / 2, -largest, largest).astype(type_).astype(np.float32) * 2
    assert np.array_equal(run(data, X)[0], expected)
    assert np.array_equal(by_runtime(data, X)[0], expected)


def test_scales_in_blocks_keep_within_the_type():
    zero = helper.make_tensor("z", TensorProto.UINT4, [2], [1, 3])
    scale = helper.make_tensor("s", 1, [2], [1.0, 0.5])
    names = {"axis": 0, "block_size": 3}
    nodes = [node("QuantizeLinear", "x s z", "q", **names),
             node("DequantizeLinear", "q s z", "y", **names)]  # fmt: skip
    data = with_tensors(nodes, {"x": [6]}, [scale, zero], opset=21)
    x = np.float32([-5, 3, 100, -5, 3, 100])
    assert run(data, x)[0].tolist() == by_runtime(data, x)[0].tolist() == [-1, 3, 14, -1.5, 3, 6]
