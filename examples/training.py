"""Train small convolutional networks in NumPy, for the examples.

A network is a list of layers. Each layer runs forward, keeps what its derivative needs, and runs
backward; after training it becomes a layer of a float graph, which ``rlx.quantize`` takes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rlx.ops.nn import NnConv, NnLinear, NnMaxPool, NnRelu
from rlx.ops.real import RealReshape, SpatialWindow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlx.ir import Graph, Value
    from rlx.ops.q import Window

    Floats = NDArray[np.float32]


class Layer:
    """A layer of a network.

    Attributes:
        name: Name of the node that the layer becomes.
        values: Trained arrays: weights [terms, outputs] and biases, or none.
        gradients: Derivatives of the loss with respect to them, from the last ``backward``.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: tuple[Floats, ...] = ()
        self.gradients: tuple[Floats, ...] = ()

    def forward(self, x: Floats) -> Floats:
        """Return the layer's results for a batch."""
        raise NotImplementedError

    def backward(self, error: Floats) -> Floats:
        """Return the loss gradient for the last batch, given that for its results."""
        raise NotImplementedError

    def append_to(self, graph: Graph, x: Value) -> Value:
        """Append the layer to a float graph."""
        raise NotImplementedError


class _Weighted(Layer):
    """A layer with a matrix of weights."""

    def __init__(self, name: str, terms: int, outputs: int, random: np.random.Generator) -> None:
        super().__init__(name)
        scale = np.sqrt(2 / terms)
        weights = (random.standard_normal((terms, outputs)) * scale).astype(np.float32)
        self.values = (weights, np.zeros(outputs, np.float32))

    def _product(self, rows: Floats) -> Floats:
        self.rows = rows
        return rows @ self.values[0] + self.values[1]

    def _derive(self, error: Floats) -> Floats:
        """Set the gradients, and return the gradient for the rows."""
        flat = error.reshape(-1, error.shape[-1])
        self.gradients = (self.rows.reshape(len(flat), -1).T @ flat, flat.sum(axis=0))
        return error @ self.values[0].T

    def _constants(self, graph: Graph, *shape: int) -> tuple[Value, Value]:
        """Append weights [outputs, *shape] and biases."""
        weights, biases = self.values
        return (
            graph.constant(weights.T.reshape(-1, *shape), name=f"{self.name}.weights"),
            graph.constant(biases, name=f"{self.name}.bias"),
        )


class Convolution(_Weighted):
    """A convolution over NHWC images, and ReLU."""

    def __init__(
        self, name: str, window: Window, shape: tuple[int, int], random: np.random.Generator
    ) -> None:
        """``shape`` holds the numbers of input and output channels."""
        super().__init__(name, window.taps * shape[0], shape[1], random)
        self.window, self.channels = window, shape[0]

    def forward(self, x: Floats) -> Floats:
        """Multiply windows, clamp negative results to zero."""
        self.size = x.shape
        patches = self.window.patches(x, 0)
        result = np.maximum(self._product(patches.reshape(*patches.shape[:3], -1)), 0)
        self.positive = result > 0
        return result

    def backward(self, error: Floats) -> Floats:
        """Add window gradients into the image that they were read from."""
        columns = self._derive(error * self.positive)
        batch, height, width, _ = columns.shape
        rows, cols = self.window.kernel
        taps = columns.reshape(batch, height, width, rows, cols, self.channels)
        (top, bottom), (left, right) = self.window.padding
        full = (batch, self.size[1] + top + bottom, self.size[2] + left + right, self.channels)
        image = np.zeros(full, np.float32)
        for dy in range(rows):
            for dx in range(cols):
                image[:, dy : dy + height, dx : dx + width] += taps[:, :, :, dy, dx]
        return image[:, top : top + self.size[1], left : left + self.size[2]]

    def append_to(self, graph: Graph, x: Value) -> Value:
        """Append a convolution and ReLU."""
        window = self.window
        op = NnConv(
            window=SpatialWindow(window.kernel, window.stride, window.dilation, window.padding)
        )
        constants = self._constants(graph, *window.kernel, self.channels)
        x = graph.apply(op, x, *constants, name=self.name)
        return graph.apply(NnRelu(), x, name=f"{self.name}.relu")


