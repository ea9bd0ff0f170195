"""Activations with a scale for each channel before depthwise layers, as NNCF writes them."""

import numpy as np
import pytest

from rlx.ir.evaluate import evaluate
from rlx.passes.quantize import convert
from rlx.support.errors import UnsupportedOpError
from support.files.onnx_builder import by_runtime, load, model, node
from support.messages import raises

INPUTS, CHANNELS = 3, 6


def quantizer(name, result, scale, point, **axis):
    s, z = f"{result}_s", f"{result}_z"
    nodes = [
        node("QuantizeLinear", f"{name} {s} {z}", f"{result}_q", **axis),
        node("DequantizeLinear", f"{result}_q {s} {z}", result, **axis),
    ]
    return nodes, {s: np.float32(scale), z: point}


def network(activation, seed, *, multiplier=1, points=None):
    random = np.random.default_rng(seed)
    outputs = CHANNELS * multiplier
    scales = random.uniform(0.01, 0.05, CHANNELS)
    points = np.zeros(CHANNELS, np.uint8) if points is None else points
    first, a = quantizer("x", "a", 0.03, np.uint8(128))
    inner, b = quantizer("r" if activation else "c", "b", scales, points, axis=1)
    last, d = quantizer("e", "y", 0.1, np.int8(-3))
    constants = {
        "w": random.integers(-127, 128, (CHANNELS, INPUTS, 1, 1)).astype(np.int8),
        "ws": random.uniform(0.002, 0.01, CHANNELS).astype(np.float32),
        "wz": np.zeros(CHANNELS, np.int8),
        "wb": random.normal(0, 1, CHANNELS).astype(np.float32),
        "v": random.integers(-127, 128, (outputs, 1, 3, 3)).astype(np.int8),
        "vs": random.uniform(0.002, 0.01, outputs).astype(np.float32),
        "vz": np.zeros(outputs, np.int8),
        "low": np.float32(0), "high": np.float32(6),
    }  # fmt: skip
    acts = {"Relu": [node("Relu", "c", "r")], "Clip": [node("Clip", "c low high", "r")], "": []}
    nodes = [
        *first,
        node("DequantizeLinear", "w ws wz", "wd", axis=0),
        node("Conv", "a wd wb", "c"),
        *acts[activation],
        *inner,
        node("DequantizeLinear", "v vs vz", "vd", axis=0),
        node("Conv", "b vd", "e", group=CHANNELS, pads=[1, 1, 1, 1]),
        *last,
    ]
    used = {n for each in nodes for n in each.input}
    stored = {k: v for k, v in (constants | a | b | d).items() if k in used}
    return model(nodes, {"x": [1, INPUTS, 6, 6]}, {"y": None}, stored), constants


@pytest.mark.parametrize("activation", ["", "Relu", "Clip"])
@pytest.mark.parametrize("multiplier", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_scales_of_channels_are_part_of_the_weights(activation, multiplier, seed):
    points = None if activation else np.full(CHANNELS, 128, np.uint8)
    data, constants = network(activation, seed, multiplier=multiplier, points=points)
    converted = convert(load(data), {})
    names = [n.op.name for n in converted.graph.op_nodes if n.op.name.startswith("q.")]
    layers = [n for n in converted.graph.op_nodes if n.op.name == "q.conv2d"]
    assert set(names) <= {"q.conv2d", "q.transpose", "q.minimum", "q.clamp"}
    assert len(layers) == 2
    stored = np.moveaxis(constants["v"], 1, -1)
    assert np.array_equal(layers[1].operands[1].constant, stored)
    x = np.random.default_rng(seed).normal(0, 1.5, (1, INPUTS, 6, 6)).astype(np.float32)
    (wanted,), (found,) = by_runtime(data, x), evaluate(converted.graph, {"x": x})
    steps = np.rint((wanted - found) / 0.1)
    assert np.abs(steps).max() <= 1
    assert (steps != 0).mean() < 0.05


def test_several_zero_points_are_refused():
    data, _ = network("", 0, points=np.arange(120, 120 + CHANNELS).astype(np.uint8))
    with raises(UnsupportedOpError):
        convert(load(data), {})
