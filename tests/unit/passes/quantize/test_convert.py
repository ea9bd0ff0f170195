"""The conversion of calibrated float graphs: what each op becomes, and what is refused."""

import re

import numpy as np
import pytest

from rlx.ir import DType, QuantParams, i8
from rlx.ir.evaluate import evaluate, evaluate_all
from rlx.ir.module import GraphModule, Stage
from rlx.ir.verify import verify
from rlx.ops import nn, real
from rlx.ops.nn import Layout
from rlx.ops.q import QClamp, QTable
from rlx.ops.real import RealDequantize, RealQuantize
from rlx.passes.quantize import WeightScheme, convert, prepare
from rlx.support.errors import QuantizationError, UnsupportedOpError
from rlx.tracing import Graph
from support.messages import raises
from support.quant_support import calibrated, convert_with, random_samples


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def built(body, *shapes):
    """Return the float graph of ``body`` over float32 inputs of the given shapes."""
    graph = Graph("net")
    inputs = [graph.input(f"x{i}", shape) for i, shape in enumerate(shapes)]
    results = body(*inputs)
    graph.output(*(results if isinstance(results, tuple) else (results,)))
    return graph.graph


def inner(converted):
    """Return the integer ops between the boundaries."""
    return [n.op.name for n in converted.graph.op_nodes if n.op.name.startswith("q.")]


def worst(graph, converted, samples):
    """Return the largest error of the first output, in steps of its scale."""
    made = converted.graph.outputs[0].node.operands[0]
    pairs = [(evaluate(graph, s)[0], evaluate(converted.graph, s)[0]) for s in samples]
    return max(float(np.abs(a - b).max()) for a, b in pairs) / made.type.quant.scale[0]


