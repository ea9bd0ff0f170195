"""Train the demo's network on scikit-learn's handwritten digits and quantize it to int8.

Run ``python examples/digits/train.py`` to make ``digits.rlx`` anew. The network is small enough
for plain NumPy: two 3x3 convolutions, a pool, a dense layer and a softmax.

    8x8x1 -> conv 3x3, 8, ReLU -> max pool 2x2 -> conv 3x3, 16, ReLU -> dense 10 -> softmax
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_digits

from rlx.ir import Graph, QuantParams, i8
from rlx.ir.file import save
from rlx.ir.module import GraphModule, Stage
from rlx.numerics.exponential import softmax_scaling
from rlx.numerics.fixed_point import Rescale
from rlx.ops.q import QConv2d, QDense, QMaxPool2d, QReshape, QSoftmax, Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlx.ir import Value

Floats = "NDArray[np.float32]"
HELD_OUT = 397
"""The last images of the data set are never trained on; the demo uses them."""

SAME = Window(kernel=(3, 3), padding=((1, 1), (1, 1)))
POOL = Window(kernel=(2, 2), stride=(2, 2))


def digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return images [1797, 8, 8, 1] in [0, 1] and labels 0 to 9."""
    data = load_digits()
    images = (data.images / 16).astype(np.float32)[..., np.newaxis]
    return images, data.target.astype(np.int64)


