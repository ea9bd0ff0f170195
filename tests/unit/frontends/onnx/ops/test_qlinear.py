"""ONNX Runtime's quantized operators: its very integers, ties included."""

import numpy as np
import pytest

from rlx.ir import Graph, TensorType
from rlx.ir.evaluate import evaluate
from rlx.ops.nn import NnQuantized
from rlx.passes.quantize import convert
from rlx.support.errors import UnsupportedOpError
from support.files.onnx_builder import by_runtime, load, node, run
from support.messages import raises
from support.networks.quantized_operators import OPERATORS, Network, Random, file_of


@pytest.mark.parametrize("operator", OPERATORS)
def test_results_are_those_of_onnx_runtime(operator):
    random = Random(len(operator))
    for _ in range(25):
        data, arrays = OPERATORS[operator](random, operator)
        (expected,), (found,) = by_runtime(data, *arrays.values()), run(data, *arrays.values())
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert np.array_equal(found, expected)


def test_the_exact_sum_decides_near_ties():
    """Numbers that are dequantized, multiplied and quantized again round some of these apart."""
    x = np.indices((256, 256)).reshape(2, -1).T.astype(np.uint8).view(np.int8)
    constants = {
        "sx": np.float32(0.14), "zx": np.int8(6), "w": np.int8([[25], [5]]), "zw": np.int8(0),
        "sw": np.float32(0.84375), "sy": np.float32(9.45), "zy": np.int8(53),
    }  # fmt: skip
    data = file_of("QLinearMatMul", "x sx zx w sw zw sy zy", {}, constants, {"x": x},
                   out=np.int8, domain="")  # fmt: skip
    (expected,) = by_runtime(data, x)
    (layer,) = (n for n in load(data).op_nodes if isinstance(n.op, NnQuantized))
    assert np.array_equal(run(data, x)[0], expected)
    graph = Graph("numbers")
    operands = [graph.input(str(i), TensorType(o.type.shape, o.type.dtype))
                for i, o in enumerate(layer.operands)]  # fmt: skip
    graph.output(layer.op.decompose_meaning(graph, *operands))
    (numbers,) = evaluate(graph, {"0": x, "1": constants["w"].T})
    assert 0 < np.count_nonzero(numbers != expected) < 1000
    assert np.abs(numbers.astype(int) - expected).max() == 1


def test_ones_of_a_sigmoid_are_those_of_onnx_runtime():
    """With 9.5 steps to 1, whether a number is 1 or a little less decides its integer."""
    x = np.arange(256, dtype=np.uint8)
    constants = {"s": np.float32(0.125), "z": np.uint8(0), "t": np.float32(2 / 19),
                 "p": np.uint8(76)}  # fmt: skip
    data = file_of("QLinearSigmoid", "x s z t p", {}, constants, {"x": x}, out=np.uint8)
    assert np.array_equal(run(data, x)[0], by_runtime(data, x)[0])


def test_the_zero_point_of_a_sum_is_added_before_the_rounding():
    x = np.arange(8, dtype=np.uint8)
    one, two, zero = np.float32(1), np.float32(2), np.uint8(0)
    expected = {0: [0, 0, 1, 2, 2, 2, 3, 4], 1: [1, 2, 2, 2, 3, 4, 4, 4]}
    for point, wanted in expected.items():
        constants = {"s": one, "z": zero, "b": np.uint8(0), "t": two, "p": np.uint8(point)}
        data = file_of("QLinearAdd", "x s z b s z t p", {}, constants, {"x": x}, out=np.uint8)
        assert run(data, x)[0].tolist() == wanted


def _weights(graph):
    return [n.operands[1].type for n in graph.op_nodes if n.op.name == "nn.quantized_conv"]


def test_layers_become_integer_layers_near_them():
    """The integer op is at most one step off, where float and fixed point round apart.

    Layers with weights are exact.
    """
    for operator, kind in (
        ("QLinearConv", "q.conv2d"), ("QLinearAdd", "q.add"), ("QLinearMul", "q.mul"),
        ("QLinearGlobalAveragePool", "q.mean"), ("QLinearSigmoid", "q.table"),
    ):  # fmt: skip
        random = Random(7)
        for _ in range(6):
            data, arrays = OPERATORS[operator](random, operator)
            graph = load(data)
            if any(w.quant is not None and any(w.quant.zero_point) for w in _weights(graph)):
                continue
            made = convert(graph, {}).graph
            assert kind in {n.op.name for n in made.op_nodes}
            (found,) = evaluate(made, arrays)
            (expected,) = evaluate(graph, arrays)
            apart = np.abs(found.astype(int) - expected).max()
            assert apart <= (operator != "QLinearConv")


@pytest.mark.parametrize("operator", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("seed", range(6))
def test_integer_ops_of_calibrated_scales_have_every_result(operator, seed):
    """All pairs of int8 values. Scales that are multiples of each other meet halves by noise."""
    random = np.random.default_rng(seed)
    x, w = np.indices((256, 256)).astype(np.uint8).view(np.int8)
    scales = random.uniform(0.02, 0.1, 3).astype(np.float32)
    points = random.integers(-60, 60, 3).astype(np.int8)
    named = dict(zip(("sx", "sw", "sy", "zx", "zw", "zy"), (*scales, *points), strict=True))
    arrays = {"x": x, "w": w}
    data = file_of(operator, "x sx zx w sw zw sy zy", {}, named, arrays, out=np.int8)
    graph = convert(load(data), {}).graph
    assert np.array_equal(evaluate(graph, arrays)[0], by_runtime(data, *arrays.values())[0])


@pytest.mark.parametrize("powers", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_networks_and_their_integer_form_are_those_of_onnx_runtime(seed, powers):
    """Scales that are powers of two meet halves in every layer."""
    net = Network(seed, powers=powers)
    data, x = net.data(), Random(seed).draw.standard_normal((4, 1, 3, 8, 8)).astype(np.float32)
    graph = load(data)
    made = convert(graph, {}).graph
    for image in x:
        (expected,) = by_runtime(data, image)
        assert np.array_equal(evaluate(graph, {"x": image})[0], expected)
        # Means of numbers meet other halves than exact ones, but for scales that are exact.
        if powers or all(n.op_type != "QLinearAveragePool" for n in net.nodes):
            assert np.array_equal(evaluate(made, {"x": image})[0], expected)


@pytest.mark.parametrize(("operator", "domain"), [
    ("QLinearReduceMean", "com.microsoft"),
    ("QAttention", "com.microsoft"),
    ("FusedConv", "com.microsoft"),
    ("XnorPopcountMatMul", "qonnx.custom_op.general"),
    ("Mine", "org.acme")
])  # fmt: skip
def test_other_operators_are_refused_with_a_way_out(
    operator,
    domain,
):
    x = np.zeros((2, 3), np.float32)
    data = file_of(operator, "x", {}, {}, {"x": x}, out=np.float32, domain=domain)
    with raises(UnsupportedOpError):
        load(data)


def test_scales_that_are_computed_are_refused():
    from support.files.onnx_builder import model

    made = node("QLinearSigmoid", "x s z s z", domain="com.microsoft")
    inputs = {"x": ([3], np.uint8), "s": ([], np.float32)}
    data = model([made], inputs, {"y": (None, np.uint8)}, {"z": np.uint8(0)},
                 domains=["com.microsoft"])  # fmt: skip
    with raises(UnsupportedOpError):
        load(data)
