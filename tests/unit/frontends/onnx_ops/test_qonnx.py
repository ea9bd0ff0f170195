"""QONNX quantizers: the formulas of its operator pages, written here once more with NumPy."""

import numpy as np
import pytest
from onnx_builder import helper, load, model, run

from rlx.errors import FrontendError

DOMAIN = "qonnx.custom_op.general"
RANDOM = np.random.default_rng(2)


def away(of):
    return lambda x: np.sign(x) * of(np.abs(x))


ROUNDING = {
    "ROUND": np.round,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "UP": away(np.ceil),
    "DOWN": away(np.floor),
    "HALF_UP": away(lambda x: np.floor(x + 0.5)),
    "HALF_DOWN": away(lambda x: np.ceil(x - 0.5)),
}


def ends(bits, signed, narrow):
    if signed:
        return -(2 ** (bits - 1)) + narrow, 2 ** (bits - 1) - 1
    return 0, 2**bits - 1 - narrow


def quant(x, scale, point, bits, signed=1, narrow=0, rounding_mode="ROUND"):
    low, high = ends(bits, signed, narrow)
    steps = np.clip(x / scale + point, np.float32(low), np.float32(high))
    return (ROUNDING[rounding_mode](steps) - point) * scale


def file_of(x, scale, point, bits, domain=DOMAIN, type_="Quant", **attributes):
    made = helper.make_node(type_, ["x", "s", "z", "b"], ["y"], domain=domain, **attributes)
    constants = {"s": scale, "z": point, "b": np.float32(bits)}
    return model([made], {"x": list(x.shape)}, {"y": None}, constants, domains=[domain])


def halves(*shape):
    """Return numbers of which many lie at a rounding half of steps of 1/4."""
    return (RANDOM.integers(-40, 40, shape) / 8).astype(np.float32)


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 7, 8, 12, 16, 20])
@pytest.mark.parametrize("signed", [0, 1])
@pytest.mark.parametrize("narrow", [0, 1])
def test_quant(bits, signed, narrow):
    x, scale = halves(5, 8) * 2 ** max(bits - 4, 0), np.float32(0.25)
    for point in (0, 2, 3):
        given = {"signed": signed, "narrow": narrow}
        data = file_of(x, scale, np.float32(point), bits, **given)
        expected = quant(x, scale, np.float32(point), bits, **given)
        assert np.array_equal(run(data, x)[0], expected)


@pytest.mark.parametrize("mode", ROUNDING)
def test_rounding(mode):
    x = halves(6, 8)
    data = file_of(x, np.float32(0.25), np.float32(0), 8, rounding_mode=mode.lower())
    expected = quant(x, np.float32(0.25), np.float32(0), 8, rounding_mode=mode)
    assert np.array_equal(run(data, x)[0], expected)


def test_scales_of_channels_are_on_the_type():
    x = halves(2, 3, 4)
    scale = np.float32([0.25, 0.5, 1]).reshape(1, 3, 1)
    data = file_of(x, scale, np.float32(0), 4, type_="IntQuant")
    graph = load(data)
    assert [n.op.name for n in graph.op_nodes] == ["real.quantize", "real.dequantize"]
    (quantize, _) = graph.op_nodes
    assert (quantize.op.quant.axis, quantize.op.dtype.value) == (1, "i4")
    assert np.array_equal(run(data, x)[0], quant(x, scale, np.float32(0), 4))


@pytest.mark.parametrize("domain", [DOMAIN, "onnx.brevitas", "finn.custom_op.general"])
def test_weights_are_stored_as_quantized_values(domain):
    w = RANDOM.standard_normal((5, 4)).astype(np.float32)
    nodes = [
        helper.make_node("Quant", ["w", "s", "z", "b"], ["q"], domain=domain, narrow=1),
        helper.make_node("Gemm", ["x", "q"], ["y"], transB=1),
    ]
    constants = {"w": w, "s": np.float32(0.1), "z": np.float32(0), "b": np.float32(4)}
    data = model(nodes, {"x": [2, 4]}, {"y": None}, constants, domains=[domain])
    stored = [n.result.type for n in load(data).nodes if n.op.name == "core.constant"]
    assert [str(t) for t in stored] == ["i4[5, 4] q(0.10000000149011612, 0)"]
    x = halves(2, 4)
    expected = x @ quant(w, np.float32(0.1), np.float32(0), 4, narrow=1).T
    np.testing.assert_allclose(run(data, x)[0], expected, rtol=1e-6)


def test_bipolar_quant():
    x = np.float32([[-1.5, -0.0, 0.0, 2]])
    made = helper.make_node("BipolarQuant", ["x", "s"], ["y"], domain=DOMAIN)
    data = model([made], {"x": [1, 4]}, {"y": None}, {"s": np.float32(0.5)}, domains=[DOMAIN])
    assert run(data, x)[0].tolist() == [[-0.5, 0.5, 0.5, 0.5]]


@pytest.mark.parametrize("mode", ["ROUND", "CEIL", "FLOOR"])
def test_trunc_of_version_1(mode):
    x = halves(4, 8)
    made = helper.make_node("Trunc", ["x", "s", "z", "a", "b"], ["y"], domain=DOMAIN,
                            rounding_mode=mode)  # fmt: skip
    constants = {"s": np.float32(0.25), "z": np.float32(0), "a": np.float32(8), "b": np.float32(6)}
    data = model([made], {"x": [4, 8]}, {"y": None}, constants, domains=[DOMAIN])
    expected = ROUNDING[mode](np.round(x / np.float32(0.25)) / 4) * np.float32(0.25)
    assert np.array_equal(run(data, x)[0], expected)


def test_trunc_of_version_2():
    x = halves(4, 8)
    made = helper.make_node("Trunc", ["x", "s", "z", "a", "o", "b"], ["y"], domain=DOMAIN, signed=1)
    constants = {"s": np.float32(0.25), "z": np.float32(4), "a": np.float32(8),
                 "o": np.float32(1), "b": np.float32(3)}  # fmt: skip
    data = model([made], {"x": [4, 8]}, {"y": None}, constants, domains=[DOMAIN])
    steps = np.clip(np.round(x / np.float32(0.25) + 4) / 4, -4, 3)
    assert np.array_equal(run(data, x)[0], (np.floor(steps) - 1).astype(np.float32))


@pytest.mark.parametrize(
    ("bits", "attributes", "message"),
    [
        (0, {}, "input 3 is [0.0], want one number of bits from 1 to 32"),
        (2.5, {}, "input 3 is [2.5], want one number of bits"),
        (np.nan, {}, "input 3 is [nan], want one number of bits"),
        (8, {"rounding_mode": "SOMEHOW"}, "rounding_mode is 'SOMEHOW', want one of ROUND"),
    ],
)
def test_what_makes_no_sense(bits, attributes, message):
    with pytest.raises(FrontendError) as caught:
        load(file_of(halves(2, 2), np.float32(1), np.float32(0), bits, **attributes))
    assert message in caught.value.message
