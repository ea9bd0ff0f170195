"""QONNX quantizers: the formulas of its operator pages, written here once more with NumPy."""

import ml_dtypes
import numpy as np
import pytest

from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.onnx_builder import helper, load, model, onnx, run
from support.messages import raises

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
    if signed and bits == 1:
        return (np.where(x / scale + point >= 0, 1, -1) - point) * scale
    steps = np.clip(x / scale + point, np.float32(low), np.float32(high))
    return (ROUNDING[rounding_mode](steps) - point) * scale


def file_of(x, scale, point, bits, domain=DOMAIN, type_="Quant", **attributes):
    made = helper.make_node(type_, ["x", "s", "z", "b"], ["y"], domain=domain, **attributes)
    constants = {"s": scale, "z": point, "b": np.float32(bits)}
    return model([made], {"x": list(x.shape)}, {"y": None}, constants, domains=[domain])


def halves(*shape):
    """Return numbers of which many lie at a rounding half of steps of 1/4."""
    return (RANDOM.integers(-40, 40, shape) / 8).astype(np.float32)


@pytest.mark.parametrize("bits", [1, 1.5, 2, 2.5, 3, 4, 5, 7, 8, 12, 16, 20, 40])
@pytest.mark.parametrize("signed", [0, 1])
@pytest.mark.parametrize("narrow", [0, 1])
def test_quant(bits, signed, narrow):
    x, scale = halves(5, 8) * np.float32(2 ** max(bits - 4, 0)), np.float32(0.25)
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


@pytest.mark.parametrize("domain", [DOMAIN, "onnx.brevitas", "finn.custom_op.general", "finn"])
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


def in_version(data, version, domain=DOMAIN):
    """Return a model that imports the operators of QONNX in a version."""
    made = onnx.load_model_from_string(data)
    for entry in made.opset_import:
        entry.version = version if entry.domain == domain else entry.version
    return made.SerializeToString()


def truncated(inputs):
    made = helper.make_node("Trunc", inputs.split(), ["y"], domain=DOMAIN, rounding_mode="FLOOR")
    constants = {"s": np.float32(0.25), "z": np.float32(4), "a": np.float32(8),
                 "o": np.float32(1), "b": np.float32(3)}  # fmt: skip
    return model([made], {"x": [4, 8]}, {"y": None}, constants, domains=[DOMAIN])


@pytest.mark.parametrize("version", [2, 3])
def test_trunc_of_version_2(version):
    x = halves(4, 8)
    data = in_version(truncated("x s z a o b"), version)
    steps = np.clip(np.round(x / np.float32(0.25) + 4) / 4, -4, 3)
    assert np.array_equal(run(data, x)[0], (np.floor(steps) - 1).astype(np.float32))


def test_the_version_of_the_domain_decides_the_form_of_trunc():
    for inputs, version in (("x s z a o b", 1), ("x s z a b", 2)):
        with raises(FrontendError):
            load(in_version(truncated(inputs), version))


@pytest.mark.parametrize("layout", ["", "NCHW", "NHWC"])
@pytest.mark.parametrize(("channels", "count"), [(1, 3), (1, 100), (5, 7), (5, 1)])
def test_multi_threshold(layout, channels, count):
    shape = (2, 3, 4, 5) if layout == "NHWC" else (2, 5, 3, 4)
    x = halves(*shape) / 4
    limits = np.sort(halves(channels, count) / 4)
    scale, bias = np.float32(0.3), np.float32(-1.5)
    given = {"data_layout": layout} if layout else {}
    made = helper.make_node("MultiThreshold", ["x", "t"], ["y"], domain=DOMAIN, out_dtype="INT4",
                            out_scale=float(scale), out_bias=float(bias), **given)  # fmt: skip
    data = model([made], {"x": list(shape)}, {"y": None}, {"t": limits}, domains=[DOMAIN])
    last = x if layout == "NHWC" else np.moveaxis(x, 1, -1)
    reached = (last[..., None] >= limits).sum(-1).astype(np.float32) * scale + bias
    expected = reached if layout == "NHWC" else np.moveaxis(reached, -1, 1)
    assert np.array_equal(run(data, x)[0], expected)


