"""Networks in the shapes of MLPerf Tiny with made-up weights, as files that look converted.

They stand in for the reference networks where a test asks for a network of that size and needs
neither its weights nor its recordings. :data:`NETWORKS` holds their names; :func:`network` makes
one in int8, :func:`file` a file of that, :func:`dynamic_range` one in float32 with weights in int8.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from support.files.tflite_builder import TfliteBuilder, schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

Shape = tuple[int, ...]


class _Maker:
    """A network while it is made: layers are appended, and return the tensors they make."""

    def __init__(self, *, quantized: bool) -> None:
        self.model = TfliteBuilder()
        self.quantized = quantized
        self._random = np.random.default_rng(0)
        self._shapes: dict[int, Shape] = {}
        self._scales: dict[int, float] = {}

    def value(self, shape: Shape, name: str, scale: float = 6 / 255, zero_point: int = -128) -> int:
        """Add a tensor that is computed, or an input: its batch is left open."""
        quantized = {"scale": scale, "zero_point": zero_point} if self.quantized else {}
        dtype = "int8" if self.quantized else "float32"
        index = self.model.tensor(shape, dtype, name=name, signature=(-1, *shape[1:]), **quantized)
        self._shapes[index] = shape
        self._scales[index] = scale
        return index

    def conv(self, x: int, channels: int, kernel: int | tuple[int, int] = 3, stride: int = 1,
             *, depthwise: bool = False, relu: bool = True) -> int:  # fmt: skip
        """Append a convolution; one by depth keeps the channels."""
        _, height, width, depth = self._shapes[x]
        window = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        shape = (1, *window, depth) if depthwise else (channels, *window, depth)
        kind = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
        name = "depthwise_conv2d" if depthwise else "conv2d"
        w, b = self._weights(x, shape, channels, axis=3 if depthwise else 0)
        y = self._result((1, -(-height // stride), -(-width // stride), channels), name, relu=relu)
        self.model.operator(
            kind, [x, w, b], [y], padding="SAME", strideH=stride, strideW=stride,
            fusedActivationFunction="RELU" if relu else "NONE",
            **({"depthMultiplier": 1} if depthwise else {}),
        )  # fmt: skip
        return y

    def separable(self, x: int, channels: int, stride: int = 1) -> int:
        """Append a convolution by depth and one of single points."""
        x = self.conv(x, self._shapes[x][3], 3, stride, depthwise=True)
        return self.conv(x, channels, 1)

    def dense(self, x: int, classes: int, *, relu: bool = False) -> int:
        """Append a dense layer."""
        w, b = self._weights(x, (classes, self._shapes[x][1]), classes, axis=0)
        y = self._result((1, classes), "dense", relu=relu)
        activation = "RELU" if relu else "NONE"
        self.model.operator("FULLY_CONNECTED", [x, w, b], [y], fusedActivationFunction=activation)
        return y

    def add(self, x: int, y: int) -> int:
        """Append a sum."""
        z = self._result(self._shapes[x], "add", relu=True)
        self.model.operator("ADD", [x, y], [z], fusedActivationFunction="RELU")
        return z

    def classes(self, x: int, count: int) -> int:
        """Append what is behind the last image: its mean, a dense layer and softmax."""
        _, height, width, depth = self._shapes[x]
        mean = self.value((1, 1, 1, depth), "model/average_pooling2d/AvgPool", self._scales[x])
        flat = self.value((1, depth), "model/flatten/Reshape", self._scales[x])
        self.model.operator(
            "AVERAGE_POOL_2D", [x], [mean], padding="VALID", strideH=height, strideW=width,
            filterHeight=height, filterWidth=width,
        )  # fmt: skip
        to = self.model.constant(np.array([1, depth], np.int32), name="model/flatten/Const")
        self.model.operator("RESHAPE", [mean, to], [flat], newShape=[1, depth])
        scores = self.dense(flat, count)
        y = self.value((1, count), "Identity", 1 / 256)
        self.model.operator("SOFTMAX", [scores], [y], beta=1.0)
        return y

    def build(self, given: int, result: int) -> bytes:
        """Write the file, with the entry that every converter makes."""
        whole, version = self.model.model, schema.BufferT()
        version.data = np.frombuffer(b"1.5.0".ljust(16, b"\0"), np.uint8)
        entry = schema.MetadataT()
        entry.name, entry.buffer = "min_runtime_version", len(whole.buffers)
        whole.buffers.append(version)
        whole.metadata = [entry]
        return self.model.build([given], [result])

    def _result(self, shape: Shape, name: str, *, relu: bool) -> int:
        """Add the tensor of a layer under a name as long as converters write them."""
        path = f"model/{name}_{len(self.model.graph.operators)}"
        long = f"{path}/Relu;{path}/FusedBatchNormV3;{path}/BiasAdd/ReadVariableOp/resource;{path}"
        return self.value(shape, long, *((6 / 255, -128) if relu else (8 / 255, 2)))

    def _weights(self, x: int, shape: Shape, channels: int, axis: int) -> tuple[int, int]:
        """Add weights that keep the mean square of what they multiply, and biases."""
        array = self._random.normal(0, math.sqrt(2 * channels / math.prod(shape)), shape)
        bias = self._random.normal(0, 0.1, channels)
        index = len(self.model.graph.operators)
        names = {"name": f"model/weights_{index}"}, {"name": f"model/bias_{index}"}
        if not self.quantized:
            b = self.model.constant(bias.astype(np.float32), **names[1])
            # Converters leave the weights by depth in float32.
            if axis:
                return self.model.constant(array.astype(np.float32), **names[0]), b
            scale = np.float32(np.abs(array).max() / 127)
            return self.model.constant(_as_int8(array / scale), scale=scale, **names[0]), b
        others = tuple(k for k in range(len(shape)) if k != axis)
        scales = (np.abs(array).max(others, keepdims=True) / 127).astype(np.float32)
        products = np.float32(self._scales[x]) * scales.reshape(-1)
        w = self.model.constant(_as_int8(array / scales), scale=scales.reshape(-1), axis=axis,
                                **names[0])  # fmt: skip
        b = self.model.constant(np.round(bias / products).astype(np.int32), scale=products,
                                **names[1])  # fmt: skip
        return w, b


def _as_int8(array: Any) -> Any:
    return np.clip(np.round(array), -127, 127).astype(np.int8)


def _kws(maker: _Maker) -> bytes:
    """Return keyword spotting: 49 frames of 10 coefficients, separable layers, 12 words."""
    x = given = maker.value((1, 49, 10, 1), "input_1", 2 / 128, 3)
    x = maker.conv(x, 64, (10, 4), 2)
    for _ in range(4):
        x = maker.separable(x, 64)
    return maker.build(given, maker.classes(x, 12))


def _vww(maker: _Maker) -> bytes:
    """Return visual wake words: MobileNet of a quarter of the width on images of 96 by 96."""
    x = given = maker.value((1, 96, 96, 3), "input_1", 2 / 128, 0)
    x = maker.conv(x, 8, 3, 2)
    widths = (16, 32, 32, 64, 64, 128, *[128] * 5, 256, 256)
    for place, channels in enumerate(widths):
        x = maker.separable(x, channels, 2 if place in (1, 3, 5, 11) else 1)
    return maker.build(given, maker.classes(x, 2))


def _resnet(maker: _Maker) -> bytes:
    """Return image classification: three blocks with shortcuts on images of 32 by 32."""
    x = given = maker.value((1, 32, 32, 3), "input_1", 2 / 128, -1)
    x = maker.conv(x, 16)
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        y = maker.conv(x, channels, 3, stride)
        y = maker.conv(y, channels, relu=False)
        short = x if stride == 1 else maker.conv(x, channels, 1, stride, relu=False)
        x = maker.add(short, y)
    return maker.build(given, maker.classes(x, 10))


def _autoencoder(maker: _Maker) -> bytes:
    """Return anomaly detection: ten dense layers, eight numbers in the middle."""
    x = given = maker.value((1, 640), "input_1", 2 / 128, 5)
    for channels in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        x = maker.dense(x, channels, relu=True)
    return maker.build(given, maker.dense(x, 640))


NETWORKS: Mapping[str, Callable[[_Maker], bytes]] = {
    "kws": _kws, "vww": _vww, "resnet": _resnet, "autoencoder": _autoencoder,
}  # fmt: skip
"""Function that makes each, by name."""


@cache
def network(name: str) -> bytes:
    """Return a network in int8."""
    return NETWORKS[name](_Maker(quantized=True))


def file(folder: Path, name: str) -> Path:
    """Write a network in int8 into a folder and return its path."""
    path = folder / f"{name}.tflite"
    path.write_bytes(network(name))
    return path


@cache
def dynamic_range(name: str) -> bytes:
    """Return a network in float32 whose weights, but those by depth, are stored in int8."""
    return NETWORKS[name](_Maker(quantized=False))
