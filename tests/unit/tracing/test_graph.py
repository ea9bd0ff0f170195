from __future__ import annotations

import numpy as np
import pytest

import rlx
from rlx.ir import Dim, DType, QuantParams, TensorType, f32, i8
from rlx.ir.evaluate import evaluate
from rlx.ir.module import Stage
from rlx.ops import real
from rlx.support.errors import ShapeError
from rlx.tracing import Graph, Tensor
from support.messages import raises


def test_inputs_parameters_and_outputs():
    graph = Graph("hello")
    x = graph.input("x", (4, 8))
    w = graph.param("w", (8, 2))
    graph.output(x @ w, names=["y"])
    graph.output(sum=(x @ w).sum())
    assert [(v.name, v.type) for v in graph.graph.inputs] == [("x", f32(4, 8))]
    assert [(v.name, v.type) for v in graph.graph.params] == [("w", f32(8, 2))]
    assert graph.graph.output_names == ("y", "sum")
    assert graph.module.stage is Stage.HIR
    assert repr(graph) == "<graph 'hello': 5 nodes>"


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        (3, "f32", f32(3)),
        ((), "f32", f32()),
        (("batch", 3), np.float32, f32(Dim("batch"), 3)),
        ([Dim("n"), np.int64(2)], "bf16", TensorType((Dim("n"), 2), DType.BF16)),
        ((2,), "int8", i8(2)),
        (i8(2, quant=QuantParams.per_tensor(0.5)), "f32", i8(2, quant=QuantParams.per_tensor(0.5))),
    ],
)
def test_shapes_and_element_types_may_be_written_in_many_ways(shape, dtype, expected):
    assert Graph("g").input("x", shape, dtype).type == expected


@pytest.mark.parametrize(
    ("shape", "dtype", "error"),
    [
        ((-1,), "f32", ValueError),
        ((1.5,), "f32", TypeError),
        ((True,), "f32", TypeError),
        ((1,), "f12", ValueError),
        ((1,), np.complex128, ValueError),
    ],
)
def test_bad_types_are_refused(shape, dtype, error):
    with raises(error):
        Graph("g").input("x", shape, dtype)


def test_names_are_taken_once():
    graph = Graph("g")
    graph.input("x", 1)
    with raises(ValueError):
        graph.param("x", 1)
    with raises(ValueError):
        graph.input("", 1)


def test_parameters_may_bring_their_value():
    graph = Graph("g")
    w = graph.param("w", value=np.arange(3, dtype=np.int8))
    assert w.type == i8(3)
    assert graph.parameters["w"].tolist() == [0, 1, 2]
    with raises(ValueError):
        graph.param("b")
    with raises(ValueError):
        graph.param("b", (2,), value=np.zeros(3))


def test_a_value_is_copied():
    graph, value = Graph("g"), np.zeros(2)
    graph.param("w", value=value)
    value[0] = 1
    assert graph.parameters["w"].tolist() == [0, 0]


def test_scopes_prefix_names():
    graph = Graph("g")
    with graph.scope("encoder"), graph.scope("first"):
        x = graph.input("x", 2)
        y = x.relu()
    assert x.value.name == "encoder.first.x"
    assert y.value.name == "encoder.first"
    assert graph.param("w", 1).value.name == "w"


def test_every_node_knows_the_line_that_made_it():
    graph = Graph("g")
    x = graph.input("x", 2)
    y = (x + 1).softmax()
    for value in (x, y):
        origin = value.value.node.origin
        assert origin.source == "test_graph.py"
        assert origin.location.startswith("line ")
    assert x.value.node.origin != y.value.node.origin


def test_shape_errors_name_the_line():
    graph = Graph("g")
    x = graph.input("x", (2, 3))
    with raises(ShapeError):
        x @ x


