"""Products of ONNX Runtime with weights, or inputs, of few bits."""

import numpy as np
import pytest

from rlx.support.errors import UnsupportedOpError
from support.files.onnx_builder import by_runtime, load, run
from support.messages import raises
from support.networks.quantized_operators import Random, file_of

X = np.random.default_rng(8).standard_normal((3, 40)).astype(np.float32)


@pytest.mark.parametrize("seed", range(12))
def test_the_input_is_quantized_while_running(seed):
    random = Random(seed)
    weights = random.weights(random.byte(), 1, 40, 5)
    inputs = "x w sw zw"
    if random.pick(True, False):
        weights["b"] = random.draw.standard_normal(5).astype(np.float32)
        inputs += " b"
    data = file_of("DynamicQuantizeMatMul", inputs, {}, weights, {"x": X}, out=np.float32)
    assert np.array_equal(run(data, X)[0], by_runtime(data, X)[0])


@pytest.mark.parametrize("seed", range(12))
def test_integers_are_multiplied_and_scaled(seed):
    random = Random(seed)
    dtype = random.byte()
    x = random.integers(dtype, 2, 3, 40)
    # int8 with uint8 has no kernel.
    other = random.byte() if dtype is np.uint8 else np.int8
    constants = {**random.weights(other, 1, 40, 5), **random.quant("a", dtype)}
    data = file_of("MatMulIntegerToFloat", "x w sa sw za zw", {}, constants, {"x": x},
                   out=np.float32)  # fmt: skip
    assert np.array_equal(run(data, x)[0], by_runtime(data, x)[0])


def few_bits(bits, block, points, inner=40, outputs=6):
    """Return a model, and the weights that it means."""
    random = np.random.default_rng(bits * block)
    blocks = -(-inner // block)
    values = random.integers(0, 1 << bits, (outputs, blocks * block))
    scales = random.uniform(0.01, 0.2, (outputs, blocks)).astype(np.float32)
    constants = {"w": packed(values, bits).reshape(outputs, blocks, -1), "s": scales}
    zero = np.full((outputs, blocks), 1 << (bits - 1), np.float32)
    if points == "packed":
        whole = random.integers(0, 1 << bits, (outputs, blocks))
        zero, constants["z"] = whole.astype(np.float32), packed(whole, bits)
    elif points == "float":
        zero = constants["z"] = random.uniform(0, 7, (outputs, blocks)).astype(np.float32)
    spread = [np.repeat(a, block, 1)[:, :inner] for a in (zero, scales)]
    attributes = {"bits": bits, "block_size": block, "K": inner, "N": outputs}
    data = file_of("MatMulNBits", "x w s" + (" z" if "z" in constants else ""), attributes,
                   constants, {"x": X}, out=np.float32)  # fmt: skip
    return data, (values[:, :inner] - spread[0]) * spread[1]


def packed(values, bits):
    """Return rows of integers as bytes, the first in the lowest bits."""
    each = 8 // bits
    wide = np.pad(values, ((0, 0), (0, -values.shape[1] % each))).reshape(len(values), -1, each)
    return (wide << np.arange(0, 8, bits)).sum(-1).astype(np.uint8)


@pytest.mark.parametrize("points", ["none", "packed", "float"])
@pytest.mark.parametrize("block", [16, 32, 64])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_weights_of_few_bits(bits, block, points):
    data, weights = few_bits(bits, block, points)
    (found,) = run(data, X)
    # Sums of 40 products in float32.
    np.testing.assert_allclose(found, X @ weights.T, rtol=1e-5, atol=1e-5)
    if (bits, points) != (8, "float"):
        np.testing.assert_allclose(found, by_runtime(data, X)[0], rtol=1e-5, atol=1e-5)


def test_rows_of_one_block_stay_narrow():
    data, _ = few_bits(4, 64, "none")
    assert any(str(n.result.type).startswith("i4[6, 40] q(axis=0") for n in load(data).nodes)


def test_weights_in_another_order_are_refused():
    given = {"bits": 4, "block_size": 16, "K": 16, "N": 1}
    constants = {"w": np.zeros((1, 1, 8), np.uint8), "s": np.ones((1, 1), np.float32),
                 "g": np.zeros(16, np.int32)}  # fmt: skip
    x = np.zeros((1, 16), np.float32)
    data = file_of("MatMulNBits", "x w s _ g", given, constants, {"x": x}, out=np.float32)
    with raises(UnsupportedOpError):
        load(data)
