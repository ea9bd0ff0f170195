"""Halves between two codes go where the format of the network sends them, to the last bit."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.fixed_point import Rounding
from rlx.passes.quantize import convert
from rlx.support.errors import QuantizationError
from support.files.onnx_builder import by_runtime, helper, load, model
from support.files.quantized_files import QONNX, ROUNDING, QdqFile, QonnxFile, qonnx_result
from support.messages import raises


def results(graph, x):
    return evaluate(graph, {"x": x})[0]


@pytest.mark.parametrize("seed", range(60))
def test_networks_with_scales_of_powers_of_two_equal_onnx_runtime(seed):
    file = QdqFile(seed, channels=1 + seed % 4)
    data = file.network()
    graph = convert(load(data), {}).graph
    for x in file.samples(3):
        assert np.array_equal(results(graph, x), by_runtime(data, x)[0])


@pytest.mark.parametrize("seed", range(60))
def test_networks_of_few_bits_equal_qonnx(seed):
    check_qonnx(QonnxFile(seed, channels=1 + seed % 4))


def check_qonnx(file):
    """Compare a file in float and as integers with QONNX's definition."""
    data = file.network()
    imported = load(data)
    graph = convert(imported, {}).graph
    for x in file.samples(3):
        expected = qonnx_result(data, x)
        assert np.array_equal(results(imported, x), expected)
        assert np.array_equal(results(graph, x), expected)


@pytest.mark.parametrize("mode", sorted(ROUNDING.keys() - {"ROUND"}))
@pytest.mark.parametrize("seed", range(20))
def test_networks_with_other_roundings_equal_qonnx(mode, seed):
    check_qonnx(QonnxFile(seed, channels=1 + seed % 4, mode=mode))


OTHERS = [mode for mode in ROUNDING if mode != "ROUND"]


def between(nodes, mode, scale=0.25, *, bits=8, signed=None, constants=None):
    """Return a file of nodes from ``a``, a tensor in steps of 1/8, to ``m``, which is rounded."""
    signed = int(mode not in ("UP", "DOWN")) if signed is None else signed
    quant = partial(helper.make_node, "Quant", domain=QONNX, narrow=0)
    numbers = {"s0": 0.125, "s1": scale, "z": 0, "b0": 8, "b1": bits}
    return model(
        [
            quant(["x", "s0", "z", "b0"], ["a"], signed=1),
            *nodes,
            quant(["m", "s1", "z", "b1"], ["y"], signed=signed, rounding_mode=mode),
        ],
        {"x": [1, 3, 8, 8]},
        {"y": None},
        {n: np.float32(v) for n, v in numbers.items()} | (constants or {}),
        domains=[QONNX],
    )


def convolution(random, scale=1 / 16):
    """Return the nodes of a convolution with weights of 8 bits, and their constants."""
    weights = (random.integers(-8, 8, (4, 3, 3, 3)) * scale).astype(np.float32)
    nodes = [
        helper.make_node("Quant", ["w", "sw", "z", "b0"], ["q"], domain=QONNX, signed=1, narrow=1),
        helper.make_node("Conv", ["a", "q"], ["m"], group=1, pads=[1, 1, 1, 1]),
    ]
    return nodes, {"w": weights, "sw": np.float32(scale)}


def images(random, count=3):
    """Return inputs of which many are halves of steps of 1/8."""
    sizes = (random.integers(-300, 300, (1, 3, 8, 8)) for _ in range(count))
    return [(n / 64).astype(np.float32) for n in sizes]


@pytest.mark.parametrize("mode", OTHERS)
@pytest.mark.parametrize("bits", [2, 2.5, 5, 8])
def test_convolutions_are_rounded_as_qonnx_says(mode, bits):
    random = np.random.default_rng(5)
    nodes, constants = convolution(random)
    data = between(nodes, mode, bits=bits, constants=constants)
    graph = convert(load(data), {}).graph
    for x in images(random):
        assert np.array_equal(results(graph, x), qonnx_result(data, x))


POOLS = {
    "average": {"type_": "AveragePool", "kernel_shape": [2, 2], "strides": [2, 2]},
    "all": {"type_": "GlobalAveragePool"},
    "padded": {
        "type_": "AveragePool", "kernel_shape": [2, 4], "pads": [0, 1, 1, 2],
        "count_include_pad": 1,
    },
}  # fmt: skip


