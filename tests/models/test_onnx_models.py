"""The ONNX networks of MLPerf Tiny: ONNX Runtime's outputs, and images channels last inside.

The quantized ones also as integer graphs, layer by layer: fed the values that ONNX Runtime computes
before it, each layer gives the runtime's values: 99.9 % of them, the others one step beside.
"""

import numpy as np
import onnx
import pytest

from rlx import frontends
from rlx.ir import DType, Input
from rlx.ir.evaluate import evaluate
from rlx.ir.module import GraphModule, Stage
from rlx.ir.verify import verify
from rlx.ops.nn import Layout
from rlx.ops.real import RealQuantize
from rlx.passes.quantize import convert
from support import shared_folder
from support.files.onnx_builder import by_runtime

pytestmark = pytest.mark.models

FRAMES = 64
# Tolerance: a share of the range of an output.
SHARE = 1e-5
# Share of the values of an integer layer that are the runtime's.
EQUAL = 0.999


def images(name, scale=1.0):
    return (np.load(shared_folder("models/mlperf-tiny/inputs") / name)[:FRAMES]).astype(
        np.float32
    ) * np.float32(scale)


def words():
    codes = np.load(shared_folder("models/mlperf-tiny/inputs") / "kws01_x_int8.npy")[:FRAMES]
    return (codes.astype(np.float32) - 83) * np.float32(0.5847029)


def first(x):
    """Return images with the channels first."""
    return x.transpose(0, 3, 1, 2)


NETWORKS = {
    "ic_pretrainedResnet_float": lambda: first(images("ic_calib500_uint8.npy")),
    "ic_resnet_quant": lambda: images("ic_calib500_uint8.npy"),
    "kws_ref_model_quant": words,
    "vww_96_float": lambda: first(images("vww01_first64_rgb_uint8.npy", 1 / 255)),
}


def path_of(name):
    return shared_folder("models/mlperf-tiny/onnx") / f"{name}.onnx"


def frames_of(name, graph):
    (given,) = graph.inputs
    return np.ascontiguousarray(NETWORKS[name]()).reshape(FRAMES, *given.type.shape)


def shares(ours, theirs):
    """Return the distance of each frame's outputs as a share of the outputs' range."""
    assert ours.shape == theirs.shape
    assert len(np.unique(theirs.argmax(-1))) > 1
    distance = np.abs(ours - theirs).reshape(FRAMES, -1).max(-1)
    return distance / (theirs.max() - theirs.min())


@pytest.mark.parametrize("name", ["ic_pretrainedResnet_float", "vww_96_float"])
def test_outputs_are_those_of_onnx_runtime(name):
    module = frontends.load(path_of(name))
    verify(module)
    check_channels_last(module.graph)
    (given,) = module.graph.inputs
    data, frames = path_of(name).read_bytes(), frames_of(name, module.graph)
    ours = np.stack([evaluate(module.graph, {given.name: f})[0] for f in frames])
    theirs = np.stack([by_runtime(data, f)[0] for f in frames])
    assert shares(ours, theirs).max() <= SHARE


def with_all_codes(data):
    """Return a model that gives what every QuantizeLinear makes too, and the names of these."""
    model = onnx.load_from_string(data)
    names = [n.output[0] for n in model.graph.node if n.op_type == "QuantizeLinear"]
    model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names)
    return model.SerializeToString(), names


def fed_with(graph, frame, codes):
    """Evaluate a graph; behind each quantize the given codes go on, after they are compared.

    Returns:
        The outputs, and of each quantize how many codes differ, and by how much at most.
    """
    values, differences = {}, {}
    for node in graph.nodes:
        if isinstance(node.op, Input):
            values[node.result] = frame
            continue
        results = node.op.evaluate(*(values[o] for o in node.operands))
        if node.op.name == "real.quantize":
            wanted = codes[node.name]
            if wanted.ndim == 4 and wanted.shape != results[0].shape:
                wanted = wanted.transpose(0, 2, 3, 1)
            wanted = wanted.reshape(results[0].shape)
            off = np.abs(results[0].astype(int) - wanted)
            differences[node.name] = (np.count_nonzero(off), off.max(), off.size)
            results = (wanted,)
        values.update(zip(node.results, results, strict=True))
    return [values[o] for o in graph.outputs], differences


