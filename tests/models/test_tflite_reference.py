"""The MLPerf Tiny networks: every layer equals TensorFlow Lite Micro's recorded tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from rlx import frontends
from rlx.frontends.tflite import frontend as tflite
from rlx.frontends.tflite.file import parse
from rlx.ir.evaluate import evaluate, evaluate_all
from rlx.ir.verify import verify
from support.networks import mlperf_like

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.ir import Graph

pytestmark = pytest.mark.models

# Model: recorded inputs with all layers, operators, name of the network of the same shapes.
INT8 = {
    "kws_ref_model": (2, 13, "kws"),
    "pretrainedResnet_quant": (2, 16, "resnet"),
    "vww_96_int8": (1, 31, "vww"),
    "ad01_int8": (2, 10, "autoencoder"),
}


def shapes(graph: Graph) -> list[tuple[str, list[object]]]:
    """Return for each layer its operation and the shapes of what it reads and makes."""
    return [
        (node.op.name, [value.type.shape for value in (*node.operands, *node.results)])
        for node in graph.op_nodes
    ]


@pytest.mark.parametrize("name", INT8)
def test_every_output_and_layer_equals_tflm(shared_models: Path, name: str) -> None:
    module = frontends.load(shared_models / f"{name}.tflite")
    verify(module)
    graph = module.graph
    vectors = np.load(shared_models / "vectors" / f"{name}.npz")
    for x, y in zip(vectors["x"], vectors["y"], strict=True):
        (found,) = evaluate(graph, {graph.inputs[0].name: x})
        np.testing.assert_array_equal(found, y)
    runs, operators, like = INT8[name]
    assert shapes(graph) == shapes(tflite.load(mlperf_like.network(like)).graph)
    model = parse((shared_models / f"{name}.tflite").read_bytes(), name)
    # The last node of an operator makes its output.
    values = {node.origin.location: node.result for node in graph.op_nodes}
    compared = 0
    for run in range(runs):
        arrays = evaluate_all(graph, {graph.inputs[0].name: vectors["x"][run]})
        for operator in model.operators:
            recorded = vectors[f"layer/{run}/{operator.outputs[0]}"]
            np.testing.assert_array_equal(arrays[values[operator.label]], recorded)
            compared += 1
    assert compared == runs * operators
    assert sum(key.startswith("layer/") for key in vectors.files) == compared