@pytest.mark.parametrize("mode", ROUNDING)
@pytest.mark.parametrize("scale", [0.5, 0.25, 0.0625])
@pytest.mark.parametrize("pool", POOLS)
def test_averages_are_rounded_as_qonnx_says(mode, scale, pool):
    """From the exact sum; the host's numbers are exact too."""
    given = POOLS[pool].copy()
    node_ = helper.make_node(given.pop("type_"), ["a"], ["m"], **given)
    imported = load(between([node_], mode, scale))
    graph = convert(imported, {}).graph
    for x in images(np.random.default_rng(6)):
        assert np.array_equal(results(graph, x), results(imported, x))


@pytest.mark.parametrize("mode", [*OTHERS, "ROUND_TO_ZERO"])
def test_inputs_and_tables_are_rounded_as_qonnx_says(mode):
    nodes = [helper.make_node("Tanh", ["a"], ["m"])]
    for middle in ([helper.make_node("Identity", ["a"], ["m"])], nodes):
        imported = load(between(middle, mode, signed=int(mode in OTHERS[:2]), bits=6))
        graph = convert(imported, {}).graph
        for x in images(np.random.default_rng(7)):
            assert np.array_equal(results(graph, x), results(imported, x))


@pytest.mark.parametrize("mode", ["FLOOR", "CEIL"])
def test_a_layer_rounds_all_down_or_up_in_powers_of_two_only(mode):
    nodes, constants = convolution(np.random.default_rng(8), 0.013)
    graph = load(between(nodes, mode, 0.3, constants=constants))
    with raises(QuantizationError):
        convert(graph, {})


@pytest.mark.parametrize("mode", ["FLOOR", "CEIL"])
def test_sums_round_to_the_nearest(mode):
    nodes = [
        helper.make_node("MaxPool", ["a"], ["p"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["a", "p"], ["m"]),
    ]
    with raises(QuantizationError):
        convert(load(between(nodes, mode, 0.5)), {})


@pytest.mark.parametrize("mode", ["UP", "DOWN"])
def test_layers_are_not_rounded_by_sign_after_a_rounding(mode):
    """Toward zero is down for positive numbers and up for negative ones."""
    nodes, constants = convolution(np.random.default_rng(8))
    graph = load(between(nodes, mode, constants=constants, signed=1))
    with raises(QuantizationError):
        convert(graph, {})


@pytest.mark.parametrize("kind", [QdqFile, QonnxFile])
def test_halves_that_are_rounded_up_are_noticed(kind):
    """The networks above have halves: many of them differ if these are rounded up."""
    different = 0
    for seed in range(20):
        file = kind(seed, channels=1 + seed % 4)
        graph = load(file.network())
        up = convert(graph, {}, rounding=Rounding.SINGLE).graph
        even = convert(graph, {}).graph
        different += any(
            not np.array_equal(results(up, x), results(even, x)) for x in file.samples(3)
        )
    assert different > 5


def quantizers(*points):
    """Return a file of a quantizer of 8 bits with steps of 1/8, and then one of 1/4, each with a
    zero point.
    """
    nodes, constants, source = [], {"b": np.float32(8)}, "x"
    for place, (point, scale) in enumerate(zip(points, (0.125, 0.25), strict=True)):
        names = [f"s{place}", f"z{place}", "b"]
        constants |= {names[0]: np.float32(scale), names[1]: np.float32(point)}
        result = f"q{place}" if place == 0 else "y"
        nodes.append(helper.make_node("Quant", [source, *names], [result], domain=QONNX, signed=1,
                                      narrow=0))  # fmt: skip
        source = result
    return model(nodes, {"x": [1, 64]}, {"y": None}, constants, domains=[QONNX])


@pytest.mark.parametrize("points", [(0, 0), (0, 1), (3, 0), (1, -5), (2, 4)])
def test_zero_points_are_added_before_the_rounding(points):
    data = quantizers(*points)
    x = (np.arange(-32, 32, dtype=np.float32) / 16).reshape(1, 64)
    expected = qonnx_result(data, x)
    graph = convert(load(data), {}).graph
    assert np.array_equal(results(load(data), x), expected)
    assert np.array_equal(results(graph, x), expected)
    first, *others = [n.op for n in graph.op_nodes if hasattr(n.op, "ties") or n.op.dialect == "q"]
    assert first.ties.value == ("odd" if points[0] % 2 else "even")
    assert [o.rescale.rounding.value for o in others] == ["odd" if points[1] % 2 else "even"]


def test_float_networks_round_as_the_reference():
    """Ops round twice as TensorFlow Lite Micro does where no quantize node says how."""
    from rlx.ir import QuantParams
    from rlx.tracing import Graph

    graph = Graph("net")
    x = graph.input("x", (2, 4))
    y = x.linear(x.wrap(x.graph.constant(np.ones((3, 4), np.float32))))
    graph.output(y)
    quant = QuantParams.per_tensor(0.05, 0)
    made = convert(graph.graph, {graph.graph.inputs[0]: quant, graph.graph.outputs[0]: quant})
    (op,) = [n.op for n in made.graph.op_nodes if n.op.name == "q.dense"]
    assert op.rescale.rounding is Rounding.DOUBLE


def test_stored_constants_of_sums_are_kept():
    """Their own integers and scale, not new ones chosen over their range."""
    steps = np.int8([3, -100, 17, 5])
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["c", "s", "u"], ["e"]),
        helper.make_node("Add", ["d", "e"], ["a"]),
        helper.make_node("QuantizeLinear", ["a", "t", "z"], ["p"]),
        helper.make_node("DequantizeLinear", ["p", "t", "z"], ["y"]),
    ]
    constants = {"s": np.float32(0.1), "t": np.float32(0.3), "z": np.uint8(7), "u": np.uint8(120),
                 "c": (steps.astype(np.int16) + 128).astype(np.uint8)}  # fmt: skip
    data = model(nodes, {"x": [2, 4]}, {"y": None}, constants)
    graph = convert(load(data), {}).graph
    constant = next(n.result for n in graph.nodes if n.op.name == "core.constant")
    assert np.array_equal(constant.constant, steps)
    assert constant.type.quant is not None
    assert constant.type.quant.zero_point == (-8,)
    x = np.random.default_rng(0).normal(0, 5, (2, 4)).astype(np.float32)
    assert np.array_equal(results(graph, x), by_runtime(data, x)[0])


