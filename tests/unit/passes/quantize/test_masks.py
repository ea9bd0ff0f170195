"""Constants that only mask others, and activations whose range is known, say nothing of a range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.api import quantize
from rlx.ir import QuantParams
from rlx.ir.evaluate import evaluate
from support.files.onnx_builder import by_runtime, load, model, node

MIN_FLOAT32 = float(np.finfo(np.float32).min)


def normal(seed, *shape, scale=1.0):
    return np.random.default_rng(seed).normal(0, scale, shape).astype(np.float32)


def losses(data, x):
    """Return the runtime's and the integer network's results for samples, calibrated on these."""
    graph = load(data)
    integer = quantize(graph, {"x": x}).module.graph
    wanted = np.stack([by_runtime(data, each[None])[0] for each in x])
    found = np.stack([evaluate(integer, {"x": each[None]})[0] for each in x])
    return wanted, found


def decibels(wanted, found):
    noise = float(((wanted.astype(np.float64) - found) ** 2).sum())
    return 10 * np.log10(float((wanted.astype(np.float64) ** 2).sum()) / noise)


@pytest.mark.parametrize("value", [MIN_FLOAT32, -1e4, -np.inf])
@pytest.mark.parametrize("between", [[], ["Reshape"]])
def test_padding_of_a_maximum_masks(value, between):
    constants = {
        "w": normal(0, 4, 3, 3, 3), "b": normal(1, 4), "v": np.float32(value),
        "p": np.int64([0, 0, 1, 1, 0, 0, 1, 1]), "s": np.int64([1, 4, 10, 10]),
    }  # fmt: skip
    nodes = [
        node("Conv", "x w b", "c", pads=[1, 1, 1, 1]),
        node("Pad", "c p v", "d"),
        *([node("Reshape", "d s", "e")] if between else []),
        node("MaxPool", "e" if between else "d", kernel_shape=[3, 3], strides=[2, 2]),
    ]
    data = model(nodes, {"x": [1, 3, 8, 8]}, {"y": None}, constants)
    assert decibels(*losses(data, normal(2, 16, 3, 8, 8))) > 35


def test_padding_within_the_range_is_a_number_like_others():
    """A window that sees nothing else gives it."""
    nodes = [
        node("Relu", "x", "c"),
        node("Pad", "c p v", "d"),
        node("MaxPool", "d", kernel_shape=[1, 1]),
    ]
    constants = {"v": np.float32(-0.5), "p": np.int64([0, 0, 1, 1, 0, 0, 1, 1])}
    data = model(nodes, {"x": [1, 3, 4, 4]}, {"y": None}, constants)
    wanted, found = losses(data, normal(2, 16, 3, 4, 4))
    assert np.abs(wanted - found).max() < 0.02


@pytest.mark.parametrize("value", [-1e9, -1e4, -100.0, MIN_FLOAT32, -np.inf])
@pytest.mark.parametrize("operands", ["c m", "m c"])
@pytest.mark.parametrize("layer", ["x w b", "x w"])
def test_a_mask_before_a_softmax_leaves_the_others_their_steps(value, operands, layer):
    mask = np.float32([0, 0.5, value, 0, value])
    nodes = [node("Gemm", layer, "c"), node("Add", operands, "d"), node("Softmax", "d", axis=-1)]
    constants = {"w": normal(0, 6, 5), "b": normal(1, 5), "m": mask}
    data = model(nodes, {"x": [1, 6]}, {"y": None}, constants)
    wanted, found = losses(data, normal(2, 32, 6))
    assert not found[:, :, 2].any()
    assert decibels(wanted, found) > 30


def test_a_mask_that_comes_with_the_sample():
    data = model([node("Add", "x m", "d"), node("Softmax", "d", axis=-1)],
                 {"x": [1, 6], "m": [1, 6]}, {"y": None})  # fmt: skip
    x, kept = normal(2, 32, 6), np.random.default_rng(0).integers(0, 2, (32, 6))
    kept[:, 0] = 1
    m = np.where(kept, 0, -1e9).astype(np.float32)
    integer = quantize(load(data), {"x": x, "m": m}).module.graph
    wanted = np.stack([by_runtime(data, a[None], b[None])[0] for a, b in zip(x, m, strict=True)])
    found = np.stack([evaluate(integer, {"x": a[None], "m": b[None]})[0]
                      for a, b in zip(x, m, strict=True)])  # fmt: skip
    assert not found[:, 0][kept == 0].any()
    assert decibels(wanted, found) > 30


@pytest.mark.parametrize("value", [-1e9, MIN_FLOAT32])
def test_a_mask_before_a_maximum(value):
    nodes = [node("Gemm", "x w b", "c"), node("Add", "c m", "d"),
             node("ReduceMax", "d a", keepdims=1)]  # fmt: skip
    constants = {
        "w": normal(0, 6, 5), "b": normal(1, 5), "m": np.float32([0, 0, value, 0, 0]),
        "a": np.int64([1]),
    }  # fmt: skip
    data = model(nodes, {"x": [1, 6]}, {"y": None}, constants)
    assert decibels(*losses(data, normal(2, 32, 6))) > 30


@given(st.floats(-3, 3), st.integers(0, 9))
def test_a_constant_that_is_no_mask_is_added(value, seed):
    nodes = [node("Gemm", "x w b", "c"), node("Add", "c m", "d"), node("Softmax", "d", axis=-1)]
    constants = {"w": normal(seed, 6, 5), "b": normal(1, 5),
                 "m": np.float32([0, value, -value, 0, 1])}  # fmt: skip
    data = model(nodes, {"x": [1, 6]}, {"y": None}, constants)
    assert decibels(*losses(data, normal(2, 16, 6))) > 25


SHARES, SIGNS = QuantParams.per_tensor(1 / 256, -128), QuantParams.per_tensor(1 / 128, 0)


@pytest.mark.parametrize(("op", "wanted"), [("Sigmoid", SHARES), ("Tanh", SIGNS)])
def test_a_score_keeps_its_range_though_no_sample_is_a_hit(op, wanted):
    data = model([node("Gemm", "x w b", "c"), node(op, "c")], {"x": [1, 6]}, {"y": None},
                 {"w": normal(0, 6, 1, scale=3), "b": np.float32([-9])})  # fmt: skip
    calib = normal(1, 64, 6, scale=0.2)
    integer = quantize(load(data), {"x": calib}).module.graph
    assert integer.outputs[0].node.operands[0].type.quant == wanted


def test_a_function_of_a_score_has_the_range_that_follows():
    nodes = [node("Gemm", "x w b", "c"), node("Sigmoid", "c", "s"), node("Mul", "s k", "t"),
             node("Sub", "t one", "y")]  # fmt: skip
    constants = {"w": normal(0, 6, 1), "b": np.float32([-9]), "k": np.float32(100),
                 "one": np.float32(50)}  # fmt: skip
    data = model(nodes, {"x": [1, 6]}, {"y": None}, constants)
    integer = quantize(load(data), {"x": normal(1, 64, 6)}).module.graph
    quant = integer.outputs[0].node.operands[0].type.quant
    ends = [(end - quant.zero_point[0]) * quant.scale[0] for end in (-128, 127)]
    assert ends == pytest.approx([-50, 50], abs=0.5)
