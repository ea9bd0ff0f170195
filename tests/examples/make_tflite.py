"""Write ``examples/digits/digits.tflite``: the network of ``digits.rlx`` as a converter would.

Run ``python tests/examples/make_tflite.py`` after ``digits.rlx`` was trained again.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import rlx

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests"))

from support.files.tflite_builder import TfliteBuilder  # noqa: E402 - pytest's path, for a run without it

if TYPE_CHECKING:
    from rlx.ir import Graph, Node

DIGITS = ROOT / "examples" / "digits"


def digits_tflite(graph: Graph) -> bytes:
    """Return the network as a TFLite file with the same scales, zero points and weights."""
    model = TfliteBuilder()
    model.model.description = "digits, an example of rlx"
    nodes = {node.name: node for node in graph.nodes}
    tensors = {name: _result(model, nodes[name]) for name in ("image", *_CHAIN)}
    for (name, options), before in zip(_CHAIN.items(), tensors, strict=False):
        code, fields = options
        operands = [tensors[before], *_constants(model, nodes[name])]
        if code == "RESHAPE":
            operands.append(model.constant(np.array([1, 256], np.int32), name="shape"))
        model.operator(code, operands, [tensors[name]], **fields)
    return model.build(inputs=[tensors["image"]], outputs=[tensors["probabilities"]])


_SAME = {"padding": "SAME", "strideW": 1, "strideH": 1, "dilationWFactor": 1, "dilationHFactor": 1}
_CHAIN = {
    "conv1": ("CONV_2D", _SAME | {"fusedActivationFunction": "RELU"}),
    "pool": (
        "MAX_POOL_2D",
        {"padding": "VALID", "strideW": 2, "strideH": 2, "filterWidth": 2, "filterHeight": 2},
    ),
    "conv2": ("CONV_2D", _SAME | {"fusedActivationFunction": "RELU"}),
    "flatten": ("RESHAPE", {"newShape": np.array([1, 256], np.int32)}),
    "dense": ("FULLY_CONNECTED", {}),
    "probabilities": ("SOFTMAX", {"beta": 1.0}),
}
"""Operator and options of each node, in the order in which they run."""


def _result(model: TfliteBuilder, node: Node) -> int:
    """Add the tensor that a node computes."""
    (type_,) = node.types
    (scale,), (zero_point,) = type_.quant.scale, type_.quant.zero_point
    return model.tensor(type_.shape, scale=scale, zero_point=zero_point, name=node.name)


def _constants(model: TfliteBuilder, node: Node) -> list[int]:
    """Add the tensors of weights and bias of a node: none for most."""
    if len(node.operands) == 1:
        return []
    x, weights, bias = node.operands
    (input_scale,) = x.type.quant.scale
    scales = np.float32(input_scale) * np.array(weights.type.quant.scale, np.float32)
    return [
        model.constant(weights.node.op.value, scale=weights.type.quant.scale, name=weights.name),
        model.constant(bias.node.op.value, scale=scales, name=bias.name),
    ]


def main() -> None:
    """Write the file."""
    graph = rlx.load(DIGITS / "digits.rlx").graph
    (DIGITS / "digits.tflite").write_bytes(digits_tflite(graph))


if __name__ == "__main__":
    main()
