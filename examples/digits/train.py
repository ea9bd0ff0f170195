"""Train the demo's network on scikit-learn's handwritten digits and quantize it.

Run ``python -m examples.digits.train`` in the root of the repository to recreate ``digits.rlx`` and
``samples.npz``; then ``python tests/examples/make_tflite.py`` recreates ``digits.tflite``.

    8x8x1 -> conv 3x3, 8, ReLU -> max pool 2x2 -> conv 3x3, 16, ReLU -> dense 10 -> softmax
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_digits

import rlx
from examples.training import Convolution, Dense, MaxPool, Network
from rlx.ir import Graph, f32
from rlx.ir.file import save
from rlx.ir.module import GraphModule
from rlx.ops.nn import NnSoftmax
from rlx.ops.q import Window
from rlx.passes.boundaries import PortKind, with_ports

if TYPE_CHECKING:
    from numpy.typing import NDArray

HELD_OUT = 397
"""The last images of the data set are never trained on: ``samples.npz``."""

EPOCHS = 60
MODEL = Path(__file__).parent / "digits.rlx"
SAMPLES = MODEL.with_name("samples.npz")
SAME = Window(kernel=(3, 3), padding=((1, 1), (1, 1)))


def digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return images [1797, 8, 8, 1] in [0, 1] and labels 0 to 9."""
    data = load_digits()
    images = (data.images / 16).astype(np.float32)[..., np.newaxis]
    return images, data.target.astype(np.int64)


def network(seed: int = 0) -> Network:
    """Return the network with random weights."""
    random = np.random.default_rng(seed)
    return Network([
        Convolution("conv1", SAME, (1, 8), random),
        MaxPool("pool"),
        Convolution("conv2", SAME, (8, 16), random),
        Dense("dense", 256, 10, random),
    ])  # fmt: skip


def float_graph(trained: Network) -> Graph:
    """Return the network in float, with a softmax behind it."""
    graph = Graph("digits")
    logits = trained.append_to(graph, graph.input("image", f32(1, 8, 8, 1)))
    graph.output(graph.apply(NnSoftmax(), logits, name="probabilities"))
    return graph


def samples() -> dict[str, NDArray[np.int8 | np.int64]]:
    """Return the held-out digits as the network takes them.

    Returns:
        ``image`` int8 [397, 1, 8, 8, 1] and ``labels`` int64 [397].
    """
    images, labels = digits()
    quantized = np.round(images[-HELD_OUT:] * 255 - 128).astype(np.int8)
    return {"image": quantized[:, np.newaxis], "labels": labels[-HELD_OUT:]}


def main() -> None:
    """Train, quantize, save, and print the accuracy."""
    np.savez_compressed(SAMPLES, **samples())
    images, labels = digits()
    trained = network()
    trained.train(images[:-HELD_OUT], labels[:-HELD_OUT], EPOCHS)
    test = {"image": images[-HELD_OUT:], "y": labels[-HELD_OUT:]}
    found = rlx.quantize(float_graph(trained), images[:-HELD_OUT], test=test)
    save(GraphModule.mir(with_ports(found.module.graph, PortKind.INT8).graph), MODEL)
    before, after = found.report.comparison.top1 or (0.0, 0.0)
    print(f"of {HELD_OUT} held-out digits {before:.2%} correct in float, {after:.2%} in int8")


if __name__ == "__main__":
    main()
