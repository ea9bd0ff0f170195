"""The MLPerf Tiny networks: every layer equals TensorFlow Lite Micro's recorded tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from rlx import frontends
from rlx.frontends.tflite.file import parse
from rlx.ir.evaluate import evaluate, evaluate_all
from rlx.ir.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.ir import Graph

pytestmark = pytest.mark.models

# Model: (recorded inputs with all layers, operators).
INT8 = {
    "kws_ref_model": (2, 13),
    "pretrainedResnet_quant": (2, 16),
    "vww_96_int8": (1, 31),
    "ad01_int8": (2, 10),
}


def load(folder: Path, name: str) -> Graph:
    module = frontends.load(folder / f"{name}.tflite")
    verify(module)
    return module.graph


@pytest.mark.parametrize("name", INT8)
def test_every_output_equals_tflm(shared_models: Path, name: str) -> None:
    graph = load(shared_models, name)
    vectors = np.load(shared_models / "vectors" / f"{name}.npz")
    for x, y in zip(vectors["x"], vectors["y"], strict=True):
        (found,) = evaluate(graph, {graph.inputs[0].name: x})
        np.testing.assert_array_equal(found, y)


@pytest.mark.parametrize("name", INT8)
def test_every_layer_equals_tflm(shared_models: Path, name: str) -> None:
    runs, operators = INT8[name]
    graph = load(shared_models, name)
    vectors = np.load(shared_models / "vectors" / f"{name}.npz")
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