@pytest.mark.parametrize("seed", range(6))
def test_decimal_scales_differ_from_onnx_runtime_at_halves_only(seed):
    """Such as 0.05 * 0.01 / 0.1: a sum of 100 is a half, which float32 rounds to either side."""
    random = np.random.default_rng(seed)
    channels, steps = 6, {"a": random.choice([0.05, 0.1]), "y": random.choice([0.1, 0.2])}
    scales = random.choice([0.01, 0.02], channels)
    scales[2] = 0  # of a channel without weights, as tools write it
    stored = random.integers(-127, 128, (channels, 1, 3, 3)).astype(np.int8)
    bias = random.integers(-500, 500, channels).astype(np.int32)
    constants = {n: np.float32(v) for n, v in steps.items()} | {
        "z": np.int8(3), "w": stored, "ws": scales.astype(np.float32),
        "b": bias, "bs": (steps["a"] * scales).astype(np.float32),
    }  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "a", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "a", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "ws"], ["wd"], axis=0),
        helper.make_node("DequantizeLinear", ["b", "bs"], ["bd"], axis=0),
        helper.make_node("Conv", ["d", "wd", "bd"], ["c"], group=channels),
        helper.make_node("QuantizeLinear", ["c", "y", "z"], ["p"]),
        helper.make_node("DequantizeLinear", ["p", "y", "z"], ["r"]),
    ]
    data = model(nodes, {"x": [1, channels, 16, 16]}, {"r": None}, constants)
    graph = convert(load(data), {}).graph
    x = random.normal(0, 1.2, (1, channels, 16, 16)).astype(np.float32)
    found, expected = (
        np.rint(r / steps["y"]).astype(int) for r in (results(graph, x), by_runtime(data, x)[0])
    )
    centred = np.clip(np.rint(x / np.float32(steps["a"])) + 3, -128, 127).astype(np.int64) - 3
    taps = (
        centred[0, :, i : i + 14, j : j + 14]
        * stored[:, 0, i, j, np.newaxis, np.newaxis].astype(int)
        for i in range(3)
        for j in range(3)
    )
    exact = (sum(taps) + bias[:, np.newaxis, np.newaxis]) * (scales * steps["a"] / steps["y"])[
        :, np.newaxis, np.newaxis
    ]
    different = (found != expected)[0]
    assert np.abs(found - expected).max() <= 1
    assert np.abs(np.abs(exact - np.rint(exact)) - 0.5)[different].max(initial=0) < 1e-4
    assert different.mean() < 0.01