def patches(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the 3x3 neighbourhoods of NHWC ``x`` as [N, H, W, 9 * C]."""
    windows = SAME.patches(x, 0)
    return windows.reshape(*x.shape[:3], -1)  # type: ignore[return-value]


class Network:
    """Float weights and their training by hand-written derivatives."""

    def __init__(self, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        shapes = {"conv1": (9, 8), "conv2": (72, 16), "dense": (256, 10)}
        self.weights = {
            name: (random.standard_normal(s) * np.sqrt(2 / s[0])).astype(np.float32)
            for name, s in shapes.items()
        }
        self.biases = {name: np.zeros(s[1], np.float32) for name, s in shapes.items()}

    def forward(self, x: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """Return every intermediate result; ``logits`` is the last."""
        v = {"p1": patches(x)}
        v["conv1"] = np.maximum(v["p1"] @ self.weights["conv1"] + self.biases["conv1"], 0)
        blocks = v["conv1"].reshape(len(x), 4, 2, 4, 2, 8)
        v["pool"] = blocks.max(axis=(2, 4))
        v["p2"] = patches(v["pool"])
        v["conv2"] = np.maximum(v["p2"] @ self.weights["conv2"] + self.biases["conv2"], 0)
        v["flat"] = v["conv2"].reshape(len(x), 256)
        v["logits"] = v["flat"] @ self.weights["dense"] + self.biases["dense"]
        return v

    def gradients(
        self, x: NDArray[np.float32], labels: NDArray[np.int64]
    ) -> dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Return the cross-entropy's derivatives by weights and biases of each layer."""
        v = self.forward(x)
        shifted = np.exp(v["logits"] - v["logits"].max(axis=1, keepdims=True))
        error = shifted / shifted.sum(axis=1, keepdims=True)
        error[np.arange(len(x)), labels] -= 1
        error /= len(x)
        found = {"dense": (v["flat"].T @ error, error.sum(axis=0))}
        back = (error @ self.weights["dense"].T).reshape(v["conv2"].shape) * (v["conv2"] > 0)
        found["conv2"] = _layer_gradient(v["p2"], back)
        back = _scatter(back @ self.weights["conv2"].T, 8)
        back = _unpool(back, v["conv1"], v["pool"]) * (v["conv1"] > 0)
        found["conv1"] = _layer_gradient(v["p1"], back)
        return found

    def train(self, x: NDArray[np.float32], labels: NDArray[np.int64], epochs: int = 60) -> None:
        """Fit by Adam with a falling rate."""
        random = np.random.default_rng(1)
        state: dict[str, list[NDArray[np.float32]]] = {}
        step = 0
        for epoch in range(epochs):
            rate = 3e-3 * (1 - epoch / epochs)
            for batch in np.array_split(random.permutation(len(x)), len(x) // 50):
                step += 1
                for name, both in self.gradients(x[batch], labels[batch]).items():
                    pair = (self.weights[name], self.biases[name])
                    for kind, (values, gradient) in enumerate(zip(pair, both, strict=True)):
                        _adam(state, f"{name}{kind}", values, gradient, rate, step)


def _layer_gradient(
    rows: NDArray[np.float32], back: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    flat = back.reshape(-1, back.shape[-1])
    return rows.reshape(len(flat), -1).T @ flat, flat.sum(axis=0)


def _scatter(columns: NDArray[np.float32], channels: int) -> NDArray[np.float32]:
    """Add 3x3 neighbourhoods back to the image that they were taken from."""
    batch, height, width, _ = columns.shape
    taps = columns.reshape(batch, height, width, 3, 3, channels)
    image = np.zeros((batch, height + 2, width + 2, channels), np.float32)
    for dy in range(3):
        for dx in range(3):
            image[:, dy : dy + height, dx : dx + width] += taps[:, :, :, dy, dx]
    return image[:, 1:-1, 1:-1]


def _unpool(
    back: NDArray[np.float32], before: NDArray[np.float32], pooled: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Give each derivative to the elements that were the maximum of their block."""
    big = back.repeat(2, axis=1).repeat(2, axis=2)
    return big * (before == pooled.repeat(2, axis=1).repeat(2, axis=2))


def _adam(
    state: dict[str, list[NDArray[np.float32]]],
    key: str,
    values: NDArray[np.float32],
    gradient: NDArray[np.float32],
    rate: float,
    step: int,
) -> None:
    """Take one step of Adam (arXiv 1412.6980, algorithm 1) in place."""
    if key not in state:
        state[key] = [np.zeros_like(values), np.zeros_like(values)]
    mean, square = state[key]
    mean += 0.1 * (gradient - mean)
    square += 0.001 * (gradient**2 - square)
    corrected = square / (1 - 0.999**step)
    values -= rate * mean / (1 - 0.9**step) / (np.sqrt(corrected) + 1e-8)


def activation_params(values: NDArray[np.float32]) -> QuantParams:
    """Return int8 parameters that cover the range of ``values`` and zero exactly."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    scale = float(np.float32((high - low) / 255))
    return QuantParams.per_tensor(scale, round(-128 - low / scale))


def quantize(network: Network, calibration: NDArray[np.float32]) -> Graph:
    """Return the int8 network, with ranges taken from ``calibration`` images."""
    seen = network.forward(calibration)
    graph = Graph("digits")
    pixels = QuantParams.per_tensor(float(np.float32(1 / 255)), -128)
    x = graph.input("image", i8(1, 8, 8, 1, quant=pixels))
    x = _convolution(graph, "conv1", x, network, activation_params(seen["conv1"]))
    x = graph.apply(QMaxPool2d(window=POOL), x, name="pool")
    x = _convolution(graph, "conv2", x, network, activation_params(seen["conv2"]))
    x = graph.apply(QReshape(shape=(1, 256)), x, name="flatten")
    x = _dense(graph, x, network, activation_params(seen["logits"]))
    scale = x.type.quant.scale[0] if x.type.quant else 1.0
    multiplier, left_shift, diff_min = softmax_scaling(scale)
    softmax = QSoftmax(multiplier=multiplier, left_shift=left_shift, diff_min=diff_min)
    graph.output(graph.apply(softmax, x, name="probabilities"))
    return graph


def _quantized_weights(
    weights: NDArray[np.float32], biases: NDArray[np.float32], x_scale: float
) -> tuple[NDArray[np.int8], NDArray[np.int32], NDArray[np.float64]]:
    """Return codes [K, N], biases in accumulator scale, and the scale of each of N channels."""
    scales = np.abs(weights).max(axis=0).astype(np.float64) / 127
    codes = np.round(weights / scales).astype(np.int8)
    return codes, np.round(biases / (scales * x_scale)).astype(np.int32), scales


def _convolution(graph: Graph, name: str, x: Value, network: Network, result: QuantParams) -> Value:
    assert x.type.quant is not None
    x_scale, x_zero_point = x.type.quant.scale[0], x.type.quant.zero_point[0]
    codes, bias, scales = _quantized_weights(network.weights[name], network.biases[name], x_scale)
    channels = x.type.static_shape[-1]
    kernel = codes.T.reshape(-1, 3, 3, channels)
    op = QConv2d(
        window=SAME,
        x_zero_point=x_zero_point,
        rescale=Rescale.of(*(x_scale * s / result.scale[0] for s in scales)),
        zero_point=result.zero_point[0],
        low=result.zero_point[0],  # ReLU: nothing below real zero
    )
    per_channel = QuantParams(tuple(scales.tolist()), (0,) * len(scales), axis=0)
    w = graph.constant(kernel, name=f"{name}.weights", quant=per_channel)
    b = graph.constant(bias, name=f"{name}.bias")
    return graph.apply(op, x, w, b, name=name, quant=result)


def _dense(graph: Graph, x: Value, network: Network, result: QuantParams) -> Value:
    assert x.type.quant is not None
    x_scale, x_zero_point = x.type.quant.scale[0], x.type.quant.zero_point[0]
    codes, bias, scales = _quantized_weights(
        network.weights["dense"], network.biases["dense"], x_scale
    )
    op = QDense(
        x_zero_point=x_zero_point,
        rescale=Rescale.of(*(x_scale * s / result.scale[0] for s in scales)),
        zero_point=result.zero_point[0],
    )
    per_channel = QuantParams(tuple(scales.tolist()), (0,) * len(scales), axis=0)
    w = graph.constant(codes.T, name="dense.weights", quant=per_channel)
    b = graph.constant(bias, name="dense.bias")
    return graph.apply(op, x, w, b, name="dense", quant=result)


def main() -> None:
    """Train, quantize, save, and say how good the result is."""
    images, labels = digits()
    network = Network()
    network.train(images[:-HELD_OUT], labels[:-HELD_OUT])
    logits = network.forward(images[-HELD_OUT:])["logits"]
    right = int((logits.argmax(axis=1) == labels[-HELD_OUT:]).sum())
    path = Path(__file__).parent / "digits.rlx"
    save(GraphModule(quantize(network, images[:-HELD_OUT]), Stage.MIR), path)
    print(f"float network: {right} of {HELD_OUT} held-out digits right; wrote {path.name}")


if __name__ == "__main__":
    main()
