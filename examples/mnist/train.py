"""Train TinyConv, a small network for MNIST's handwritten digits, and quantize it.

    28x28x1 -> conv 3x3, 8, ReLU -> max pool 2x2 -> conv 3x3, 16, ReLU -> max pool 2x2 -> dense 10

Run ``python -m examples.mnist.train FOLDER`` in the root of the repository to recreate
``tinyconv_float.rlx`` and ``tinyconv.rlx``. FOLDER holds ``t10k-images-idx3-ubyte.gz`` and
``t10k-labels-idx1-ubyte.gz`` of the MNIST database (Y. LeCun, C. Cortes, C. Burges; CC BY-SA 3.0).
The first 8,000 of these 10,000 images are for training, the others for testing.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import rlx
from examples.training import Convolution, Dense, MaxPool, Network
from rlx.ir import Graph, f32
from rlx.ir.file import save
from rlx.ir.module import GraphModule
from rlx.ops.q import Window
from rlx.passes.boundaries import PortKind, with_ports

if TYPE_CHECKING:
    from numpy.typing import NDArray

TRAINED = 8000
"""Number of training images, the first ones."""

EPOCHS = 20
VALID = Window(kernel=(3, 3))
MODEL = Path(__file__).parent / "tinyconv.rlx"
FLOAT_MODEL = MODEL.with_name("tinyconv_float.rlx")


def digits(folder: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return MNIST's test images [10000, 28, 28, 1] and labels from files in IDX format."""
    pixels = gzip.decompress((folder / "t10k-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((folder / "t10k-labels-idx1-ubyte.gz").read_bytes())
    images = np.frombuffer(pixels, np.uint8, offset=16).reshape(-1, 28, 28, 1)
    return images, np.frombuffer(labels, np.uint8, offset=8).astype(np.int64)


def quantized(images: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Return images as the quantized network takes them: pixel value minus 128."""
    return (images.astype(np.int16) - 128).astype(np.int8)


def network(seed: int = 0) -> Network:
    """Return TinyConv with random weights."""
    random = np.random.default_rng(seed)
    return Network([
        Convolution("conv1", VALID, (1, 8), random),
        MaxPool("pool1"),
        Convolution("conv2", VALID, (8, 16), random),
        MaxPool("pool2"),
        Dense("dense", 400, 10, random),
    ])  # fmt: skip


def float_graph(trained: Network) -> Graph:
    """Return the network in float; its output is the logits."""
    graph = Graph("tinyconv")
    graph.output(
        trained.append_to(graph, graph.input("image", f32(1, 28, 28, 1))), names=["logits"]
    )
    return graph


def main(folder: Path) -> None:
    """Train, save the float network, quantize and save it, and print the accuracy."""
    images, labels = digits(folder)
    pixels = (images / 255).astype(np.float32)
    trained = network()
    trained.train(pixels[:TRAINED], labels[:TRAINED], EPOCHS)
    graph = float_graph(trained)
    save(GraphModule.hir(graph), FLOAT_MODEL)
    test = {"image": pixels[TRAINED:], "y": labels[TRAINED:]}
    found = rlx.quantize(graph, pixels[:1000], test=test)
    save(GraphModule.mir(with_ports(found.module.graph, PortKind.INT8).graph), MODEL)
    right = found.report.comparison.top1 or (0.0, 0.0)
    print(f"correct in float {right[0]:.2%}, in int8 {right[1]:.2%}; wrote {MODEL.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