def integer_values(converted):
    """Return for integer values the name and type of the quantize node that they represent."""
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


def errors_of_layers(converted, frame, theirs):
    """Return by name how far each layer's values are off, given the runtime's before it."""
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


def check_channels_last(graph):
    """Fail if an image has its channels first anywhere inside."""
    for node in graph.op_nodes:
        assert getattr(node.op, "layout", Layout.CHANNELS_LAST) is Layout.CHANNELS_LAST
        if node.op.name == "real.transpose":
            assert isinstance(node.operands[0].node.op, Input) or node.result in graph.outputs


def check_weights(imported, converted):
    """Fail unless the weights of the ten integer layers are those of the file."""
    stored = {
        n.operands[0].constant.astype(np.int8).tobytes()
        for n in imported.op_nodes
        if n.op.name == "real.dequantize" and n.operands[0].constant is not None
        and n.operands[0].type.dtype is not DType.I32
    }  # fmt: skip
    sorted_bytes = {bytes(sorted(s)) for s in stored}
    layers = [n for n in converted.op_nodes if n.op.name in ("q.conv2d", "q.dense")]
    assert len(layers) == 10
    for layer in layers:
        assert bytes(sorted(layer.operands[1].constant.tobytes())) in sorted_bytes


def check_imported(graph, frames, names, theirs):
    """Compare the imported graph with the runtime's outputs and codes.

    Sums in another order move a number that lies at a rounding half to the next code. Fed the
    runtime's codes, every output is the runtime's, and few codes of a layer differ, by 1. From end
    to end one such code changes outputs by more than the tolerance; ONNX Runtime with and without
    its optimizations differs in the same way.
    """
    (given,) = graph.inputs
    alone, fed = [], []
    counts = dict.fromkeys(names, 0)
    for frame, (_, *codes) in zip(frames, theirs, strict=True):
        found, differences = fed_with(graph, frame, dict(zip(names, codes, strict=True)))
        assert differences.keys() == counts.keys()
        for layer, (count, most, size) in differences.items():
            assert most <= 1
            counts[layer] += count / size
        fed.append(found[0])
        alone.append(evaluate(graph, {given.name: frame})[0])
    assert max(counts.values()) / FRAMES < 0.001
    outputs = np.stack([output for output, *_ in theirs])
    assert shares(np.stack(fed), outputs).max() <= SHARE
    near = shares(np.stack(alone), outputs) <= SHARE
    assert near.sum() >= FRAMES - 6


def check_converted(converted, frames, names, theirs):
    """Compare the integer graph with the runtime's values, layer by layer, and its classes."""
    (given,) = converted.graph.inputs
    off, same = {}, 0
    for frame, (output, *values) in zip(frames, theirs, strict=True):
        found = errors_of_layers(converted, frame, dict(zip(names, values, strict=True)))
        assert found.keys() == set(names)
        for layer, errors in found.items():
            off.setdefault(layer, []).append(errors)
        (ours,) = evaluate(converted.graph, {given.name: frame})
        same += int(ours.argmax() == output.argmax())
    for errors in off.values():
        every = np.concatenate(errors)
        assert every.max() <= 1
        assert np.count_nonzero(every == 0) >= EQUAL * every.size
    assert same == FRAMES


@pytest.mark.parametrize("name", ["ic_resnet_quant", "kws_ref_model_quant"])
def test_quantized_networks_are_those_of_onnx_runtime(name):
    module = frontends.load(path_of(name))
    verify(module)
    check_channels_last(module.graph)
    converted = convert(module.graph, {})
    verify(GraphModule(converted.graph, Stage.MIR))
    check_weights(module.graph, converted.graph)
    data, names = with_all_codes(path_of(name).read_bytes())
    frames = frames_of(name, module.graph)
    theirs = [by_runtime(data, frame) for frame in frames]
    check_imported(module.graph, frames, names, theirs)
    check_converted(converted, frames, names, theirs)
