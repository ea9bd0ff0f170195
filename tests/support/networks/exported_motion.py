"""A 1-d convolutional network as PyTorch exports it: its nodes have other names than its values."""

import numpy as np

from support.files.onnx_builder import model, node

FRAMES = np.random.default_rng(1).standard_normal((16, 3, 32)).astype(np.float32)
"""Frames for its input ``motion``."""


def motion_model(change=0.0):
    """Return the bytes of the ONNX model.

    Args:
        change: Difference of one weight of ``node_Conv_31``, the second of two convolutions.
    """
    random = np.random.default_rng(0)
    shapes = {
        "w1": (8, 3, 3),
        "b1": (8,),
        "w2": (16, 8, 3),
        "b2": (16,),
        "w3": (4, 128),
        "b3": (4,),
    }
    constants = {n: random.normal(0, 0.4, s).astype(np.float32) for n, s in shapes.items()}
    constants["w2"][3, 2, 1] += change
    window = {"kernel_shape": [3], "pads": [1, 1]}
    pool = {"kernel_shape": [2], "strides": [2]}
    nodes = [
        node("Conv", "motion w1 b1", "getitem", name="node_Conv_30", **window),
        node("Relu", "getitem", "relu", name="node_relu"),
        node("MaxPool", "relu", "max_pool1d", name="node_max_pool1d", **pool),
        node("Conv", "max_pool1d w2 b2", "getitem_3", name="node_Conv_31", **window),
        node("Relu", "getitem_3", "relu_1", name="node_relu_1"),
        node("MaxPool", "relu_1", "max_pool1d_1", name="node_max_pool1d_1", **pool),
        node("Flatten", "max_pool1d_1", "view", name="node_view"),
        node("Gemm", "view w3 b3", "linear", name="node_linear", transB=1),
        node("Softmax", "linear", "probs", name="node_softmax", axis=1),
    ]
    return model(nodes, {"motion": [1, 3, 32]}, {"probs": [1, 4]}, constants)


def motion_files(folder, *changes):
    """Write a quantized network to ``folder`` for each change of a weight, and return the paths."""
    import rlx
    from rlx.ir.file import save

    paths = []
    for number, change in enumerate(changes):
        source = folder / f"motion{number}.onnx"
        source.write_bytes(motion_model(change))
        paths.append(folder / f"motion{number}.rlx")
        save(rlx.quantize(rlx.load(source), FRAMES).module, paths[-1])
    return paths
