"""Normalizations behind layers with stored weights: folded into the scales of the channels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir.evaluate import evaluate
from rlx.passes.quantize import convert
from support.files.onnx_builder import by_runtime, load, model, node
from support.messages import raises

OUTPUTS, INPUTS = 5, 3


def quantizer(name, result, scale, point):
    s, z = f"{result}_s", f"{result}_z"
    nodes = [
        node("QuantizeLinear", f"{name} {s} {z}", f"{result}_q"),
        node("DequantizeLinear", f"{result}_q {s} {z}", result),
    ]
    return nodes, {s: np.float32(scale), z: point}


def arrays(seed, *, narrow=127):
    """Return stored weights with a scale for each channel, and a normalization of these."""
    random = np.random.default_rng(seed)
    return {
        "w": random.integers(-narrow, narrow + 1, (OUTPUTS, INPUTS, 3, 3)).astype(np.int8),
        "ws": random.uniform(0.002, 0.01, OUTPUTS).astype(np.float32),
        "wz": np.zeros(OUTPUTS, np.int8),
        "gamma": random.normal(1, 1, OUTPUTS).astype(np.float32),
        "beta": random.normal(0, 0.5, OUTPUTS).astype(np.float32),
        "mean": random.normal(0, 1, OUTPUTS).astype(np.float32),
        "variance": random.uniform(0.5, 4, OUTPUTS).astype(np.float32),
        "bias": random.normal(0, 1, OUTPUTS).astype(np.float32),
        "factor": random.normal(1, 1, (OUTPUTS, 1, 1)).astype(np.float32),
        "shift": random.normal(0, 1, (OUTPUTS, 1, 1)).astype(np.float32),
    }


NORM = [node("BatchNormalization", "c gamma beta mean variance", "n")]
LINE = [node("Mul", "c factor", "m"), node("Add", "m shift", "n")]
BOTH = [node("BatchNormalization", "c gamma beta mean variance", "k"),
        node("Mul", "factor k", "m"), node("Sub", "m shift", "n")]  # fmt: skip


def layer(between, constants, *, biased=True):
    first, one = quantizer("x", "a", 0.03, np.int8(4))
    end, other = quantizer("n", "y", 0.05, np.int8(-3))
    nodes = [
        *first,
        node("DequantizeLinear", "w ws wz", "wd", axis=0),
        node("Conv", "a wd bias" if biased else "a wd", "c", pads=[1, 1, 1, 1]),
        *between,
        *end,
    ]
    used = {n for each in nodes for n in each.input}
    constants = {k: v for k, v in (constants | one | other).items() if k in used}
    return model(nodes, {"x": [1, INPUTS, 6, 6]}, {"y": None}, constants)


@pytest.mark.parametrize("between", [NORM, LINE, BOTH])
@pytest.mark.parametrize("biased", [False, True])
@given(seed=st.integers(0, 999))
def test_a_normalization_is_part_of_the_scales(between, biased, seed):
    constants = arrays(seed)
    data = layer(between, constants, biased=biased)
    graph = load(data)
    converted = convert(graph, {})
    assert not converted.bounded
    (conv,) = [n for n in converted.graph.op_nodes if n.op.name == "q.conv2d"]
    names = [n.op.name for n in converted.graph.op_nodes if n.op.name.startswith("q.")]
    assert set(names) <= {"q.conv2d", "q.transpose"}
    stored = np.moveaxis(constants["w"], 1, -1)
    assert np.array_equal(np.abs(conv.operands[1].constant), np.abs(stored))
    x = np.random.default_rng(seed).normal(0, 1, (1, INPUTS, 6, 6)).astype(np.float32)
    (wanted,), (found,) = by_runtime(data, x), evaluate(converted.graph, {"x": x})
    steps = np.rint((wanted - found) / 0.05)
    assert np.abs(steps).max() <= 1
    assert (steps != 0).mean() < 0.05


def test_a_channel_without_a_factor_is_its_shift():
    constants = arrays(0)
    constants["gamma"][2] = 0
    data = layer(NORM, constants)
    x = np.random.default_rng(0).normal(0, 1, (1, INPUTS, 6, 6)).astype(np.float32)
    (found,) = evaluate(convert(load(data), {}).graph, {"x": x})
    assert np.unique(found[:, 2]).size == 1
    assert np.abs(found - by_runtime(data, x)[0]).max() <= 0.051


def test_minus_128_that_is_turned_around_is_refused():
    from rlx.support.errors import QuantizationError

    constants = arrays(0)
    constants["w"][1] = -128
    constants["gamma"][1] = -1
    with raises(QuantizationError):
        convert(load(layer(NORM, constants)), {})


def test_a_result_that_others_read_keeps_its_normalization_behind_it():
    constants = arrays(1)
    data = layer([node("BatchNormalization", "c gamma beta mean variance", "k"),
                  node("Add", "k c", "n")], constants)  # fmt: skip
    names = [n.op.name for n in convert(load(data), {}).graph.op_nodes]
    assert names.count("q.conv2d") == 2


@pytest.mark.parametrize("biased", [False, True])
def test_a_channel_whose_scale_is_zero_has_no_weights(biased):
    """Its integers are whatever they are; ONNX Runtime multiplies them with 0."""
    constants = arrays(3)
    constants["ws"][[1, 4]] = 0
    data = layer([node("Identity", "c", "n")], constants,
                 biased=biased)  # fmt: skip
    x = np.random.default_rng(0).normal(0, 1, (1, INPUTS, 6, 6)).astype(np.float32)
    (wanted,), (found,) = by_runtime(data, x), evaluate(convert(load(data), {}).graph, {"x": x})
    steps = np.rint((wanted - found) / 0.05)
    assert np.abs(steps).max() <= 1
    assert (steps != 0).mean() < 0.05
    assert not steps[:, [1, 4]].any()
