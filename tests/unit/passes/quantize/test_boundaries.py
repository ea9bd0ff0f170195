"""Graphs that have scales of their own: quantize and dequantize nodes, as ONNX has them."""

import numpy as np
import pytest

from rlx.ir import DType, QuantParams
from rlx.ir.evaluate import evaluate
from rlx.ir.module import GraphModule, Stage
from rlx.ir.verify import verify
from rlx.ops.numerics.fixed_point import Rounding
from rlx.ops.real import RealConcat, RealDequantize, RealQuantize, RealTranspose, Ties
from rlx.passes.quantize import convert
from rlx.support.errors import QuantizationError, UnsupportedOpError
from rlx.tracing import Graph
from support.messages import raises

X, Y = QuantParams.per_tensor(0.05, 128), QuantParams.per_tensor(0.03125, 100)


def through(x, quant, dtype=DType.U8):
    """Return ``x`` through quantized values and back."""
    quantized = x.apply(RealQuantize(quant=quant, dtype=dtype, ties=Ties.EVEN))
    return quantized.apply(RealDequantize(quant=quant))


def stored(x, array, quant):
    """Return a dequantized constant."""
    constant = x.wrap(x.graph.constant(array, quant=quant))
    return constant.apply(RealDequantize(quant=quant))


def network(weights, quant, bias=None, *, transposed=False):
    """Return a dense layer of uint8 values with stored weights, and its input's name."""
    graph = Graph("net")
    x = through(graph.input("x", (2, 4)), X)
    w = stored(x, weights, quant)
    w = w.apply(RealTranspose(axes=(1, 0))) if transposed else w
    y = x.linear(w, *(() if bias is None else (stored(x, *bias),)))
    graph.output(through(y, Y))
    return graph.graph


def layer(graph):
    (node,) = [n for n in graph.op_nodes if n.op.name == "q.dense"]
    return node


WEIGHTS = np.int8([[1, -2, 3, 4], [-128, 0, 127, 5]])
EACH = QuantParams((0.5, 0.25), (0, 0), 0)


def test_uint8_values_are_the_same_less_128():
    converted = convert(network(WEIGHTS, EACH), {})
    verify(GraphModule(converted.graph, Stage.MIR))
    node = layer(converted.graph)
    assert node.operands[0].type.quant == QuantParams((float(np.float32(0.05)),), (0,))
    assert node.types[0].quant == QuantParams((0.03125,), (-28,))
    assert node.op.x_zero_point == 0
    assert node.op.rescale.rounding is Rounding.EVEN


@pytest.mark.parametrize("transposed", [False, True])
def test_stored_weights_are_kept(transposed):
    array = WEIGHTS.T if transposed else WEIGHTS
    quant = QuantParams(EACH.scale, EACH.zero_point, int(transposed))
    converted = convert(network(array, quant, transposed=transposed), {})
    weights = layer(converted.graph).operands[1]
    assert np.array_equal(weights.constant, WEIGHTS)
    assert weights.type.quant == EACH
    assert [r.bits for r in converted.layers if r.op == "nn.linear"] == [8]


def test_stored_biases_are_kept():
    scales = tuple(float(np.float32(0.05) * np.float32(s)) for s in EACH.scale)
    bias = np.int32([2**29 + 1, -7]), QuantParams(scales, (0, 0), 0)
    found = layer(convert(network(WEIGHTS, EACH, bias), {}).graph).operands[2]
    assert found.constant.tolist() == [2**29 + 1, -7]


@pytest.mark.parametrize("dtype", [DType.I4, DType.I2])
def test_narrow_weights_stay_narrow(dtype):
    weights = np.array([[1, -1, 0, 1], [0, 1, 1, -1]]).astype(dtype.numpy)
    converted = convert(network(weights, EACH), {})
    assert layer(converted.graph).operands[1].type.dtype is dtype


def test_a_zero_point_of_weights_that_fits_is_taken_off():
    graph = network((WEIGHTS.astype(np.int16) + 128).astype(np.uint8),
                    QuantParams.per_tensor(0.5, 128))  # fmt: skip
    assert np.array_equal(layer(convert(graph, {}).graph).operands[1].constant, WEIGHTS)


def test_a_zero_point_of_weights_that_does_not_fit_is_refused():
    graph = network(WEIGHTS, QuantParams.per_tensor(0.5, 3))
    with raises(UnsupportedOpError):
        convert(graph, {})


def test_a_scale_for_each_input_channel_is_refused():
    graph = network(WEIGHTS, QuantParams((1.0, 2.0, 3.0, 4.0), (0, 0, 0, 0), 1))
    with raises(QuantizationError):
        convert(graph, {})


def test_scales_of_the_graph_stay_and_are_requantized_to():
    graph = Graph("net")
    x = through(graph.input("x", (2, 4)), X)
    y = through(x.tanh(), Y)
    graph.output(through(x.apply(RealConcat(axis=1), y), Y))
    converted = convert(graph.graph, {})
    names = [n.op.name for n in converted.graph.op_nodes]
    assert names == ["real.quantize", "q.table", "q.requantize", "q.concat", "real.dequantize"]
    sample = {"x": np.linspace(-6, 6, 8, dtype=np.float32).reshape(2, 4)}
    wanted, found = (evaluate(g, sample)[0] for g in (graph.graph, converted.graph))
    assert np.abs(wanted - found).max() <= Y.scale[0]


