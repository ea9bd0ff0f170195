"""Integer networks of MLPerf Tiny, and their ONNX form with activations of uint8.

The ONNX form is what ``rlx.export`` writes, with 128 added to the values and zero points of all
activations: ONNX Runtime has faster kernels for uint8 than for int8.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

import rlx
from benchmarks import reference
from benchmarks.host.networks.case import Case
from rlx import frontends
from rlx.passes.transforms.batch import with_batch
from rlx.tracing import Graph

if TYPE_CHECKING:
    from rlx.ir import Array

FILES: Final = {
    "KWS": "kws_ref_model", "ResNet-8": "pretrainedResnet_quant", "VWW": "vww_96_int8",
    "AD": "ad01_int8",
}  # fmt: skip
"""Name of the file of each network, without its suffix."""

_SHIFT: Final = 128


def path(name: str) -> Path:
    """Return the path of a network, which may be missing."""
    return reference.tiny() / f"{FILES[name]}.tflite"


def quantized(name: str, batch: int) -> Case:
    """Return a network of integers, with random samples.

    Args:
        name: A name of :data:`FILES`.
        batch: Number of samples.
    """
    graph = with_batch(frontends.load(path(name)).graph, batch)
    (value,) = graph.inputs
    samples = np.random.default_rng(0).integers(-_SHIFT, _SHIFT, value.type.static_shape)
    model = unsigned(_exported(name), batch)
    unsigned_samples: Array = (samples + _SHIFT).astype(np.uint8)
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    traced = Graph(name)
    traced.graph = graph
    return Case(
        name=name,
        graph=traced,
        model=model,
        inputs={value.name: samples.astype(np.int8)},
        feeds={model.graph.input[0].name: unsigned_samples.reshape(shape)},
    )


def _exported(name: str) -> onnx.ModelProto:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "net.onnx"
        rlx.export(path(name), file)
        return onnx.load(file)


def unsigned(model: onnx.ModelProto, batch: int) -> onnx.ModelProto:
    """Return a model of int8 activations with uint8 ones, for ``batch`` samples."""
    graph = model.graph
    weights = {each.name: each for each in graph.initializer}
    for node in graph.node:
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            _make_scalars(node, weights)
            if node.input[0] not in weights:
                node.input[2] = _shifted(node.input[2], graph, weights)
        elif node.op_type == "Reshape" and node.input[1] in weights:
            _set_batch(weights[node.input[1]], batch)
    for port in (*graph.input, *graph.output):
        port.type.tensor_type.shape.dim[0].dim_value = batch
        if port.type.tensor_type.elem_type == TensorProto.INT8:
            port.type.tensor_type.elem_type = TensorProto.UINT8
    del graph.value_info[:]
    onnx.checker.check_model(model)
    return model


def _make_scalars(node: onnx.NodeProto, weights: dict[str, onnx.TensorProto]) -> None:
    """Make scale and zero point of one element scalars: only these have fused kernels."""
    for name in node.input[1:]:
        array = numpy_helper.to_array(weights[name])
        if array.size == 1:
            weights[name].CopyFrom(numpy_helper.from_array(array.reshape(()).copy(), name))


def _shifted(name: str, graph: onnx.GraphProto, weights: dict[str, onnx.TensorProto]) -> str:
    """Return the name of a zero point of int8 as one of uint8."""
    array = numpy_helper.to_array(weights[name])
    if array.dtype != np.int8:
        return name
    unsigned_name = f"{name}_u8"
    if unsigned_name not in weights:
        shifted = (array.astype(np.int16) + _SHIFT).astype(np.uint8)
        graph.initializer.append(numpy_helper.from_array(shifted, unsigned_name))
        weights[unsigned_name] = graph.initializer[-1]
    return unsigned_name


def _set_batch(shape: onnx.TensorProto, batch: int) -> None:
    """Let a shape whose first size is 1 have ``batch`` there."""
    sizes = numpy_helper.to_array(shape).copy()
    if sizes[0] == 1:
        sizes[0] = batch
        shape.CopyFrom(numpy_helper.from_array(sizes, shape.name))