FIRST = Layout.CHANNELS_FIRST
IMAGE = (2, 6, 5, 4)
LAYERS = {
    # What the rounded input and rounded weights shift a layer's result by.
    "conv": (lambda x: x.conv(normal(3, 3, 3, 4) / 6, normal(3), padding="same"), IMAGE, 3,
             ["q.conv2d"]),
    "no bias": (lambda x: x.conv(normal(3, 3, 3, 4) / 6), IMAGE, 3, ["q.conv2d"]),
    "groups": (lambda x: x.conv(normal(4, 3, 3, 2) / 6, groups=2), IMAGE, 3, ["q.conv2d"]),
    "depthwise": (lambda x: x.conv(normal(4, 3, 3, 1) / 3, groups=4), IMAGE, 3, ["q.conv2d"]),
    "channels first": (lambda x: x.conv(normal(3, 6, 2, 2) / 6, normal(3), layout=FIRST), IMAGE,
                       3, ["q.transpose", "q.conv2d", "q.transpose"]),
    "one axis": (lambda x: x.conv(normal(3, 3, 4) / 4, normal(3), stride=2), (2, 9, 4), 3,
                 ["q.reshape", "q.conv2d", "q.reshape"]),
    "transposed": (lambda x: x.apply(nn.NnConvTranspose(window=real.SpatialWindow((3, 3), (2, 2))),
                                     x.wrap(x.graph.constant(normal(4, 3, 3, 2) / 6))),
                   IMAGE, 4, None),
    "linear": (lambda x: x.linear(normal(5, 4) / 3, normal(5)), (2, 3, 4), 3, ["q.dense"]),
    "matmul": (lambda x: x @ (normal(4, 5) / 3), (2, 3, 4), 3, ["q.dense"]),
    "add": (lambda x: x + x.transpose(0, 2, 1), (2, 3, 3), 2, ["q.transpose", "q.add"]),
    "add constant": (lambda x: x + normal(4), (2, 3, 4), 2, ["q.add"]),
    "sub": (lambda x: x - x.transpose(0, 2, 1), (2, 3, 3), 2, ["q.transpose", "q.sub"]),
    "mul": (lambda x: x * x.transpose(0, 2, 1), (2, 3, 3), 3, ["q.transpose", "q.mul"]),
    "div": (lambda x: x / np.array([1, 2, 4], np.float32), (2, 3), 2, ["q.mul"]),
    "maximum": (lambda x: x.maximum(x.transpose(1, 0)), (3, 3), 1, ["q.transpose", "q.maximum"]),
    "minimum": (lambda x: x.minimum(normal(3)), (3, 3), 1, ["q.minimum"]),
    "max pool": (lambda x: x.max_pool(2), IMAGE, 0.51, ["q.max_pool2d"]),
    "average pool": (lambda x: x.average_pool(2, padding="same"), IMAGE, 1.01, ["q.avg_pool2d"]),
    "padding counts": (lambda x: x.average_pool(3, padding="same", count_padding=True), IMAGE,
                       1.01, ["q.pad", "q.avg_pool2d"]),
    "whole image": (lambda x: x.average_pool((6, 5)), IMAGE, 3, ["q.mean"]),
    "mean": (lambda x: x.mean(1, 2), IMAGE, 3, ["q.mean"]),
    "sum": (lambda x: x.sum(-1), (2, 3), 2, ["q.mean"]),
    "largest": (lambda x: x.max(1), (2, 3, 4), 0.51, None),
    "smallest": (lambda x: x.min(0, -1), (2, 3, 4), 0.51, None),
    "softmax": (lambda x: x.softmax(), (2, 7), 1.5, ["q.softmax"]),
    "softmax in front": (lambda x: x.softmax(0), (7, 2), 1.5,
                         ["q.transpose", "q.softmax", "q.transpose"]),
    "prelu": (lambda x: x.apply(nn.NnPrelu(), x.wrap(x.graph.constant(normal(4)))), (2, 4), 2,
              ["q.prelu"]),
    "reshape": (lambda x: x.reshape(6, 2), (3, 4), 0.51, ["q.reshape"]),
    "transpose": (lambda x: x.transpose(1, 0), (3, 4), 0.51, ["q.transpose"]),
    "slice": (lambda x: x[1:, ::2], (3, 4), 0.51, ["q.slice"]),
    "concat": (lambda x: x.apply(real.RealConcat(axis=0), x * 4.0), (3, 4), 2.51,
               ["q.table", "q.concat"]),
    "pad": (lambda x: x.apply(real.RealPad(before=(1, 0), after=(0, 2))), (3, 4), 0.51, ["q.pad"]),
    "gaps": (lambda x: x.apply(real.RealPad(before=(1, 0), after=(0, 2), interior=(2, 1))),
             (3, 4), 0.51, None),
    "nearest": (lambda x: x.apply(nn.NnResize(size=(12, 10))), IMAGE, 0.51, None),
    "tile": (lambda x: x.apply(nn.NnTile(repeats=(2, 3))), (3, 4), 0.51, None),
    "reverse": (lambda x: x.apply(real.RealReverse(axes=(1,))), (3, 4), 0.51, None),
}  # fmt: skip
"""A layer, the shape of its input, the largest error in steps, and the ops that it becomes."""


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_becomes_integer_ops(name):
    body, shape, error, wanted = LAYERS[name]
    graph = built(body, shape)
    converted, samples = convert_with(graph)
    verify(GraphModule(converted.graph, Stage.MIR))
    assert wanted is None or inner(converted) == wanted
    assert worst(graph, converted, samples) <= error
    names = [n.op.name for n in converted.graph.op_nodes]
    assert (names[0], names[-1]) == ("real.quantize", "real.dequantize")
    assert [v.type for v in graph.outputs] == [v.type for v in converted.graph.outputs]


@pytest.mark.parametrize(
    "function",
    ["sigmoid", "tanh", "gelu", "exp", "hard_swish", "x * sigmoid(x)", "chain", "leaky_relu"],
)
def test_a_function_of_one_number_is_evaluated_at_all_of_them(function):
    functions = {
        "hard_swish": lambda x: x.apply(nn.NnHardSwish()),
        "leaky_relu": lambda x: x.apply(nn.NnLeakyRelu(slope=0.2)),
        "x * sigmoid(x)": lambda x: x * x.sigmoid(),
        "chain": lambda x: abs((x + 1.0).exp() / 2.0 - 1.0) * x,
    }
    body = functions.get(function, lambda x: getattr(x, function)())
    graph = built(body, (2, 3))
    converted, _ = convert_with(graph)
    (node,) = [n for n in converted.graph.op_nodes if n.op.name.startswith("q.")]
    assert isinstance(node.op, QTable)
    given, result = node.operands[0].type.quant, node.types[0].quant
    int8 = np.arange(-128, 128).astype(np.int8)
    (reals,) = RealDequantize(quant=given).evaluate(int8)
    wanted = evaluate(built(body, (256,)), {"x0": reals})[0]
    (steps,) = RealQuantize(quant=result).evaluate(wanted)
    assert node.op.table == tuple(int(s) for s in steps)


