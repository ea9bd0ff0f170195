"""A sound ONNX file and ways to break it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper

from support.files.onnx_builder import model, node

if TYPE_CHECKING:
    from collections.abc import Callable

WEIGHTS = (np.arange(4 * 3 * 3 * 3).reshape(4, 3, 3, 3) % 7 - 3).astype(np.float32)


def sound_file() -> bytes:
    """Return a network of a convolution, a pool and a dense layer."""
    nodes = [
        node("Conv", "x w b", "c", pads=[1, 1, 1, 1]),
        node("Relu", "c", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", "p", "f"),
        node("Gemm", "f g h", "y"),
    ]
    constants = {
        "w": WEIGHTS,
        "b": np.ones(4, np.float32),
        "g": np.ones((64, 5), np.float32),
        "h": np.zeros(5, np.float32),
    }
    return model(nodes, {"x": [1, 3, 8, 8]}, {"y": [1, 5]}, constants)


def changed(change: Callable[[onnx.ModelProto], object]) -> bytes:
    """Return the sound file after ``change`` had its way with it."""
    proto = onnx.load_from_string(sound_file())
    change(proto)
    return proto.SerializeToString()


def attribute(index: int, **given: object) -> bytes:
    """Return the sound file with attributes of a node replaced or added."""

    def change(proto: onnx.ModelProto) -> None:
        target = proto.graph.node[index]
        for name, value in given.items():
            kept = [a for a in target.attribute if a.name != name]
            del target.attribute[:]
            target.attribute.extend([*kept, helper.make_attribute(name, value)])

    return changed(change)


def weights(array: np.ndarray) -> bytes:
    """Return the sound file with other weights."""
    return changed(
        lambda p: p.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(array, "w"))
    )


def one(type_: str, inputs: str, shapes: dict[str, object], output: object = None, **given: object):
    """Return a file with one node; ``constants`` are arrays by name."""
    constants = given.pop("constants", {})
    opset = given.pop("opset", 21)
    return model([node(type_, inputs, "y", **given)], shapes, {"y": output}, constants, opset=opset)


def length(number: int) -> bytes:
    """Return a number as protobuf writes it."""
    out = b""
    while True:
        number, low = number >> 7, number & 0x7F
        if not number:
            return out + bytes([low])
        out += bytes([low | 0x80])


def field(number: int, content: bytes) -> bytes:
    """Return a field of bytes as protobuf writes it."""
    return length(number << 3 | 2) + length(len(content)) + content


def of_empty_nodes(count: int) -> bytes:
    """Return a file whose graph consists of empty nodes, two bytes each."""
    return b"\x08\x0a" + field(7, b"\x0a\x00" * count)


def of_nested_graphs(depth: int) -> bytes:
    """Return a file whose node holds a graph whose node holds a graph, and so on."""
    content = b""
    for _ in range(depth):
        content = field(1, field(5, field(6, content)))
    return b"\x08\x0a" + field(7, content)


def of_functions(depth: int) -> bytes:
    """Return a file whose functions call each other, twice each: exponential when inlined."""
    functions = []
    for i in range(depth):
        called = helper.make_node(
            f"F{i + 1}" if i + 1 < depth else "Id", ["a"], ["t"], domain="own"
        )
        again = helper.make_node(f"F{i + 1}" if i + 1 < depth else "Id", ["t"], ["b"], domain="own")
        functions.append(
            helper.make_function("own", f"F{i}", ["a"], ["b"], [called, again],
                                 [helper.make_opsetid("own", 1)])
        )  # fmt: skip
    functions.append(
        helper.make_function("own", "Id", ["a"], ["b"], [node("Identity", "a", "b")],
                             [helper.make_opsetid("", 21)])
    )  # fmt: skip
    call = helper.make_node("F0", ["x"], ["y"], domain="own")
    return model([call], {"x": [2]}, {"y": [2]}, functions=functions, domains=["own"])


def external(location: str, **more: str) -> bytes:
    """Return the sound file with weights that lie in another file."""

    def change(proto: onnx.ModelProto) -> None:
        tensor = proto.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in {"location": location, **more}.items():
            tensor.external_data.add(key=key, value=value)

    return changed(change)
