"""Graphs as other programs write them: in any order, of old versions, with an output twice."""

import numpy as np
import pytest

from support.files.onnx_builder import by_runtime, load, model, node, onnx, run

RANDOM = np.random.default_rng(5)


def numbers(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def check(data, *arrays):
    found, wanted = run(data, *arrays), by_runtime(data, *arrays)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def reordered(data, seed):
    """Return a model with its nodes in another order."""
    proto = onnx.load_from_string(data)
    nodes = list(proto.graph.node)
    del proto.graph.node[:]
    proto.graph.node.extend(nodes[i] for i in np.random.default_rng(seed).permutation(len(nodes)))
    return proto.SerializeToString()


@pytest.mark.parametrize("seed", range(4))
def test_nodes_may_stand_in_any_order(seed):
    nodes = [
        node("Abs", "x", "a"), node("Neg", "a", "b"), node("Add", "a b", "c"),
        node("Mul", "c x", "d"), node("Sub", "d b", "e"), node("Relu", "e", "y"),
    ]  # fmt: skip
    data = model(nodes, {"x": [2, 3]}, {"y": [2, 3]})
    check(reordered(data, seed), numbers(2, 3))
    names = [n.name for n in load(data).op_nodes]
    assert [n.name for n in load(reordered(data, seed)).op_nodes] == names


def test_an_output_may_be_listed_twice():
    proto = onnx.load_from_string(model([node("Relu", "x")], {"x": [2]}, {"y": [2]}))
    proto.graph.output.append(proto.graph.output[0])
    check(proto.SerializeToString(), numbers(2))
    assert load(proto.SerializeToString()).output_names == ("y", "y_2")


OLD = {
    "Flatten": (node("Flatten", "x", axis=2), {}),
    "MatMul": (node("MatMul", "x w"), {"w": numbers(2, 3, 5, 3)}),
    "PRelu": (node("PRelu", "x s"), {"s": numbers(3, 1, 1)}),
    "BatchNormalization": (
        node("BatchNormalization", "x a b m v"),
        {"a": numbers(3), "b": numbers(3), "m": numbers(3), "v": np.abs(numbers(3))},
    ),
    "MaxPool": (node("MaxPool", "x", kernel_shape=[2, 2], pads=[1, 0, 1, 0]), {}),
    "AveragePool": (node("AveragePool", "x", kernel_shape=[2, 2], strides=[2, 1]), {}),
    "Conv": (node("Conv", "x w", auto_pad="SAME_LOWER"), {"w": numbers(4, 3, 2, 3)}),
    "ConvTranspose": (node("ConvTranspose", "x w"), {"w": numbers(3, 4, 2, 2)}),
    "Clip": (node("Clip", "x", min=-0.5, max=0.25), {}),
    "Pad": (node("Pad", "x", pads=[0, 0, 1, 2, 0, 0, 0, 1], value=0.5), {}),
    "Slice": (node("Slice", "x", axes=[1, 3], starts=[1, -3], ends=[9, -1]), {}),
    "Split": (node("Split", "x", "y z", axis=1, split=[1, 2]), {}),
    "Upsample": (node("Upsample", "x", mode="nearest", scales=[1.0, 1.0, 2.0, 3.0]), {}),
    "Softmax": (node("Softmax", "x", axis=2), {}),
    "LogSoftmax": (node("LogSoftmax", "x"), {}),
    "ReduceMean": (node("ReduceMean", "x", axes=[2, 3], keepdims=0), {}),
    "ReduceSum": (node("ReduceSum", "x", axes=[1]), {}),
    "Squeeze": (node("Unsqueeze", "x", axes=[0, 3]), {}),
    "TopK": (node("TopK", "x", "y i", k=2), {}),
    "Sum": (node("Sum", "x x w"), {"w": numbers(2, 3, 4, 5)}),
    "Max": (node("Max", "x w"), {"w": numbers(2, 3, 4, 5)}),
    "Constant": (node("Constant", "", value=onnx.numpy_helper.from_array(numbers(2, 3))), {}),
    "Gather": (node("Gather", "x i", axis=3), {"i": np.array([[0, 2], [4, 1]])}),
    "Concat": (node("Concat", "x w", axis=1), {"w": numbers(2, 1, 4, 5)}),
    "Cast": (node("Cast", "x", to=6), {}),
    "LRN": (node("LRN", "x", size=3), {}),
    "InstanceNormalization": (
        node("InstanceNormalization", "x a b"),
        {"a": numbers(3), "b": numbers(3)},
    ),
    "Dropout": (node("Dropout", "x"), {}),
    "DepthToSpace": (node("SpaceToDepth", "x", blocksize=1), {}),
    "LpPool": (node("GlobalLpPool", "x", p=2), {}),
}


@pytest.mark.parametrize("opset", [7, 8])
@pytest.mark.parametrize("name", OLD)
def test_operators_of_old_versions(name, opset):
    made, constants = OLD[name]
    kinds = {"i": np.int64} if name == "TopK" else {"y": np.int32} if name == "Cast" else {}
    outputs = {n: (None, kinds.get(n, np.float32)) for n in made.output}
    inputs = {} if name == "Constant" else {"x": [2, 3, 4, 5]}
    data = model([made], inputs, outputs, constants, opset=opset)
    check(data, *([numbers(2, 3, 4, 5)] if inputs else []))


@pytest.mark.parametrize("opset", [17, 21])
def test_a_layer_norm_without_its_axis_takes_the_last(opset):
    made = node("LayerNormalization", "x s b")
    constants = {"s": numbers(5), "b": numbers(5)}
    data = model([made], {"x": [2, 3, 5]}, {"y": [2, 3, 5]}, constants, opset=opset)
    check(data, numbers(2, 3, 5))