class MaxPool(Layer):
    """The maximum of each 2x2 window; a remainder at the edge is dropped."""

    def forward(self, x: Floats) -> Floats:
        """Return the maxima."""
        self.before = x
        batch, height, width, channels = x.shape
        even = x[:, : height // 2 * 2, : width // 2 * 2]
        self.after: Floats = even.reshape(
            batch, height // 2, 2, width // 2, 2, channels
        ).max(axis=(2, 4))  # fmt: skip
        return self.after

    def backward(self, error: Floats) -> Floats:
        """Pass each gradient to the elements that were the maximum."""
        big, after = (a.repeat(2, axis=1).repeat(2, axis=2) for a in (error, self.after))
        result = np.zeros_like(self.before)
        part = (slice(None), slice(big.shape[1]), slice(big.shape[2]))
        result[part] = big * (self.before[part] == after)
        return result

    def append_to(self, graph: Graph, x: Value) -> Value:
        """Append a pool."""
        return graph.apply(NnMaxPool(window=SpatialWindow((2, 2), (2, 2))), x, name=self.name)


class Dense(_Weighted):
    """A dense layer over all elements of an image."""

    def forward(self, x: Floats) -> Floats:
        """Return sums."""
        self.size = x.shape
        return self._product(x.reshape(len(x), -1))

    def backward(self, error: Floats) -> Floats:
        """Return the gradient in the shape of the operand."""
        return self._derive(error).reshape(self.size)

    def append_to(self, graph: Graph, x: Value) -> Value:
        """Append a reshape and a dense layer."""
        x = graph.apply(RealReshape(shape=(1, x.type.size)), x, name="flatten")
        return graph.apply(NnLinear(), x, *self._constants(graph, x.type.size), name=self.name)


@dataclass
class Network:
    """A sequence of layers; the last one gives a logit for each class.

    Attributes:
        layers: The layers.
    """

    layers: list[Layer]
    _steps: int = 0
    _moments: dict[tuple[str, int], list[Floats]] = field(default_factory=dict)

    def forward(self, x: Floats) -> list[Floats]:
        """Return the results of every layer for a batch."""
        results = []
        for layer in self.layers:
            x = layer.forward(x)
            results.append(x)
        return results

    def classes(self, x: Floats) -> NDArray[np.int64]:
        """Return the most likely class for each image of a batch."""
        return self.forward(x)[-1].argmax(axis=1)

    def train(self, x: Floats, labels: NDArray[np.int64], epochs: int) -> None:
        """Fit by Adam with a falling rate, in batches of 50."""
        random = np.random.default_rng(1)
        for epoch in range(epochs):
            rate = 3e-3 * (1 - epoch / epochs)
            for batch in np.array_split(random.permutation(len(x)), len(x) // 50):
                self._derive(x[batch], labels[batch])
                self._step(rate)

    def append_to(self, graph: Graph, x: Value) -> Value:
        """Append the network to a float graph and return its logits."""
        for layer in self.layers:
            x = layer.append_to(graph, x)
        return x

    def _derive(self, x: Floats, labels: NDArray[np.int64]) -> None:
        """Set the gradients of the cross-entropy loss."""
        logits = self.forward(x)[-1]
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        error = shifted / shifted.sum(axis=1, keepdims=True)
        error[np.arange(len(x)), labels] -= 1
        error /= len(x)
        for layer in reversed(self.layers):
            error = layer.backward(error)

    def _step(self, rate: float) -> None:
        """Take one step of Adam (arXiv 1412.6980, algorithm 1)."""
        self._steps += 1
        for layer in self.layers:
            for index, pair in enumerate(zip(layer.values, layer.gradients, strict=True)):
                values, gradient = pair
                moments = self._moments.setdefault((layer.name, index), _zeros(values))
                mean, square = moments
                mean += 0.1 * (gradient - mean)
                square += 0.001 * (gradient**2 - square)
                corrected = square / (1 - 0.999**self._steps)
                values -= rate * mean / (1 - 0.9**self._steps) / (np.sqrt(corrected) + 1e-8)


def _zeros(values: Floats) -> list[Floats]:
    return [np.zeros_like(values), np.zeros_like(values)]
