"""Streaming TFLite networks: each layer keeps the last rows of its input in a variable.

They are made of the operators of wake-word networks: a step reads a variable, joins it with the new
rows, assigns the last of them to the variable, and convolves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from support.files.tflite_builder import TfliteBuilder, tflm

if TYPE_CHECKING:
    import numpy.typing as npt

    Int8Array = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Tensor:
    """A tensor [1, rows, 1, channels] of a builder, with scale and zero point."""

    index: int
    rows: int
    channels: int
    scale: float
    zero_point: int


class StreamingNetwork:
    """Builder of a network of one step.

    Attributes:
        rows: New rows of a step.
        features: Elements of a row.
    """

    def __init__(self, seed: int, *, rows: int, features: int, initialized: bool) -> None:
        self.rows, self.features = rows, features
        self._random = np.random.default_rng(seed)
        self._model = TfliteBuilder()
        self._begin: dict[str, tuple[Int8Array, float, int]] = {}
        self._initialized = initialized
        if initialized:
            self._model.operator("CALL_ONCE", [], [], initSubgraphIndex=1)

    def _tensor(self, rows: int, channels: int, scale: float, zero_point: int) -> Tensor:
        index = self._model.tensor([1, rows, 1, channels], scale=scale, zero_point=zero_point)
        return Tensor(index, rows, channels, scale, zero_point)

    def _handle(self, name: str) -> int:
        handle = self._model.tensor([], "resource", name=f"{name}_handle")
        self._model.operator("VAR_HANDLE", [], [handle], container="", sharedName=name)
        return handle

    def _constant(self, numbers: object) -> int:
        return self._model.constant(np.asarray(numbers, np.int32))

    def stream(self, name: str, x: Tensor, kept: int, begin: int | None = None) -> Tensor:
        """Join the last rows of earlier steps, and keep those of this one."""
        handle = self._handle(name)
        state = self._tensor(kept, x.channels, x.scale, x.zero_point)
        self._model.operator("READ_VARIABLE", [handle], [state.index])
        joined = self._tensor(kept + x.rows, x.channels, x.scale, x.zero_point)
        self._model.operator("CONCATENATION", [state.index, x.index], [joined.index], axis=1)
        last = self._tensor(kept, x.channels, x.scale, x.zero_point)
        ends = [0, x.rows, 0, 0], [1, kept + x.rows, 1, x.channels], [1, 1, 1, 1]
        self._model.operator(
            "STRIDED_SLICE", [joined.index, *map(self._constant, ends)], [last.index],
            beginMask=0b1101, endMask=0b1111,
        )  # fmt: skip
        self._model.operator("ASSIGN_VARIABLE", [handle, last.index], [])
        value = x.zero_point if begin is None else begin
        values = np.full((1, kept, 1, x.channels), value, np.int8)
        self._begin[name] = values, x.scale, x.zero_point
        return joined

    def conv(self, x: Tensor, channels: int, kernel: int) -> Tensor:
        """Append a convolution along the rows, with random weights."""
        random, model = self._random, self._model
        weights = random.integers(-127, 128, (channels, kernel, 1, x.channels)).astype(np.int8)
        scales = 2.0 / (70 * np.sqrt(kernel * x.channels)) * random.uniform(0.7, 1.3, channels)
        w = model.constant(weights, scale=scales, zero_point=np.zeros(channels, int))
        biases = random.integers(-900, 900, channels).astype(np.int32)
        b = model.constant(biases, scale=scales * x.scale, zero_point=np.zeros(channels, int))
        y = self._tensor(x.rows - kernel + 1, channels, 0.11, -128)
        model.operator(
            "CONV_2D", [x.index, w, b], [y.index], padding="VALID", strideW=1, strideH=1,
            dilationWFactor=1, dilationHFactor=1, fusedActivationFunction="RELU",
        )  # fmt: skip
        return y

    def build(self, channels: tuple[int, ...], kernels: tuple[int, ...], *, begin: int) -> bytes:
        """Return the file: convolutions with a state each, a dense layer over the last rows."""
        model, random = self._model, self._random
        x = model.tensor([1, self.rows, self.features], scale=0.1, zero_point=-3, name="features")
        value = self._tensor(self.rows, self.features, 0.1, -3)
        shape = [1, self.rows, 1, self.features]
        model.operator("RESHAPE", [x, self._constant(shape)], [value.index], newShape=shape)
        for number, (count, kernel) in enumerate(zip(channels, kernels, strict=True)):
            first = begin if number == 0 else None
            joined = self.stream(f"stream_{number}/states", value, kernel - 1, first)
            value = self.conv(joined, count, kernel)
        last = self.stream("stream_last/states", value, 4)
        size = last.rows * last.channels
        flat = model.tensor([1, size], scale=last.scale, zero_point=last.zero_point)
        model.operator("RESHAPE", [last.index, self._constant([1, size])], [flat],
                       newShape=[1, size])  # fmt: skip
        weights = random.integers(-127, 128, (1, size)).astype(np.int8)
        w = model.constant(weights, scale=0.0005)
        b = model.constant(np.array([0], np.int32), scale=0.0005 * last.scale)
        y = model.tensor([1, 1], scale=0.03, zero_point=10)
        model.operator("FULLY_CONNECTED", [flat, w, b], [y])
        p = model.tensor([1, 1], scale=1 / 256, zero_point=-128)
        model.operator("LOGISTIC", [y], [p])
        q = model.tensor([1, 1], "uint8", scale=1 / 256, zero_point=0, name="probability")
        model.operator("QUANTIZE", [p], [q])
        if self._initialized:
            self._add_initial_values()
        return model.build([x], [q])

    def _add_initial_values(self) -> None:
        model = self._model
        main, model.graph = model.graph, model.subgraph("begin")
        for name, (values, scale, zero_point) in self._begin.items():
            value = model.constant(values, scale=scale, zero_point=zero_point)
            model.operator("ASSIGN_VARIABLE", [self._handle(name), value], [])
        model.graph = main

    def samples(self, steps: int) -> Int8Array:
        """Return random inputs, [steps, 1, rows, features]."""
        shape = (steps, 1, self.rows, self.features)
        return self._random.integers(-128, 128, shape).astype(np.int8)


def wake_word(seed: int) -> tuple[bytes, StreamingNetwork]:
    """Return one of several small networks, and its builder."""
    rows, features = ((1, 8), (3, 10), (2, 6))[seed % 3]
    network = StreamingNetwork(seed, rows=rows, features=features, initialized=seed % 2 == 0)
    channels, kernels = (((6, 9), (5, 3)), ((8,), (4,)), ((5, 4, 7), (3, 2, 3)))[seed % 3]
    return network.build(channels, kernels, begin=(11, 0, -3)[seed % 3]), network


def run_steps(data: bytes, samples: Int8Array) -> npt.NDArray[np.uint8]:
    """Return the outputs of TensorFlow Lite Micro for steps that follow one another."""
    interpreter = tflm(data)
    outputs = []
    for sample in samples:
        interpreter.set_input(sample, 0)
        interpreter.invoke()
        outputs.append(np.array(interpreter.get_output(0)))
    return np.stack(outputs)
