"""Train the demo's network on scikit-learn's handwritten digits and quantize it to int8.

Run ``python -m examples.digits.train`` in the root of the repository to recreate ``digits.rlx``.

    8x8x1 -> conv 3x3, 8, ReLU -> max pool 2x2 -> conv 3x3, 16, ReLU -> dense 10 -> softmax
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_digits

from examples.training import Convolution, Dense, MaxPool, Network, correct
from rlx.ir import Graph, QuantParams, i8
from rlx.ir.file import save
from rlx.ir.module import GraphModule, Stage
from rlx.numerics.exponential import softmax_scaling
from rlx.ops.q import QSoftmax, Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

HELD_OUT = 397
"""The last images of the data set are never trained on; the demo uses them."""

EPOCHS = 60
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


def quantize(trained: Network, calibration: NDArray[np.float32]) -> Graph:
    """Return the int8 network, with ranges taken from ``calibration`` images."""
    graph = Graph("digits")
    pixels = QuantParams.per_tensor(float(np.float32(1 / 255)), -128)
    x = trained.quantize(graph, graph.input("image", i8(1, 8, 8, 1, quant=pixels)), calibration)
    scale = x.type.quant.scale[0] if x.type.quant else 1.0
    multiplier, left_shift, diff_min = softmax_scaling(scale)
    softmax = QSoftmax(multiplier=multiplier, left_shift=left_shift, diff_min=diff_min)
    graph.output(graph.apply(softmax, x, name="probabilities"))
    return graph


def main() -> None:
    """Train, quantize, save, and print the accuracy."""
    images, labels = digits()
    trained = network()
    trained.train(images[:-HELD_OUT], labels[:-HELD_OUT], EPOCHS)
    count = correct(trained.classes(images[-HELD_OUT:]), labels[-HELD_OUT:])
    path = Path(__file__).parent / "digits.rlx"
    save(GraphModule(quantize(trained, images[:-HELD_OUT]), Stage.MIR), path)
    print(f"float network: {count} of {HELD_OUT} held-out digits correct; wrote {path.name}")


if __name__ == "__main__":
    main()