def test_activations_are_fused_by_their_range():
    graph = built(lambda x: x.linear(normal(5, 4), normal(5)).relu(), (2, 4))
    converted, samples = convert_with(graph)
    assert inner(converted) == ["q.dense"]
    assert converted.graph.outputs[0].node.operands[0].type.quant.zero_point == (-128,)
    assert worst(graph, converted, samples) <= 3
    # What the dense layer gives before the activation is nowhere in the integer graph.
    dense, relu = list(graph.op_nodes)
    assert dense.result not in converted.values
    assert relu.result in converted.values


def test_a_range_of_an_activation_goes_through_what_moves_values():
    graph = built(lambda x: x.conv(normal(3, 1, 1, 4)).max_pool(2).relu(), IMAGE)
    converted, _ = convert_with(graph)
    assert inner(converted) == ["q.conv2d", "q.max_pool2d"]


def test_a_layer_that_others_read_keeps_its_range():
    def body(x):
        y = x.linear(normal(4, 4))
        return y.relu(), y.softmax()

    converted, _ = convert_with(built(body, (2, 4)))
    assert inner(converted) == ["q.dense", "q.table", "q.softmax"]


def test_a_bound_inside_the_range_is_a_clamp():
    graph = built(lambda x: x.max_pool(2).apply(nn.NnClamp(low=-0.5, high=0.5)).softmax(), IMAGE)
    pooled, clamped, _ = (n.result for n in graph.op_nodes)
    activations = calibrated(graph, random_samples(graph))
    same = activations[graph.inputs[0]]
    activations |= {pooled: same, clamped: same}
    found = [n.op for n in convert(graph, activations).graph.op_nodes]
    (clamp,) = [op for op in found if isinstance(op, QClamp)]
    steps = round(0.5 / same.scale[0])
    zero = same.zero_point[0]
    assert (clamp.low, clamp.high) == (zero - steps, zero + steps)


def test_operands_of_a_concatenation_get_one_scale():
    def body(x, y):
        return x.apply(real.RealConcat(axis=1), (y * 3.0).tanh()), y.softmax()

    graph = built(body, (2, 3), (2, 3))
    converted, _ = convert_with(graph)
    (node,) = [n for n in converted.graph.op_nodes if n.op.name == "q.concat"]
    assert len({o.type.quant for o in node.operands}) == 1
    assert "q.requantize" not in inner(converted)


def test_what_has_a_scale_by_definition_is_requantized():
    def body(x):
        return x.apply(real.RealConcat(axis=1), x.softmax())

    converted, _ = convert_with(built(body, (2, 3)))
    assert inner(converted) == ["q.softmax", "q.requantize", "q.concat"]


@pytest.mark.parametrize(("bits", "dtype"), [(8, DType.I8), (4, DType.I4), (2, DType.I2)])
def test_weights_have_the_width_of_their_scheme(bits, dtype):
    graph = Graph("net")
    with graph.scope("first"):
        y = graph.input("x", (2, 8)).linear(normal(5, 8))
    with graph.scope("second"):
        y = y.linear(normal(3, 5))
    graph.output(y)
    converted, _ = convert_with(graph.graph, weights={"second": WeightScheme(bits)})
    first, second = [n for n in converted.graph.op_nodes if n.op.name == "q.dense"]
    assert first.operands[1].type.dtype is DType.I8
    assert second.operands[1].type.dtype is dtype
    assert [(r.name, r.bits) for r in converted.layers] == [("first", 8), ("second", bits)]


def test_one_scale_for_a_tensor_of_weights():
    graph = built(lambda x: x.linear(normal(5, 4)), (2, 4))
    converted, _ = convert_with(graph, weights=WeightScheme(8, per_channel=False))
    (node,) = [n for n in converted.graph.op_nodes if n.op.name == "q.dense"]
    assert node.operands[1].type.quant.axis is None
    assert node.op.rescale.channels == 1


