"""Linear ``Resize``: the numbers, and between quantize nodes the integers, of ONNX Runtime."""

import numpy as np
import pytest

from support.files.onnx_builder import by_runtime, load, model, node, run

MODES = (
    "half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners", "pytorch_half_pixel",
)  # fmt: skip


def cases(seed):
    random = np.random.default_rng(seed)
    for spatial in (1, 2, 2, 2, 3):
        batch, channels = (int(n) for n in random.integers(1, 4, 2))
        size = [int(n) for n in random.integers(1, 6, spatial)]
        factors = random.choice([1, 2, 3, 4, 1.5, 2.5, 0.5], spatial)
        wanted = [max(1, int(n * f)) for n, f in zip(size, factors, strict=True)]
        yield [batch, channels, *size], np.int64([batch, channels, *wanted]), random


def resize(mode, name="x"):
    return node("Resize", f"{name} _ _ n", "y" if name == "x" else "r", mode="linear",
                coordinate_transformation_mode=mode)  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mode", MODES)
def test_numbers(mode, seed):
    for shape, wanted, random in cases(seed):
        x = random.standard_normal(shape).astype(np.float32)
        data = model([resize(mode)], {"x": shape}, {"y": None}, {"n": wanted})
        assert np.array_equal(run(data, x)[0], by_runtime(data, x)[0])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("mode", MODES)
def test_integers_are_truncated(mode, dtype, seed):
    for shape, wanted, random in cases(seed):
        x = random.integers(0, 256, shape).astype(np.uint8).view(dtype)
        data = model([resize(mode)], {"x": (shape, dtype)}, {"y": (None, dtype)}, {"n": wanted})
        assert np.array_equal(run(data, x)[0], by_runtime(data, x)[0])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mode", MODES)
def test_between_dequantize_and_quantize(mode, seed):
    """Many of these are ties of sixteenths, which the order of the sum decides."""
    for shape, wanted, random in cases(seed):
        x = random.integers(0, 256, shape).astype(np.uint8)
        nodes = [node("DequantizeLinear", "x s z", "d"), resize(mode, "d"),
                 node("QuantizeLinear", "r s z", "y")]  # fmt: skip
        constants = {"n": wanted, "s": np.float32(0.1), "z": np.uint8(3)}
        data = model(nodes, {"x": (shape, np.uint8)}, {"y": (None, np.uint8)}, constants)
        assert np.array_equal(run(data, x)[0], by_runtime(data, x)[0])


def test_an_image_that_grows_is_a_layer():
    data = model([resize("half_pixel")], {"x": [1, 3, 4, 5]}, {"y": None},
                 {"n": np.int64([1, 3, 8, 10])})  # fmt: skip
    (layer,) = (n for n in load(data).op_nodes if n.op.name == "nn.resize")
    assert layer.op.corners
