"""Building, copying and reading graphs."""

import numpy as np
import pytest

from rlx.ir import Constant, Graph, Origin, QuantParams, Value, f32, i8, i32
from rlx.ops.q import QClamp, QReshape
from rlx.ops.real import RealAdd, RealNeg, RealTopK
from rlx.support.errors import ShapeError
from support.messages import raises


def test_nodes_are_appended_in_order():
    graph = Graph("g")
    x = graph.input("x", f32(2))
    w = graph.param("w", f32(2))
    c = graph.constant(np.ones(2, np.float32), name="c")
    y = graph.apply(RealAdd(), x, w, name="y")
    z = graph.apply(RealAdd(), y, c)
    graph.output(z)
    assert [n.index for n in graph.nodes] == [0, 1, 2, 3, 4]
    assert (graph.inputs, graph.params, graph.outputs) == ((x,), (w,), (z,))
    assert [n.label for n in graph.op_nodes] == ["%3 'y'", "%4"]
    assert graph.users() == {x: [y.node], w: [y.node], c: [z.node], y: [z.node], z: []}


def test_output_names_default_to_those_of_the_nodes():
    graph = Graph("g")
    x = graph.input("x", f32(2))
    graph.output(x, graph.apply(RealNeg(), x))
    graph.output(x, names=["again"])
    assert graph.output_names == ("x", "output1", "again")


def test_constant_is_a_read_only_copy():
    array = np.arange(6, dtype=np.int8).reshape(2, 3)
    quant = QuantParams.per_tensor(0.5)
    value = Graph("g").constant(array.T, quant=quant)
    array[0, 0] = 9
    assert value.type == i8(3, 2, quant=quant)
    np.testing.assert_array_equal(value.constant, [[0, 3], [1, 4], [2, 5]])
    assert value.constant.flags.c_contiguous
    with pytest.raises(ValueError, match=r"read-only$"):
        value.constant[0] = 1


def test_value_is_constant_only_if_its_op_is():
    graph = Graph("g")
    x = graph.input("x", i8(2))
    assert x.constant is None
    assert graph.constant(np.int32(7)).constant == 7


def test_quantization_is_given_where_the_op_cannot_know():
    graph = Graph("g")
    quant = QuantParams.per_tensor(0.5)
    assert graph.apply(QClamp(), graph.input("x", i8(2)), quant=quant).type.quant == quant


def test_operand_of_another_graph_is_refused():
    other = Graph("other")
    stranger = other.input("x", i8(2))
    graph = Graph("g")
    with raises(ValueError):
        graph.apply(QClamp(), stranger)
    graph.input("y", i8(2))
    with raises(ValueError):
        graph.apply(QClamp(), stranger)
    with raises(ValueError):
        graph.restore(QClamp(), (stranger,), (i8(2),))


def test_operand_that_does_not_fit_leaves_the_graph_as_it_was():
    graph = Graph("g")
    x = graph.input("x", i32(2))
    with raises(ShapeError):
        graph.apply(QClamp(), x)
    assert len(graph.nodes) == 1


def test_apply_wants_one_result():
    graph = Graph("g")
    x = graph.input("x", f32(3))
    with raises(ValueError):
        graph.apply(RealTopK(count=1), x)
    node = graph.append(RealTopK(count=1), x)
    assert [v.index for v in node.results] == [0, 1]
    assert node.results[1] == Value(node, 1)
    assert node.results[0] != node.results[1]


def test_restored_node_must_have_the_inferred_types():
    graph = Graph("g")
    x = graph.input("x", i8(2, quant=QuantParams.per_tensor(0.5)))
    quant = QuantParams.per_tensor(0.25)
    node = graph.restore(QClamp(), (x,), (i8(2, quant=quant),), name="n", origin=Origin("f"))
    assert (node.types, node.name, node.origin) == ((i8(2, quant=quant),), "n", Origin("f"))
    with raises(ShapeError):
        graph.restore(QClamp(), (x,), (i8(2),))
    with raises(ShapeError):
        graph.restore(QClamp(), (x,), (i8(2), i8(2)))


def test_restoring_what_infer_cannot_bear_is_a_shape_error():
    graph = Graph("g")
    x = graph.input("x", i8(2))
    with raises(ShapeError):
        graph.restore(QReshape(shape=("a",)), (x,), (i8(2),))


def test_origin_prints_and_grows():
    assert str(Origin()) == ""
    origin = Origin("m.onnx", "layer 3").through("a").through("a").through("b")
    assert origin.passes == ("a", "b")
    assert str(origin) == "m.onnx layer 3 > a > b"


@pytest.mark.parametrize("make", [lambda g: g.input("x", i8(2)), lambda g: g.param("x", i8(2))])
def test_inputs_and_parameters_cannot_be_evaluated(make):
    node = make(Graph("g")).node
    with raises(AssertionError):
        node.op.evaluate()


def test_constant_evaluates_to_its_value():
    value = Graph("g").constant(np.arange(3, dtype=np.int8))
    assert isinstance(value.node.op, Constant)
    assert value.node.op.evaluate()[0] is value.constant
