"""Malformed and unsupported TFLite files made by hand: class by class, one defect each."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from support.files.tflite_builder import TfliteBuilder, pack, schema, unpack

if TYPE_CHECKING:
    from collections.abc import Callable

# Tensors and operators of the sound model below.
X, W, B, CONV, POOLED, SHAPE, FLAT, FC_W, FC_B, DENSE, PROBABILITY = range(11)
CODES = {"scale": 0.5, "zero_point": 3}
CONV_OP, POOL_OP, RESHAPE_OP, DENSE_OP, SOFTMAX_OP = range(5)


def sound_model() -> bytes:
    """Return a small model without a defect: conv, pool, reshape, dense, softmax."""
    model = TfliteBuilder()
    model.tensor((1, 4, 4, 2), scale=0.5, zero_point=-1, name="x")
    model.constant(np.ones((3, 3, 3, 2), np.int8), scale=[0.1, 0.2, 0.3], name="w")
    model.constant(np.arange(3, dtype=np.int32), scale=[0.05, 0.1, 0.15], name="b")
    model.tensor((1, 4, 4, 3), scale=0.5, zero_point=-128, name="conv")
    model.tensor((1, 2, 2, 3), scale=0.5, zero_point=-128, name="pooled")
    model.constant(np.array([1, 12], np.int32), name="shape")
    model.tensor((1, 12), scale=0.5, zero_point=-128, name="flat")
    model.constant(np.ones((5, 12), np.int8), scale=0.25, name="fc_w")
    model.constant(np.zeros(5, np.int32), scale=0.125, name="fc_b")
    model.tensor((1, 5), scale=0.25, zero_point=3, name="dense")
    model.tensor((1, 5), scale=1 / 256, zero_point=-128, name="probability")
    model.operator(
        "CONV_2D", [X, W, B], [CONV], padding="SAME", strideH=1, strideW=1,
        fusedActivationFunction="RELU",
    )  # fmt: skip
    model.operator(
        "MAX_POOL_2D", [CONV], [POOLED], padding="VALID", strideH=2, strideW=2,
        filterHeight=2, filterWidth=2,
    )  # fmt: skip
    model.operator("RESHAPE", [POOLED, SHAPE], [FLAT])
    model.operator("FULLY_CONNECTED", [FLAT, FC_W, FC_B], [DENSE])
    model.operator("SOFTMAX", [DENSE], [PROBABILITY], beta=1.0)
    return model.build([X], [PROBABILITY])


def changed(change: Callable[[Any, Any], None]) -> bytes:
    """Return the sound model after ``change(model, subgraph)`` on its object form."""
    model = unpack(sound_model())
    change(model, model.subgraphs[0])
    return pack(model)


def set_tensor(index: int, **fields: Any) -> bytes:
    """Return the sound model with fields of a tensor changed."""
    return changed(lambda _, graph: _set(graph.tensors[index], fields))


def set_quantization(index: int, **fields: Any) -> bytes:
    """Return the sound model with the quantization of a tensor changed."""
    return changed(lambda _, graph: _set(graph.tensors[index].quantization, fields))


def set_operator(index: int, **fields: Any) -> bytes:
    """Return the sound model with fields of an operator changed."""
    return changed(lambda _, graph: _set(graph.operators[index], fields))


def set_options(index: int, **fields: Any) -> bytes:
    """Return the sound model with options of an operator changed."""
    return changed(lambda _, graph: _set(graph.operators[index].builtinOptions, fields))


def set_graph(**fields: Any) -> bytes:
    """Return the sound model with fields of the subgraph changed."""
    return changed(lambda _, graph: _set(graph, fields))


def set_data(index: int, data: bytes) -> bytes:
    """Return the sound model with the bytes of a constant changed."""

    def change(model: Any, graph: Any) -> None:
        model.buffers[graph.tensors[index].buffer].data = np.frombuffer(data, np.uint8)

    return changed(change)


def set_code(number: int, custom: str | None = None) -> bytes:
    """Return the sound model with another operator in the place of the softmax."""

    def change(model: Any, graph: Any) -> None:
        code = model.operatorCodes[graph.operators[SOFTMAX_OP].opcodeIndex]
        code.builtinCode, code.deprecatedBuiltinCode = number, min(number, 127)
        code.customCode = custom
        graph.operators[SOFTMAX_OP].builtinOptions = None
        graph.operators[SOFTMAX_OP].builtinOptionsType = 0

    return changed(change)


def _set(table: Any, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        assert hasattr(table, name), name
        setattr(table, name, value)


class Surgeon:
    """Changes bytes of the sound model at places found through the format."""

    def __init__(self) -> None:
        self.data = bytearray(sound_model())

    def u32(self, position: int) -> int:
        return struct.unpack_from("<I", self.data, position)[0]

    def u16(self, position: int) -> int:
        return struct.unpack_from("<H", self.data, position)[0]

    @property
    def root(self) -> int:
        return self.u32(0)

    def vtable(self, table: int) -> int:
        return table - struct.unpack_from("<i", self.data, table)[0]

    def field(self, table: int, number: int) -> int:
        return table + self.u16(self.vtable(table) + 4 + 2 * number)

    def target(self, position: int) -> int:
        return position + self.u32(position)

    def vector(self, table: int, number: int) -> int:
        return self.target(self.field(table, number))

    def child(self, table: int, number: int, index: int) -> int:
        return self.target(self.vector(table, number) + 4 + 4 * index)

    @property
    def graph(self) -> int:
        return self.child(self.root, 2, 0)

    def tensor(self, index: int) -> int:
        return self.child(self.graph, 0, index)

    def put32(self, position: int, value: int) -> bytes:
        struct.pack_into("<I", self.data, position, value & 0xFFFFFFFF)
        return bytes(self.data)

    def put16(self, position: int, value: int) -> bytes:
        struct.pack_into("<H", self.data, position, value)
        return bytes(self.data)

    def put8(self, position: int, value: int) -> bytes:
        self.data[position] = value
        return bytes(self.data)


def no_terminator() -> bytes:
    s = Surgeon()
    name = s.vector(s.tensor(X), 3)
    return s.put8(name + 4 + s.u32(name), 0x41)


def overlapping() -> bytes:
    """Return a small file in place of a huge one: 2000 tensors are one and the same."""
    s = Surgeon()
    while len(s.data) % 4:
        s.data.append(0)
    start, count = len(s.data), 2000
    tensor = start + 4 + 4 * count
    s.data += struct.pack("<I", count)
    for index in range(count):
        s.data += struct.pack("<I", tensor - (start + 4 + 4 * index))
    # The table (its vtable 8 bytes behind it) has one field, a shape of 4000 dimensions.
    s.data += struct.pack("<iI", -8, 12) + struct.pack("<HHHH", 6, 8, 4, 0)
    s.data += struct.pack("<I", 4000) + b"\1\0\0\0" * 4000
    place = s.field(s.graph, 0)
    return s.put32(place, start - place)


def swapped_operators() -> bytes:
    def change(_: Any, graph: Any) -> None:
        graph.operators[0], graph.operators[1] = graph.operators[1], graph.operators[0]

    return changed(change)


def second_subgraph() -> bytes:
    return changed(lambda model, graph: model.subgraphs.append(graph))


def sparse() -> bytes:
    sparsity = schema.SparsityParametersT()
    sparsity.traversalOrder = [0]
    return set_tensor(W, sparsity=sparsity)


def custom_quantization() -> bytes:
    details = schema.CustomQuantizationT()
    details.custom = [1, 2, 3]
    return set_quantization(W, details=details, detailsType=1)


def one(
    code: str,
    shape: tuple[int, ...],
    out: tuple[int, ...],
    *constants: Any,
    x: dict[str, Any] | None = None,
    y: dict[str, Any] | None = None,
    **options: Any,
) -> bytes:
    """Return a model of one operator: an input, int32 constants, an output."""
    model = TfliteBuilder()
    given = model.tensor(shape, name="x", **(x or CODES))
    numbers = [model.constant(np.array(c, np.int32), name=f"c{i}") for i, c in enumerate(constants)]
    made = model.tensor(out, name="y", **(y or CODES))
    model.operator(code, [given, *numbers], [made], **options)
    return model.build([given], [made])


def two(
    code: str,
    first: tuple[int, ...],
    second: tuple[int, ...],
    out: tuple[int, ...],
    y: dict[str, Any] | None = None,
    **options: Any,
) -> bytes:
    """Return a model of one operator with two inputs; ``y`` quantizes the output."""
    model = TfliteBuilder()
    given = [model.tensor(s, name=f"x{i}", **CODES) for i, s in enumerate((first, second))]
    made = model.tensor(out, name="y", **(y or CODES))
    model.operator(code, given, [made], **options)
    return model.build(given, [made])


def prelu(slopes: tuple[int, ...], **codes: Any) -> bytes:
    """Return a model of a PReLU of int8[1, 2, 2, 3]."""
    model = TfliteBuilder()
    given = model.tensor((1, 2, 2, 3), name="x", **CODES)
    constant = model.constant(np.ones(slopes, np.int8), name="slopes", **{**CODES, **codes})
    made = model.tensor((1, 2, 2, 3), name="y", **CODES)
    model.operator("PRELU", [given, constant], [made])
    return model.build([given], [made])


def without_inputs(code: str) -> bytes:
    """Return a model whose operator has no inputs."""
    model = TfliteBuilder()
    given, made = (model.tensor((2, 3), name=n, **CODES) for n in "xy")
    model.operator(code, [], [made])
    return model.build([given], [made])


def split(code: str, *constants: Any, count: int = 2) -> bytes:
    """Return a model that splits int8[2, 5] into parts of int8[2, 2]."""
    model = TfliteBuilder()
    given = model.tensor((2, 5), name="x", **CODES)
    numbers = [model.constant(np.array(c, np.int32)) for c in constants]
    made = [model.tensor((2, 2), name="y", **CODES) for _ in range(count)]
    inputs = [*numbers, given] if code == "SPLIT" else [given, *numbers]
    model.operator(code, inputs, made, numSplits=count)
    return model.build([given], made)


def depthwise(multiplier: int) -> bytes:
    """Return a depthwise convolution of 2 channels to 4 with a claimed depth multiplier."""
    model = TfliteBuilder()
    x = model.tensor((1, 4, 4, 2), name="x", **CODES)
    w = model.constant(np.ones((1, 2, 2, 4), np.int8), scale=0.5, name="w")
    y = model.tensor((1, 4, 4, 4), name="y", **CODES)
    model.operator(
        "DEPTHWISE_CONV_2D", [x, w], [y], strideH=1, strideW=1, depthMultiplier=multiplier
    )
    return model.build([x], [y])


def scales(*pairs: tuple[int, float], activation: int = 0) -> bytes:
    """Return the sound model with other scales and another activation of the convolution."""

    def change(_: Any, graph: Any) -> None:
        for index, scale in pairs:
            graph.tensors[index].quantization.scale = np.array([scale], np.float32)
        graph.operators[CONV_OP].builtinOptions.fusedActivationFunction = activation

    return changed(change)


def reconnected(operator: int, *inputs: int) -> bytes:
    """Return the sound model with other inputs of an operator."""
    return set_operator(operator, inputs=np.array(inputs, np.int32))


def written(operator: int, *outputs: int) -> bytes:
    """Return the sound model with other outputs of an operator."""
    return set_operator(operator, outputs=np.array(outputs, np.int32))


def shaped(*tensors: tuple[int, list[int]], **graph_fields: Any) -> bytes:
    """Return the sound model with other shapes of tensors."""

    def change(_: Any, graph: Any) -> None:
        for index, shape in tensors:
            graph.tensors[index].shape = np.array(shape, np.int32)
        _set(graph, graph_fields)

    return changed(change)


def computed(index: int) -> bytes:
    """Return the sound model with a constant made an input."""

    def change(_: Any, graph: Any) -> None:
        graph.tensors[index].buffer = 0
        graph.inputs = np.array([X, index], np.int32)

    return changed(change)


def options_of(operator: int, other: int) -> bytes:
    """Return the sound model with an operator that carries another one's options."""

    def change(_: Any, graph: Any) -> None:
        source, target = graph.operators[other], graph.operators[operator]
        target.builtinOptions = source.builtinOptions
        target.builtinOptionsType = source.builtinOptionsType

    return changed(change)


