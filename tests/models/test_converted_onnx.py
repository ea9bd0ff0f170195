"""The quantized ONNX networks of MLPerf Tiny as integer graphs, layer by layer.

Fed the values that ONNX Runtime computes in front of it, each layer gives the runtime's values:
99.9 % of them, the others one step beside it.
"""

import numpy as np
import onnx
import pytest
from onnx_builder import by_runtime
from support import shared_folder

from rlx import frontends
from rlx.ir import DType, Input
from rlx.ir.evaluate import evaluate
from rlx.ir.module import GraphModule, Stage
from rlx.ir.verify import verify
from rlx.ops.real import RealQuantize
from rlx.passes.quantize import convert

pytestmark = pytest.mark.models

FRAMES = 64
SHARE = 0.999


def images():
    return inputs("ic_calib500_uint8.npy").astype(np.float32)


def words():
    return (inputs("kws01_x_int8.npy").astype(np.float32) - 83) * np.float32(0.5847029)


def inputs(name):
    return np.load(shared_folder("models/mlperf-tiny/inputs") / name)[:FRAMES]


NETWORKS = {"ic_resnet_quant": images, "kws_ref_model_quant": words}


def path_of(name):
    return shared_folder("models/mlperf-tiny/onnx") / f"{name}.onnx"


def with_quantized_values(path):
    """Return a model that gives what every QuantizeLinear makes too, and the names of these."""
    model = onnx.load(path)
    names = [n.output[0] for n in model.graph.node if n.op_type == "QuantizeLinear"]
    model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names)
    return model.SerializeToString(), names


def integer_values(converted):
    """Return for integer values the name and type of the quantize node that they stand for."""
    found = {}
    for value, made in converted.values.items():
        if isinstance(value.node.op, RealQuantize):
            found.setdefault(made, (value.name, value.node.op.dtype))
    return found


def as_int8(theirs, dtype, shape):
    """Return the runtime's values as int8, channels last."""
    steps = theirs.astype(np.int64) - (128 if dtype is DType.U8 else 0)
    if steps.ndim == 4 and steps.shape != shape:
        steps = steps.transpose(0, 2, 3, 1)
    return steps.reshape(shape).astype(np.int8)


def differences(converted, frame, theirs):
    """Return by name how far each layer's values are off, given the runtime's in front of it."""
    names, found, values = integer_values(converted), {}, {}
    for node in converted.graph.nodes:
        if isinstance(node.op, Input):
            values[node.result] = frame
            continue
        (result,) = node.op.evaluate(*(values[o] for o in node.operands))
        if node.result in names:
            name, dtype = names[node.result]
            wanted = as_int8(theirs[name], dtype, result.shape)
            found[name] = np.abs(result.astype(int) - wanted).reshape(-1)
            result = wanted
        values[node.result] = result
    return found


@pytest.mark.parametrize("name", NETWORKS)
def test_layers_are_those_of_onnx_runtime(name):
    module = frontends.load(path_of(name))
    converted = convert(module.graph, {})
    verify(GraphModule(converted.graph, Stage.MIR))
    data, names = with_quantized_values(path_of(name))
    (given,) = module.graph.inputs
    off, same = {}, 0
    for frame in NETWORKS[name]().reshape(FRAMES, *given.type.shape):
        output, *values = by_runtime(data, frame)
        found = differences(converted, frame, dict(zip(names, values, strict=True)))
        assert found.keys() == set(names)
        for layer, errors in found.items():
            off.setdefault(layer, []).append(errors)
        (ours,) = evaluate(converted.graph, {given.name: frame})
        same += int(ours.argmax() == output.argmax())
    for errors in off.values():
        every = np.concatenate(errors)
        assert every.max() <= 1
        assert np.count_nonzero(every == 0) >= SHARE * every.size
    assert same == FRAMES


@pytest.mark.parametrize("name", NETWORKS)
def test_weights_are_those_of_the_file(name):
    module = frontends.load(path_of(name))
    graph = convert(module.graph, {}).graph
    stored = {
        n.operands[0].constant.astype(np.int8).tobytes()
        for n in module.graph.op_nodes
        if n.op.name == "real.dequantize" and n.operands[0].constant is not None
        and n.operands[0].type.dtype is not DType.I32
    }  # fmt: skip
    sorted_bytes = {bytes(sorted(s)) for s in stored}
    layers = [n for n in graph.op_nodes if n.op.name in ("q.conv2d", "q.dense")]
    assert len(layers) == 10
    for layer in layers:
        weights = layer.operands[1].constant
        assert bytes(sorted(weights.tobytes())) in sorted_bytes
