"""Constants that are sparse, packed, in blocks or behind the flatbuffer: the same as plain ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import rlx
from rlx.frontends.tflite import frontend as tflite
from rlx.ir import DType
from rlx.ir.evaluate import evaluate
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder, pack, schema, unpack
from support.messages import raises
from support.references.litert import run_litert
from support.references.tflite_compare import compare

RANDOM = np.random.default_rng(11)


def run(data: bytes, x: np.ndarray) -> np.ndarray:
    graph = tflite.load(data).graph
    return evaluate(graph, {graph.inputs[0].name: x})[0]


def dense(weights: Any, kind: str, *, dequantize: bool = False, **quant: Any) -> bytes:
    """Return a dense layer on float32 with weights [outputs, inputs]."""
    model = TfliteBuilder()
    x = model.tensor((2, weights.shape[1]), "float32", name="x")
    w = model.tensor(weights.shape, kind, data=weights, name="w", **quant)
    if dequantize:
        reals = model.tensor(weights.shape, "float32")
        model.operator("DEQUANTIZE", [w], [reals], version=6)
        w = reals
    y = model.tensor((2, weights.shape[0]), "float32", name="y")
    model.operator("FULLY_CONNECTED", [x, w, -1], [y], version=9)
    return model.build([x], [y])


def narrow(kind: str, *shape: int) -> np.ndarray:
    half = {"int4": 8, "int2": 2}[kind]
    return RANDOM.integers(-half, half, shape)


@pytest.mark.parametrize("kind", ["int4", "int2"])
@pytest.mark.parametrize("scales", [1, 5])
@pytest.mark.parametrize("dequantize", [False, True])
def test_narrow_weights_beside_float_are_scale_times_value(
    kind: str, scales: int, dequantize: bool
) -> None:
    weights = narrow(kind, 5, 7)
    scale = RANDOM.uniform(0.01, 0.3, scales).astype(np.float32)
    data = dense(weights, kind, scale=scale, dequantize=dequantize)
    reals = weights.astype(np.float32) * scale.reshape(-1, 1)
    x = RANDOM.normal(size=(2, 7)).astype(np.float32)
    np.testing.assert_array_equal(run(data, x), run(dense(reals, "float32"), x))
    if dequantize:
        (wanted,) = run_litert(data, [x])
        np.testing.assert_allclose(run(data, x), wanted[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["int4", "int2"])
@pytest.mark.parametrize("code", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_narrow_weights_of_convolutions_are_those_of_int8(kind: str, code: str) -> None:
    shape, axis = ((3, 3, 3, 2), 0) if code == "CONV_2D" else ((1, 3, 3, 2), 3)
    codes = narrow(kind, *shape)
    scale = RANDOM.uniform(0.01, 0.3, shape[axis]).astype(np.float32)

    def build(stored: str) -> bytes:
        model = TfliteBuilder()
        x = model.tensor((1, 5, 5, 2), "float32")
        w = model.tensor(shape, stored, data=codes, scale=scale, axis=axis)
        y = model.tensor((1, 3, 3, shape[axis]), "float32")
        model.operator(code, [x, w, -1], [y], padding="VALID", strideH=1, strideW=1)
        return model.build([x], [y])

    x = RANDOM.normal(size=(1, 5, 5, 2)).astype(np.float32)
    np.testing.assert_array_equal(run(build(kind), x), run(build("int8"), x))


@pytest.mark.parametrize("kind", ["int4", "int2"])
def test_narrow_weights_stay_as_they_are_when_the_network_is_quantized(kind: str) -> None:
    weights = narrow(kind, 5, 7)
    weights[:, 0] = weights.min()
    scale = RANDOM.uniform(0.01, 0.3, 5).astype(np.float32)
    module = tflite.load(dense(weights, kind, scale=scale, dequantize=True))
    samples = RANDOM.normal(size=(16, 2, 7)).astype(np.float32)
    quantized = rlx.quantize(module, {"x": samples})
    bits = {"int4": 4, "int2": 2}[kind]
    assert quantized.report.mean_bits == bits
    assert quantized.report.weight_bytes == -(-35 * bits // 8)
    found = quantized.module
    (layer,) = (n for n in found.graph.op_nodes if n.op.name == "q.dense")
    stored = layer.operands[1].constant
    assert stored is not None
    assert DType.of(stored).bits == bits
    np.testing.assert_array_equal(stored.astype(np.int64), weights)


@pytest.mark.parametrize("code", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
def test_narrow_weights_of_int8_layers_equal_tflm(code: str) -> None:
    shapes = {
        "CONV_2D": ((1, 3, 3, 2), (3, 2, 2, 2), (1, 2, 2, 3), 0),
        "DEPTHWISE_CONV_2D": ((1, 3, 3, 3), (1, 2, 2, 3), (1, 2, 2, 3), 3),
        "FULLY_CONNECTED": ((1, 7), (3, 7), (1, 3), None),
    }
    given, shape, made, axis = shapes[code]
    model = TfliteBuilder()
    x, y = (model.tensor(s, scale=0.05, zero_point=-3) for s in (given, made))
    scales: Any = 0.02 if axis is None else [0.01, 0.02, 0.03]
    codes = narrow("int4", *shape)
    w = model.tensor(shape, "int4", data=codes, scale=scales, axis=axis or 0)
    b = model.constant(np.array([50, -60, 7], np.int32))
    options: dict[str, Any] = {"padding": "VALID", "strideH": 1, "strideW": 1}
    if code == "DEPTHWISE_CONV_2D":
        options["depthMultiplier"] = 1
    model.operator(code, [x, w, b], [y], **({} if axis is None else options))
    data = model.build([x], [y])
    compare(data)
    (layer,) = tflite.load(data).graph.op_nodes
    assert layer.operands[1].type.dtype is DType.I4


@pytest.mark.parametrize("code", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
def test_weights_of_2_bits_of_int8_layers_are_those_of_int8(code: str) -> None:
    # TensorFlow Lite Micro refuses them.
    shapes = {
        "CONV_2D": ((1, 3, 3, 2), (3, 2, 2, 2), (1, 2, 2, 3), 0),
        "DEPTHWISE_CONV_2D": ((1, 3, 3, 3), (1, 2, 2, 3), (1, 2, 2, 3), 3),
        "FULLY_CONNECTED": ((1, 7), (3, 7), (1, 3), 0),
    }
    given, shape, made, axis = shapes[code]
    codes = narrow("int2", *shape)

    def build(stored: str) -> bytes:
        model = TfliteBuilder()
        x, y = (model.tensor(s, scale=0.05, zero_point=-3) for s in (given, made))
        w = model.tensor(shape, stored, data=codes, scale=[0.1, 0.2, 0.3], axis=axis)
        b = model.constant(np.array([50, -60, 7], np.int32))
        window = {"padding": "VALID", "strideH": 1, "strideW": 1}
        model.operator(code, [x, w, b], [y], **({} if code == "FULLY_CONNECTED" else window))
        return model.build([x], [y])

    x = RANDOM.integers(-128, 128, given).astype(np.int8)
    np.testing.assert_array_equal(run(build("int2"), x), run(build("int8"), x))
    (layer,) = tflite.load(build("int2")).graph.op_nodes
    assert layer.operands[1].type.dtype is DType.I2


def in_blocks(codes: np.ndarray, scales: np.ndarray, size: int, kind: str = "int4") -> bytes:
    data = dense(codes, kind)
    model = unpack(data)
    graph = model.subgraphs[0]
    tensor, buffer = schema.TensorT(), schema.BufferT()
    tensor.shape, tensor.type = np.array(scales.shape, np.int32), schema.TensorType.FLOAT16
    buffer.data = np.frombuffer(scales.astype("<f2").tobytes(), np.uint8)
    tensor.buffer, tensor.name = len(model.buffers), "scales"
    model.buffers.append(buffer)
    graph.tensors.append(tensor)
    details = schema.BlockwiseQuantizationT()
    details.scales, details.zeroPoints, details.blockSize = len(graph.tensors) - 1, -1, size
    (weights,) = (t for t in graph.tensors if t.name == b"w")
    weights.quantization = schema.QuantizationParametersT()
    weights.quantization.detailsType = schema.QuantizationDetails.BlockwiseQuantization
    weights.quantization.details = details
    return pack(model)


@pytest.mark.parametrize("kind", ["int4", "int2", "int8"])
def test_a_scale_for_each_block_is_applied(kind: str) -> None:
    codes = narrow("int2" if kind == "int2" else "int4", 5, 12)
    scales = RANDOM.uniform(0.01, 0.3, (5, 3)).astype(np.float16)
    reals = codes * np.repeat(scales.astype(np.float32), 4, axis=1)
    x = RANDOM.normal(size=(2, 12)).astype(np.float32)
    found = run(in_blocks(codes, scales, 4, kind), x)
    np.testing.assert_array_equal(found, run(dense(reals, "float32"), x))


def test_blocks_that_do_not_fit_are_refused() -> None:
    codes, scales = narrow("int4", 5, 12), np.ones((5, 3))
    for data in (in_blocks(codes, scales, 6), in_blocks(codes, np.ones((5, 5)), 4)):
        with raises(FrontendError):
            tflite.load(data)


@dataclass(frozen=True)
class Layout:
    """Storage of a sparse tensor: the order of levels, axes with blocks, which are sparse."""

    order: tuple[int, ...]
    blocks: tuple[tuple[int, int], ...] = ()
    sparse: tuple[int, ...] = ()
    width: int = 1


LAYOUTS = {
    "rows of indices": Layout((0, 1), (), (1,)),
    "columns of indices": Layout((1, 0), (), (1,)),
    "both": Layout((0, 1), (), (0, 1), 3),
    "blocks of 4 in a row": Layout((0, 1, 2), ((1, 4),), (1,), 2),
    "blocks of 2 x 4": Layout((0, 1, 2, 3), ((0, 2), (1, 4)), (1,)),
    "all dense": Layout((1, 0)),
}


def sparse_of(array: np.ndarray, layout: Layout) -> tuple[Any, np.ndarray]:
    """Return the parameters and the stored elements of an array."""
    rank = array.ndim
    sizes, inner = list(array.shape), {}
    for number, (axis, size) in enumerate(layout.blocks):
        sizes[axis] //= size
        sizes.append(size)
        inner[axis] = (rank + number, size)
    split = array.reshape([n for a in range(rank) for n in
                           ((sizes[a], inner[a][1]) if a in inner else (sizes[a],))])  # fmt: skip
    names = [n for a in range(rank) for n in ((a, inner[a][0]) if a in inner else (a,))]
    levels = split.transpose([names.index(a) for a in layout.order])
    parameters = schema.SparsityParametersT()
    parameters.traversalOrder = np.array(layout.order, np.int32)
    parameters.blockMap = np.array([axis for axis, _ in layout.blocks], np.int32)
    parameters.dimMetadata, nodes = [], [()]
    for level in range(len(layout.order)):
        entry = schema.DimensionMetadataT()
        size = levels.shape[level]
        if level in layout.sparse:
            kept = [[i for i in range(size) if levels[(*node, i)].any()] for node in nodes]
            entry.format = 1
            ends = np.cumsum([0, *map(len, kept)])
            for name, values in (("Segments", ends), ("Indices", np.concatenate(kept))):
                kind, number, dtype = [
                    (schema.Int32VectorT, 1, np.int32), (schema.Uint16VectorT, 2, np.uint16),
                    (schema.Uint8VectorT, 3, np.uint8),
                ][layout.width - 1]  # fmt: skip
                vector = kind()
                vector.values = np.array(values, dtype)
                setattr(entry, f"array{name}", vector)
                setattr(entry, f"array{name}Type", number)
        else:
            kept = [list(range(size))] * len(nodes)
            entry.denseSize = size
        parameters.dimMetadata.append(entry)
        nodes = [(*node, i) for node, some in zip(nodes, kept, strict=True) for i in some]
    return parameters, np.array([levels[node] for node in nodes], array.dtype)


def sparse(array: np.ndarray, layout: Layout, kind: str = "float32", densify: bool = True) -> bytes:
    """Return a dense layer whose weights are stored sparse."""
    parameters, stored = sparse_of(array, layout)
    model = TfliteBuilder()
    x = model.tensor((2, array.shape[1]), "float32", name="x")
    w = model.tensor(array.shape, kind, data=stored, name="w")
    model.graph.tensors[w].sparsity = parameters
    if densify:
        made = model.tensor(array.shape, kind, name="dense")
        model.operator("DENSIFY", [w], [made])
        w = made
    if kind == "float16":
        made = model.tensor(array.shape, "float32", name="reals")
        model.operator("DEQUANTIZE", [w], [made], version=3)
        w = made
    y = model.tensor((2, array.shape[0]), "float32", name="y")
    model.operator("FULLY_CONNECTED", [x, w, -1], [y])
    return model.build([x], [y])


def holes(kind: str = "float32", random: np.random.Generator = RANDOM) -> np.ndarray:
    array = random.normal(size=(6, 8)) * (random.random((6, 8)) < 0.3)
    array[2] = 0
    return array.astype(kind)


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_sparse_constants_equal_those_of_litert(name: str, kind: str) -> None:
    array = holes(kind)
    data = sparse(array, LAYOUTS[name], kind)
    x = RANDOM.normal(size=(2, 8)).astype(np.float32)
    np.testing.assert_array_equal(run(data, x), run(dense(array.astype("f4"), "float32"), x))
    (wanted,) = run_litert(data, [x])
    np.testing.assert_allclose(run(data, x), wanted[0], rtol=1e-5, atol=1e-6)


def test_sparse_constants_need_no_operator() -> None:
    array = holes()
    x = RANDOM.normal(size=(2, 8)).astype(np.float32)
    found = run(sparse(array, LAYOUTS["both"], densify=False), x)
    np.testing.assert_array_equal(found, run(dense(array, "float32"), x))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("indices", [9, 0, 0]),
        ("segments", [0, 1]),
        ("order", [0, 0]),
        ("size", 5),
        ("data", np.ones(3, np.float32)),
    ],
)
def test_sparse_constants_that_contradict_themselves_are_refused(field: str, value: Any) -> None:
    array = holes(random=np.random.default_rng(0))  # the message counts its elements
    model = unpack(sparse(array, LAYOUTS["rows of indices"]))
    tensor = next(t for t in model.subgraphs[0].tensors if t.name == b"w")
    first, second = tensor.sparsity.dimMetadata
    if field == "indices":
        second.arrayIndices.values[0] = 9
    elif field == "segments":
        second.arraySegments.values = np.array(value, np.int32)
    elif field == "order":
        tensor.sparsity.traversalOrder = np.array(value, np.int32)
    elif field == "size":
        first.denseSize = value
    else:
        model.buffers[tensor.buffer].data = np.frombuffer(value.tobytes(), np.uint8)
    with raises(FrontendError):
        tflite.load(pack(model))


def behind(data: bytes, align: int, *, offset: int = 0) -> bytes:
    """Return a file whose constants lie behind the flatbuffer."""
    model = unpack(data)
    moved = {i: bytes(b.data) for i, b in enumerate(model.buffers) if b.data is not None}
    for place in (None, 0):
        # Offsets are known once the flatbuffer's size is; it does not depend on them.
        start = 2 if place is None else len(pack(model))
        pieces = b""
        for i, content in moved.items():
            pieces += bytes(-(start + len(pieces)) % align)
            buffer = model.buffers[i]
            buffer.data, buffer.size = None, len(content)
            buffer.offset = start + len(pieces) + offset
            pieces += content
    return pack(model) + pieces


@pytest.mark.parametrize("align", [16, 4])
def test_constants_behind_the_flatbuffer_equal_those_inside(align: int) -> None:
    weights = RANDOM.normal(size=(5, 7)).astype(np.float32)
    inside = dense(weights, "float32")
    outside = behind(inside, align)
    x = RANDOM.normal(size=(2, 7)).astype(np.float32)
    np.testing.assert_array_equal(run(outside, x), run(inside, x))
    (wanted,) = run_litert(outside, [x])
    np.testing.assert_allclose(run(outside, x), wanted[0], rtol=1e-5, atol=1e-6)


def test_constants_behind_the_end_of_the_file_are_refused() -> None:
    data = behind(dense(RANDOM.normal(size=(5, 7)), "float32"), 16, offset=160)
    with raises(FrontendError):
        tflite.load(data)


def test_computed_values_of_4_bits_are_refused_with_what_to_do() -> None:
    model = TfliteBuilder()
    x, y = (model.tensor((1, 4), "int4", scale=0.5) for _ in range(2))
    model.operator("RELU", [x], [y])
    with raises(UnsupportedOpError):
        tflite.load(model.build([x], [y]))