def negative_code() -> bytes:
    def change(model: Any, _: Any) -> None:
        code = model.operatorCodes[0]
        code.builtinCode, code.deprecatedBuiltinCode = -5, -3

    return changed(change)


def set_model(**fields: Any) -> bytes:
    """Return the sound model with fields of the root changed."""
    return changed(lambda model, _: _set(model, fields))


def without_last_operator() -> bytes:
    return changed(lambda _, graph: graph.operators.pop())


def buffer_in_tail() -> bytes:
    """Return a model whose weights lie behind the end of the file."""

    def move(model: Any, graph: Any) -> None:
        del graph
        model.buffers[1].offset, model.buffers[1].size = 1 << 20, 54

    return changed(move)


def surgery(cut: Callable[[Surgeon], bytes]) -> bytes:
    """Return the sound model with bytes changed by ``cut``."""
    return cut(Surgeon())


def list_of_tensors() -> bytes:
    return set_tensor(X, variantTensors=[schema.VariantSubTypeT()])


def without_shape() -> list[Any]:
    """Return the operators of the sound model, the reshape without its constant."""
    operators = unpack(sound_model()).subgraphs[0].operators
    operators[RESHAPE_OP].inputs = np.array([POOLED], np.int32)
    return operators


def padv2() -> bytes:
    """Return a padding with a value of another scale."""
    model = TfliteBuilder()
    x = model.tensor((2, 3), name="x", **CODES)
    widths = model.constant(np.zeros((2, 2), np.int32), name="widths")
    value = model.tensor((1,), data=[1], scale=0.25, name="value")
    y = model.tensor((2, 3), name="y", **CODES)
    model.operator("PADV2", [x, widths, value], [y])
    return model.build([x], [y])


def hybrid() -> bytes:
    """Return a dense layer on float32 with int8 weights."""
    model = TfliteBuilder()
    x = model.tensor((1, 3), "float32", name="x")
    w = model.constant(np.ones((2, 3), np.int8), scale=0.5, name="w")
    y = model.tensor((1, 2), "float32", name="y")
    model.operator("FULLY_CONNECTED", [x, w], [y])
    return model.build([x], [y])


def two_outputs() -> bytes:
    """Return an operator that writes one tensor too many."""
    model = TfliteBuilder()
    x, y, z = (model.tensor((1, 3), name=n, **CODES) for n in "xyz")
    model.operator("RELU", [x], [y, z])
    return model.build([x], [y, z])
