"""The ONNX networks of MLPerf Tiny: ONNX Runtime's outputs, and images channels last inside."""

import numpy as np
import onnx
import pytest
from onnx_builder import by_runtime
from support import shared_folder

from rlx import frontends
from rlx.ir import Input
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.ops.nn import Layout

pytestmark = pytest.mark.models

FRAMES = 64
# Tolerance: a share of the range of an output.
SHARE = 1e-5


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


@pytest.mark.parametrize("name", ["ic_resnet_quant", "kws_ref_model_quant"])
def test_outputs_and_codes_are_those_of_onnx_runtime(name):
    """Sums in another order move a number that lies at a rounding half to the next code.

    Fed the runtime's codes, every output is the runtime's, and few codes of a layer differ, by 1.
    From end to end one such code changes outputs by more than the tolerance; ONNX Runtime with and
    without its optimizations differs in the same way.
    """
    module = frontends.load(path_of(name))
    verify(module)
    (given,) = module.graph.inputs
    data, names = with_all_codes(path_of(name).read_bytes())
    alone, fed, theirs = [], [], []
    counts = dict.fromkeys(names, 0)
    for frame in frames_of(name, module.graph):
        output, *codes = by_runtime(data, frame)
        found, differences = fed_with(module.graph, frame, dict(zip(names, codes, strict=True)))
        assert differences.keys() == counts.keys()
        for layer, (count, most, size) in differences.items():
            assert most <= 1
            counts[layer] += count / size
        theirs.append(output)
        fed.append(found[0])
        alone.append(evaluate(module.graph, {given.name: frame})[0])
    assert max(counts.values()) / FRAMES < 0.001
    assert shares(np.stack(fed), np.stack(theirs)).max() <= SHARE
    near = shares(np.stack(alone), np.stack(theirs)) <= SHARE
    assert near.sum() >= FRAMES - 6


@pytest.mark.parametrize("name", NETWORKS)
def test_no_transpose_is_left_inside(name):
    graph = frontends.load(path_of(name)).graph
    for node in graph.op_nodes:
        assert getattr(node.op, "layout", Layout.CHANNELS_LAST) is Layout.CHANNELS_LAST
        if node.op.name == "real.transpose":
            assert isinstance(node.operands[0].node.op, Input) or node.result in graph.outputs
