import numpy as np
import onnx
import pytest

from rlx import frontends
from rlx.ir import Dim
from rlx.support.errors import FrontendError, ToolMissingError, UnsupportedOpError
from support.files.onnx_builder import by_runtime, helper, load, model, node, run
from support.messages import raises

RANDOM = np.random.default_rng(0)


def numbers(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def check(data, *arrays):
    for ours, theirs in zip(run(data, *arrays), by_runtime(data, *arrays), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_a_small_network_computes_what_the_runtime_computes():
    data = model(
        [
            node("Conv", "x w b", "c", pads=[1, 0, 0, 1], strides=[2, 1]),
            node("Relu", "c", "r"),
            node("GlobalAveragePool", "r", "p"),
            node("Flatten", "p", "f"),
            node("Gemm", "f g h", "y", transB=1),
        ],
        {"x": [1, 3, 8, 8]},
        {"y": [1, 5]},
        {"w": numbers(4, 3, 3, 3), "b": numbers(4), "g": numbers(5, 4), "h": numbers(5)},
    )
    check(data, numbers(1, 3, 8, 8))


def test_a_file_is_known_by_its_first_bytes(tmp_path):
    path = tmp_path / "net"
    path.write_bytes(model([node("Relu", "x")], {"x": [2]}, {"y": [2]}))
    assert frontends.find(path).name == "onnx"
    assert [n.op.name for n in frontends.load(path).graph.op_nodes] == ["nn.relu"]


def test_what_the_file_names_stays_symbolic():
    data = model(
        [
            node("Shape", "x", "n", start=0, end=1),
            node("Concat", "n rest", "t", axis=0),
            node("Reshape", "x t", "y"),
        ],
        {"x": ["batch", 2, 3]},
        {"y": ["batch", 6]},
        {"rest": np.array([-1])},
    )
    graph = load(data)
    assert graph.outputs[0].type.shape == (Dim("batch"), 6)
    assert [n.op.name for n in graph.op_nodes] == ["real.reshape"]
    assert load(data, input_shape=(("x", (4, 2, 3)),)).outputs[0].type.shape == (4, 6)


def test_a_shape_that_does_not_fit_the_input():
    data = model([node("Relu", "x")], {"x": ["n", 2]}, {"y": ["n", 2]})
    with raises(UnsupportedOpError):
        load(data, input_shape=(("x", (4, 3)),))
    with raises(UnsupportedOpError):
        load(data, input_shape=(("z", (4, 3)),))


def test_five_unsupported_operators_are_one_message():
    names = ["NonZero", "If", "StringSplit", "SequenceEmpty", "Foo"]
    nodes = [node(n, "x" if n != "SequenceEmpty" else "", f"y{i}") for i, n in enumerate(names)]
    nodes.append(node("Relu", "y0", "y"))
    data = model(nodes, {"x": [1]}, {"y": [1]})
    with pytest.raises(UnsupportedOpError) as caught:
        load(data)
    text = str(caught.value)
    assert caught.value.exit_status == 5
    assert text.startswith("net.onnx: node 0 NonZero 'y0', node 1 If 'y1', ")
    assert "5 of 6 nodes cannot be imported" in text
    for i, n in enumerate(names):
        assert f"node {i} {n} 'y{i}'\n    why  " in text
    assert "is control flow, which rlx does not import" in text


def test_functions_of_the_file_are_inlined():
    body = helper.make_function(
        "own", "Twice", ["a"], ["b"],
        [node("Add", "a a", "t"), helper.make_node("LeakyRelu", ["t"], ["b"])],
        [helper.make_opsetid("", 21)], ["alpha"],
    )  # fmt: skip
    reference = onnx.AttributeProto(name="alpha", ref_attr_name="alpha", type=1)
    body.node[1].attribute.append(reference)
    call = helper.make_node("Twice", ["x"], ["y"], domain="own", alpha=0.5)
    data = model([call], {"x": [4]}, {"y": [4]}, functions=[body], domains=["own"])
    check(data, numbers(4))


def test_a_function_that_calls_itself():
    again = helper.make_node("Loop2", ["a"], ["b"], domain="own")
    body = helper.make_function("own", "Loop2", ["a"], ["b"], [again],
                                [helper.make_opsetid("own", 1)])  # fmt: skip
    call = helper.make_node("Loop2", ["x"], ["y"], domain="own")
    data = model([call], {"x": [4]}, {"y": [4]}, functions=[body], domains=["own"])
    with raises(FrontendError):
        load(data)


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with raises(ToolMissingError):
        load(b"\x08\x08")