@pytest.mark.parametrize(("exponent", "mantissa", "bias", "type_"), [
    (4, 3, 7, ml_dtypes.float8_e4m3fn), (5, 2, 15, ml_dtypes.float8_e5m2),
    (2, 1, 1, ml_dtypes.float4_e2m1fn), (3, 2, 3, ml_dtypes.float6_e3m2fn),
])  # fmt: skip
def test_float_quant(exponent, mantissa, bias, type_):
    """Halves go to the even number, as those of NumPy's types of the same bits do."""
    limit = np.float32(ml_dtypes.finfo(type_).max)
    every = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e5m2).astype(np.float32)
    x = np.concatenate([every[np.isfinite(every)], halves(64), RANDOM.standard_normal(64)])
    x = x.astype(np.float32)
    names = ["x", "s", "e", "m", "b", "l"]
    made = helper.make_node("FloatQuant", names, ["y"], domain=DOMAIN, has_inf=0, has_nan=0,
                            has_subnormal=0, saturation=1)  # fmt: skip
    numbers = (0.5, exponent, mantissa, bias, limit)
    constants = dict(zip(names[1:], np.float32(numbers), strict=True))
    data = model([made], {"x": list(x.shape)}, {"y": None}, constants, domains=[DOMAIN])
    expected = np.clip(x * 2, -limit, limit).astype(type_).astype(np.float32) / 2
    assert np.array_equal(run(data, x)[0], expected)


def test_layers_of_images_with_the_channels_last():
    domain, x = "qonnx.custom_op.channels_last", halves(2, 6, 5, 3)
    w = halves(4, 3, 2, 3)
    vectors = {n: np.abs(halves(4)) + 1 for n in "ghij"}

    def nodes(domain):
        return [helper.make_node("Conv", ["x", "w"], ["c"], domain=domain, kernel_shape=[3, 2],
                                 strides=[1, 1], dilations=[1, 1], pads=[1, 0, 1, 0], group=1),
                helper.make_node("BatchNormalization", ["c", *"ghij"], ["n"], domain=domain,
                                 epsilon=1e-5),
                helper.make_node("MaxPool", ["n"], ["y"], domain=domain, kernel_shape=[2, 2],
                                 strides=[2, 2], pads=[0, 0, 0, 0])]  # fmt: skip

    last = {"w": np.ascontiguousarray(w.transpose(0, 3, 2, 1)), **vectors}
    first = {"w": np.ascontiguousarray(last["w"].transpose(0, 3, 1, 2)), **vectors}
    data = model(nodes(domain), {"x": list(x.shape)}, {"y": None}, last, domains=[domain])
    moved = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    same = model(nodes(""), {"x": list(moved.shape)}, {"y": None}, first)
    assert np.array_equal(run(data, x)[0], run(same, moved)[0].transpose(0, 2, 3, 1))
    assert [n.op.name for n in load(data).op_nodes] == ["nn.conv", "nn.batch_norm", "nn.max_pool"]


@pytest.mark.parametrize(
    ("bits", "attributes"),
    [(0, {}), (100, {}), (np.nan, {}), (8, {"rounding_mode": "SOMEHOW"})],
)
def test_what_makes_no_sense(bits, attributes):
    with raises(FrontendError):
        load(file_of(halves(2, 2), np.float32(1), np.float32(0), bits, **attributes))


@pytest.mark.parametrize("scale", [np.inf, np.nan])
def test_a_scale_that_is_no_number(scale):
    with raises(UnsupportedOpError):
        load(file_of(halves(2, 2), np.float32(scale), np.float32(0), 1))
