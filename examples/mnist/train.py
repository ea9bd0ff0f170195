"""Train TinyConv, a small network for MNIST's handwritten digits, and quantize it to int8.

    28x28x1 -> conv 3x3, 8, ReLU -> max pool 2x2 -> conv 3x3, 16, ReLU -> max pool 2x2 -> dense 10

Run ``python -m examples.mnist.train FOLDER`` in the root of the repository to recreate
``tinyconv.rlx``. FOLDER holds ``t10k-images-idx3-ubyte.gz`` and ``t10k-labels-idx1-ubyte.gz`` of
the MNIST database (Y. LeCun, C. Cortes, C. Burges; CC BY-SA 3.0). The first 8,000 of these 10,000
images are for training, the others for testing.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from examples.training import Convolution, Dense, MaxPool, Network, correct
from rlx.ir import Graph, QuantParams, i8
from rlx.ir.evaluate import evaluate
from rlx.ir.file import save
from rlx.ir.module import GraphModule, Stage
from rlx.ops.q import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

TRAINED = 8000
"""Number of training images, the first ones."""

EPOCHS = 20
VALID = Window(kernel=(3, 3))
MODEL = Path(__file__).parent / "tinyconv.rlx"


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


def quantize(trained: Network, calibration: NDArray[np.float32]) -> Graph:
    """Return the int8 network; its output is the quantized logits."""
    graph = Graph("tinyconv")
    pixels = QuantParams.per_tensor(float(np.float32(1 / 255)), -128)
    x = graph.input("image", i8(1, 28, 28, 1, quant=pixels))
    graph.output(trained.quantize(graph, x, calibration), names=["logits"])
    return graph


def main(folder: Path) -> None:
    """Train, quantize, save, and print the accuracy."""
    images, labels = digits(folder)
    pixels = (images / 255).astype(np.float32)
    trained = network()
    trained.train(pixels[:TRAINED], labels[:TRAINED], EPOCHS)
    held_out = labels[TRAINED:]
    print(
        f"float: {correct(trained.classes(pixels[TRAINED:]), held_out)} of {len(held_out)} correct"
    )
    graph = quantize(trained, pixels[:1000])
    save(GraphModule(graph, Stage.MIR), MODEL)
    inputs = quantized(images[TRAINED:])
    found = [evaluate(graph, {"image": x[np.newaxis]})[0].argmax() for x in inputs]
    print(f"int8: {correct(found, held_out)} of {len(held_out)} correct; wrote {MODEL.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
