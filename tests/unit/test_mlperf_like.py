"""The stand-ins for the reference networks are sound files, and no frame is like another."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.frontends.tflite.file import parse
from rlx.ir.evaluate import evaluate
from support.files.tflite_builder import run_tflm
from support.networks import mlperf_like


@pytest.mark.parametrize("name", mlperf_like.NETWORKS)
def test_integer_networks_equal_tflm(name: str) -> None:
    data = mlperf_like.network(name)
    graph = tflite.load(data).graph
    (given,) = graph.inputs
    outputs = []
    for seed in range(2):
        x = np.random.default_rng(seed).integers(-128, 128, given.type.static_shape)
        (found,) = evaluate(graph, {given.name: x.astype(np.int8)})
        np.testing.assert_array_equal(found, run_tflm(data, x.astype(np.int8))[0])
        outputs.append(found)
    assert not np.array_equal(*outputs)


@pytest.mark.parametrize("name", mlperf_like.NETWORKS)
def test_dynamic_range_networks_compute_in_float(name: str) -> None:
    graph = tflite.load(mlperf_like.dynamic_range(name)).graph
    (given,) = graph.inputs
    x = np.random.default_rng(0).normal(0, 1, given.type.static_shape).astype(np.float32)
    (found,) = evaluate(graph, {given.name: x})
    assert found.dtype == np.float32
    assert np.ptp(found) > 0.01


def test_weights_of_a_dynamic_range_file_are_scale_times_code() -> None:
    data = mlperf_like.dynamic_range("kws")
    graph = tflite.load(data).graph
    constants = {node.origin.location: node.result.constant for node in graph.nodes}
    codes = [t for t in parse(data, "kws").tensors if t.type.name == "INT8"]
    assert len(codes) == 6
    for tensor in codes:
        found = constants[f"tensor {tensor.index}"]
        assert found is not None
        assert tensor.quantization is not None
        exact = tensor.array().astype(np.float64) * float(tensor.quantization.scale[0])
        np.testing.assert_array_equal(found, exact.astype(np.float32))