def test_large_biases_of_small_weights_fit_the_accumulator():
    weights = np.float32([[1e-12, 0], [1, 1]])
    graph = built(lambda x: x.linear(weights, np.float32([100, -50])), (2, 2))
    converted, samples = convert_with(graph)
    verify(GraphModule(converted.graph, Stage.MIR))
    assert worst(graph, converted, samples) <= 1


def test_a_bias_that_is_added_behind_its_layer_has_32_bits():
    def body(x):
        return (x @ normal(4, 5) + normal(5) * 100).relu()

    graph = built(body, (2, 3, 4))
    converted, samples = convert_with(graph)
    assert inner(converted) == ["q.dense"]
    assert worst(graph, converted, samples) <= 3
    assert [(r.op, r.integer_ops) for r in converted.layers] == [("real.matmul", ("q.dense",))]


def test_a_layer_that_others_read_too_keeps_its_own_result():
    def body(x):
        y = x @ normal(4, 5)
        return y + normal(5), y.softmax()

    converted, _ = convert_with(built(body, (2, 3, 4)))
    assert inner(converted) == ["q.dense", "q.add", "q.softmax"]


@pytest.mark.parametrize("shape", [IMAGE, (2, 4), (2, 3, 4)])
def test_a_normalization_has_a_factor_and_a_bias_for_each_channel(shape):
    def body(x):
        vectors = np.float32([[1, 100, -0.01, 0], [3, 1, 0, 5], [0, 1, 2, 3], [1, 4, 9, 0]])
        return x.batch_norm(*vectors).relu()

    graph = built(body, shape)
    converted, samples = convert_with(graph)
    verify(GraphModule(converted.graph, Stage.MIR))
    assert "q.conv2d" in inner(converted)
    assert not {"q.mul", "q.add"} & set(inner(converted))
    made = converted.graph.outputs[0].node.operands[0].type.quant.scale[0]
    given = converted.graph.op_nodes
    first = next(n for n in given if n.op.name == "real.quantize").op.quant.scale[0]
    # The largest factor times half a step of the input, and half a step of the result.
    assert worst(graph, converted, samples) <= 0.51 + 50 * first / 2 / made


def test_layers_that_nothing_takes_are_written_in_other_ops():
    graph = built(lambda x: x.layer_norm(normal(4), normal(4)), (2, 4))
    fitted = prepare(graph)
    samples = random_samples(graph)
    converted = convert(fitted.graph, calibrated(fitted.graph, samples))
    assert worst(graph, converted, samples) <= 4
    assert {r.op for r in convert(graph, calibrated(graph, samples)).layers} == {"nn.layer_norm"}
    assert [r.path for r in convert(graph, calibrated(graph, samples)).layers] == ["decomposed"]


def test_values_can_be_compared_layer_by_layer():
    def body(x):
        return x.conv(normal(3, 3, 3, 4) / 6).relu().max_pool(2).flatten().sigmoid()

    graph = built(body, IMAGE)
    converted, (sample, *_) = convert_with(graph)
    reals, made = evaluate_all(graph, sample), evaluate_all(converted.graph, sample)
    compared = 0
    for value, integer in converted.values.items():
        found = RealDequantize(quant=integer.type.quant).evaluate(made[integer])[0]
        assert np.abs(reals[value] - found).max() <= 3.5 * integer.type.quant.scale[0]
        compared += 1
    assert compared == 5
    integer = {n for n in converted.graph.op_nodes if n.op.name.startswith("q.")}
    assert set(converted.sources) == integer


def test_everything_without_an_integer_form_is_in_one_message():
    def body(x):
        return (
            x.cumsum(0),
            x.apply(real.RealRemainder(), x.transpose(1, 0)),
            x.apply(real.RealReduceProd(axes=(0,))),
            x @ x.transpose(1, 0),
            x.top_k(2)[0],
        )

    graph = built(body, (3, 3))
    with pytest.raises(UnsupportedOpError) as caught:
        convert(graph, {})
    message = str(caught.value)
    for name in ("real.cumsum", "real.remainder", "real.reduce_prod", "real.matmul", "real.top_k"):
        assert re.search(rf"\n    {name} \(%\d+\): ", message)
    assert "graph 'net': quantization cannot convert 5 kinds of op" in message
    assert "test_convert.py" not in message.partition("\n")[0]
    assert caught.value.exit_status == 5