@pytest.mark.parametrize("mask", [np.zeros((3, 3), np.float32), np.ones((3, 3), bool), 0.0])
def test_where_only_tensors_are_taken_others_are_refused(mask):
    graph = Graph("one")
    x = graph.input("x", (2, 3, 4))
    with raises(TypeError):
        x.attention(x, x, mask)
    with raises(TypeError):
        graph.output(mask)
    masked = x.attention(x, x, x.builder.constant(np.zeros((3, 3), np.float32)))
    assert masked.shape == (2, 3, 4)
    with raises(TypeError):
        rlx.if_(x.max() > 0.0, lambda: x.attention(x, x, mask), lambda: x)


def test_graphs_do_not_mix():
    one, two = Graph("one"), Graph("two")
    x, y = one.input("x", 2), two.input("y", 2)
    with raises(ValueError):
        x + y
    with raises(ValueError):
        one.output(y)
    with raises(ValueError):
        one.apply(real.RealNeg(), y)
    with raises(ValueError):
        one.concat([x, y])


def test_outputs_and_names_are_as_many():
    graph = Graph("g")
    x = graph.input("x", 2)
    with raises(ValueError):
        graph.output(x, names=["a", "b"])


def test_any_op_can_be_applied():
    graph = Graph("g")
    x = graph.input("x", 4)
    assert isinstance(graph.apply(real.RealNeg(), x), Tensor)
    values, indices = graph.apply(real.RealTopK(count=2), x)
    assert (values.type, indices.type) == (f32(2), TensorType((2,), DType.I32))


def test_functions_of_the_graph():
    graph = Graph("g")
    x = graph.input("x", (2, 3))
    flags = graph.input("flags", (2, 3), "bool")
    rows = graph.input("rows", 2, "i32")
    results = [
        graph.matmul(x, x.t()), graph.relu(x), graph.gelu(x), graph.silu(x), graph.softmax(x, 0),
        graph.layer_norm(x, np.ones(3), np.zeros(3)), graph.gather(x, rows), x[rows],
        graph.where(flags, x, 0.0), graph.where(flags, 0.0, x), graph.concat([x, x], -1),
        graph.stack([x, x], 1), graph.constant([1, 2], "f16"),
    ]  # fmt: skip
    graph.output(*results)
    value = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], np.float32)
    mask = value > 0
    inputs = {"x": value, "flags": mask, "rows": np.array([1, 1], np.int32)}
    found = evaluate(graph.graph, inputs)
    np.testing.assert_array_equal(found[0], value @ value.T)
    np.testing.assert_array_equal(found[1], np.maximum(value, 0))
    np.testing.assert_array_equal(found[6], value[[1, 1]])
    np.testing.assert_array_equal(found[7], value[[1, 1]])
    np.testing.assert_array_equal(found[8], np.where(mask, value, 0))
    np.testing.assert_array_equal(found[9], np.where(mask, 0, value))
    np.testing.assert_array_equal(found[10], np.concatenate([value, value], axis=-1))
    np.testing.assert_array_equal(found[11], np.stack([value, value], axis=1))
    assert results[-1].dtype is DType.F16


def test_where_needs_a_tensor():
    graph = Graph("g")
    flags = graph.input("flags", 2, "bool")
    with raises(TypeError):
        graph.where(flags, 1, 2)


def test_codes_and_back():
    graph, quant = Graph("g"), QuantParams.per_tensor(0.5, 1)
    codes = graph.quantize(graph.input("x", 2), quant)
    assert codes.type == i8(2, quant=quant)
    assert graph.dequantize(codes).type == f32(2)
    assert graph.dequantize(graph.input("raw", 2, "i8"), quant).type == f32(2)
    with raises(ValueError):
        graph.dequantize(graph.input("bare", 2, "i8"))


def test_text_is_that_of_the_graph():
    graph = Graph("g")
    graph.output(graph.input("x", 2))
    assert str(graph) == str(graph.graph)
    assert str(graph).startswith('graph "g" {')