def test_functions_end_at_a_scale_of_the_graph():
    graph = Graph("net")
    x = through(graph.input("x", (2, 4)), X)
    y = through(x.sigmoid(), QuantParams.per_tensor(1 / 256, 0))
    graph.output(through(x * y, Y))
    found = [n.op.name for n in convert(graph.graph, {}).graph.op_nodes]
    assert found == ["real.quantize", "q.table", "q.mul", "real.dequantize"]


@pytest.mark.parametrize(("dtype", "low", "high"), [(DType.I4, -8, 7), (DType.I2, -2, 1)])
def test_activations_of_fewer_bits_are_clamped(dtype, low, high):
    graph = Graph("net")
    quant = QuantParams.per_tensor(0.5, 1)
    graph.output(through(graph.input("x", (64,)), quant, dtype).tanh())
    converted = convert(graph.graph, {graph.graph.outputs[0]: QuantParams.per_tensor(1 / 128, 0)})
    sample = {"x": np.linspace(-20, 20, 64, dtype=np.float32)}
    wanted, found = (evaluate(g, sample)[0] for g in (graph.graph, converted.graph))
    assert np.abs(wanted - found).max() <= 1 / 128
    (clamp,) = [n.op for n in converted.graph.op_nodes if n.op.name == "q.clamp"]
    assert (clamp.low, clamp.high) == (low, high)


def test_halves_of_an_input_go_where_its_node_says():
    graph = Graph("net")
    graph.output(through(graph.input("x", (4,)), QuantParams.per_tensor(1.0, 0), DType.I8))
    converted = convert(graph.graph, {})
    sample = {"x": np.float32([0.5, 1.5, 2.5, -0.5])}
    assert evaluate(converted.graph, sample)[0].tolist() == [0, 2, 2, 0]


@pytest.mark.parametrize("dtype", [DType.U8, DType.I8])
def test_integer_inputs_and_outputs_stay(dtype):
    quant = QuantParams.per_tensor(0.1, 10)
    graph = Graph("net")
    x = graph.input("x", (256,), dtype)
    y = x.apply(RealDequantize(quant=quant)).reshape(2, 128)
    graph.output(y.apply(RealQuantize(quant=quant, dtype=dtype)))
    converted = convert(graph.graph, {})
    low = 0 if dtype is DType.U8 else -128
    sample = np.arange(low, low + 256).astype(dtype.numpy)
    (found,) = evaluate(converted.graph, {"x": sample})
    assert np.array_equal(found, sample.reshape(2, 128))
    assert "q.reshape" in [n.op.name for n in converted.graph.op_nodes]


@pytest.mark.parametrize(
    ("quant", "dtype"),
    [(QuantParams((1.0,) * 4, (0,) * 4, 1), DType.I8), (QuantParams.per_tensor(1.0, 0), DType.I32)],
)
def test_activations_that_are_no_int8_values_are_refused(quant, dtype):
    graph = Graph("net")
    graph.output(through(graph.input("x", (2, 4)), quant, dtype))
    with raises(UnsupportedOpError):
        convert(graph.graph, {})


@pytest.mark.parametrize("dtype", [DType.I8, DType.U8])
@pytest.mark.parametrize("moved", [False, True])
def test_integer_inputs_may_be_moved_before_they_are_dequantized(dtype, moved):
    graph = Graph("net")
    x = graph.input("x", (2, 4), dtype)
    given = x.transpose(1, 0).reshape(2, 4) if moved else x
    y = given.apply(RealDequantize(quant=X if dtype is DType.U8 else OWN))
    graph.output(through(y.linear(stored(y, WEIGHTS, EACH)), Y))
    sample = {"x": np.arange(-4, 4).reshape(2, 4).astype(dtype.numpy)}
    integer = convert(graph.graph, {}).graph
    verify(GraphModule(integer, Stage.MIR))
    wanted, found = (evaluate(g, sample)[0] for g in (graph.graph, integer))
    assert np.array_equal(wanted, found)


def test_integers_that_are_dequantized_in_two_ways_are_the_same():
    graph = Graph("net")
    x = graph.input("x", (2, 4), DType.I8)
    first, second = (x.apply(RealDequantize(quant=q)) for q in (OWN, Y8))
    graph.output(through(first.apply(RealConcat(axis=1), second), Y))
    sample = {"x": np.arange(-4, 4).reshape(2, 4).astype(np.int8)}
    wanted, found = (evaluate(g, sample)[0] for g in (graph.graph, convert(graph.graph, {}).graph))
    assert np.abs(wanted - found).max() <= Y.scale[0]


OWN, Y8 = QuantParams.per_tensor(0.05, 3), QuantParams.per_tensor(0.125, -7)