def test_more_parts_than_a_program_has_are_refused():
    def body(x):
        return x.apply(nn.NnResize(size=(140, 140), interpolation=nn.Interpolation.LINEAR))

    with raises(UnsupportedOpError):
        convert(built(body, (1, 70, 70, 2)), {})


def test_int8_values_with_the_scale_of_the_input_are_taken_as_they_are():
    params = QuantParams((0.5,), (3,))
    graph = Graph("net")
    x = graph.input("x", i8(1, 4, quant=params))
    graph.output(x.apply(RealDequantize(quant=params)) @ normal(4, 2))
    samples = [{"x": np.arange(4, dtype=np.int8).reshape(1, 4) * 9}]
    converted, _ = convert_with(graph.graph, samples)
    (value,) = converted.graph.inputs
    assert [n.op.name for n in converted.graph.users()[value]] == ["q.dense"]


def test_a_refused_part_is_named_with_its_layer():
    def body(x):
        return x.attention(x, x)

    with raises(UnsupportedOpError):
        convert(built(body, (3, 4)), {})


@pytest.mark.parametrize("smallest", [False, True])
def test_indices_go_on_as_whole_numbers(smallest):
    def body(x):
        op = real.RealArgmin(axis=1) if smallest else real.RealArgmax(axis=1)
        return x.apply(op).reshape(3, 1).cast(DType.I64)

    graph = built(body, (3, 4))
    converted, samples = convert_with(graph)
    assert inner(converted) == (["q.table"] if smallest else []) + ["q.argmax"]
    for sample in samples:
        wanted, found = (evaluate(g, sample)[0] for g in (graph, converted.graph))
        assert found.dtype == np.int64
        assert np.array_equal(wanted, found)


def test_a_truth_value_is_refused():
    graph = built(lambda x: x > 0.0, (3, 4))
    with raises(UnsupportedOpError):
        convert(graph, {})


def test_values_without_a_scale_are_all_named():
    graph = built(lambda x, y: x.linear(normal(3, 4)) + y.linear(normal(3, 4)), (2, 4), (2, 4))
    with raises(QuantizationError):
        convert(graph, {})


def test_parameters_without_a_value_are_refused():
    graph = Graph("net")
    w = graph.param("w", (3, 4))
    graph.output(graph.input("x", (2, 4)).linear(w))
    with raises(QuantizationError):
        convert(graph.graph, {})


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_refused(bad):
    weights = normal(3, 4)
    weights[1, 2] = bad
    graph = built(lambda x: x.linear(weights), (2, 4))
    with raises(QuantizationError):
        convert(graph, dict.fromkeys([*graph.inputs, *graph.outputs], QuantParams((1.0,))))


def test_activations_of_several_scales_are_refused():
    graph = built(lambda x: x.softmax(), (2, 2))
    params = QuantParams((1.0, 2.0), (0, 0), 1)
    with raises(QuantizationError):
        convert(graph, {graph.inputs[0]: params})


def test_the_same_graph_gives_the_same_integers():
    graph = built(lambda x: x.conv(normal(3, 3, 3, 4)).relu().mean(1, 2).softmax(), IMAGE)
    texts = {str(convert_with(graph)[0].graph) for _ in range(2)}
    assert len(texts) == 1


def test_a_quantized_network_is_told_to_be_one():
    graph = Graph("done")
    x = graph.input("x", i8(1, 4, quant=QuantParams((0.5,))))
    graph.output(x.apply(QClamp(low=0)))
    with raises(UnsupportedOpError):
        prepare(graph.graph)


def test_a_function_of_each_element_is_refused_with_its_reason():
    """As HGQ2 writes quantizers whose widths differ from element to element."""
    kept = np.array([True, False, True])

    def body(x):
        return (x.floor() + x).where(x.wrap(x.graph.constant(kept)), 0.0)

    with raises(UnsupportedOpError):
        prepare(built(body, (2, 3)))
