"""Make the files of this folder: a float network as ONNX, samples to calibrate and to test it.

Run ``python -m examples.onnx_to_firmware.make_files [DIR]`` in the root of the repository. It
trains the network of ``examples/digits`` in NumPy and writes it as a framework would export it:

- ``digits.onnx``: float32, channels first, input ``image`` [1, 1, 8, 8] in [0, 1];
- ``calib.npz``: ``image``, 200 samples that it was trained on;
- ``test.npz``: ``image`` and ``labels``, 397 samples that it was not trained on.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from examples.digits.train import HELD_OUT, digits, network

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from examples.training import Network

CALIBRATION = 200
EPOCHS = 40


def model_of(trained: Network) -> onnx.ModelProto:
    """Return the network as a channels-first ONNX graph."""
    conv1, _, conv2, dense = trained.layers
    weights = {
        "conv1.weight": _oihw(conv1.values[0], 3, 1),
        "conv1.bias": conv1.values[1],
        "conv2.weight": _oihw(conv2.values[0], 3, 8),
        "conv2.bias": conv2.values[1],
        "dense.weight": _channels_first_rows(dense.values[0], 4, 16).T,
        "dense.bias": dense.values[1],
    }
    same = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        helper.make_node("Conv", ["image", "conv1.weight", "conv1.bias"], ["c1"], "conv1", **same),
        helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
        helper.make_node("MaxPool", ["r1"], ["p1"], "pool", **pool),
        helper.make_node("Conv", ["p1", "conv2.weight", "conv2.bias"], ["c2"], "conv2", **same),
        helper.make_node("Relu", ["c2"], ["r2"], "relu2"),
        helper.make_node("Flatten", ["r2"], ["flat"], "flatten"),
        helper.make_node(
            "Gemm", ["flat", "dense.weight", "dense.bias"], ["logits"], "dense", transB=1
        ),
        helper.make_node("Softmax", ["logits"], ["probabilities"], "softmax"),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(np.ascontiguousarray(a), name) for name, a in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _oihw(weights: NDArray[np.float32], kernel: int, channels: int) -> NDArray[np.float32]:
    """Return weights [kernel * kernel * channels, outputs] as ONNX orders them."""
    return weights.reshape(kernel, kernel, channels, -1).transpose(3, 2, 0, 1)


def _channels_first_rows(
    weights: NDArray[np.float32], size: int, channels: int
) -> NDArray[np.float32]:
    """Return weights [size * size * channels, outputs] for a channels-first image."""
    image = weights.reshape(size, size, channels, -1)
    return image.transpose(2, 0, 1, 3).reshape(len(weights), -1)


def main() -> None:
    """Train, and write the three files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    images, labels = digits()
    trained = network()
    trained.train(images[:-HELD_OUT], labels[:-HELD_OUT], EPOCHS)
    onnx.save(model_of(trained), folder / "digits.onnx")
    samples = images.transpose(0, 3, 1, 2)
    np.savez_compressed(folder / "calib.npz", image=samples[:CALIBRATION, np.newaxis])
    test = {"image": samples[-HELD_OUT:, np.newaxis], "labels": labels[-HELD_OUT:]}
    np.savez_compressed(folder / "test.npz", **test)


if __name__ == "__main__":
    main()
