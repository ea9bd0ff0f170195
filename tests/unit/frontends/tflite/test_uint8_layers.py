"""Layers on uint8 whose weights have any zero point: the bytes of LiteRT's reference kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tflite_operators.samples import SAMPLES

from rlx.driver import driver
from rlx.frontends.tflite import frontend as tflite
from rlx.frontends.tflite.signed import EXACT_ON_UINT8
from rlx.ir import Constant, DType
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.ops.numerics.fixed_point import Rounding
from rlx.ops.q import QConv2d
from rlx.ops.rescale import ScaleError, rounded_rescale
from rlx.support.errors import UnsupportedOpError
from rlx.support.files.golden import Golden
from rlx.targets import load
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.protocol import compare
from support.files.tflite_builder import TfliteBuilder, other_sign, schema
from support.messages import raises
from support.references.litert import run_reference
from support.references.tflite_compare import compare as compare_tflm

if TYPE_CHECKING:
    from pathlib import Path

LAYERS = {
    # Shapes of input, weights and output, and the options beyond those of a window.
    "CONV_2D": ((1, 7, 6, 5), (4, 3, 2, 5), (1, 7, 6, 4), {}),
    "CONV_2D 1x1": ((2, 3, 3, 9), (3, 1, 1, 9), (2, 3, 3, 3), {}),
    "DEPTHWISE_CONV_2D": ((1, 6, 6, 7), (1, 3, 3, 7), (1, 6, 6, 7), {"depthMultiplier": 1}),
    "DEPTHWISE_CONV_2D x 3": ((2, 5, 5, 4), (1, 3, 2, 12), (2, 5, 5, 12), {"depthMultiplier": 3}),
    "DEPTHWISE_CONV_2D dilated": (
        (1, 9, 9, 3), (1, 3, 3, 3), (1, 9, 9, 3),
        {"depthMultiplier": 1, "dilationHFactor": 2, "dilationWFactor": 2},
    ),
    "FULLY_CONNECTED": ((3, 11), (6, 11), (3, 6), {}),
    "FULLY_CONNECTED of an image": ((2, 2, 2, 5), (4, 20), (2, 4), {}),
}  # fmt: skip
ZERO_POINTS = [0, 1, 100, 128, 203, 255]


def layer(name: str, seed: int, zero_point: int, *, extremes: int | None = None) -> bytes:
    """Return a layer on uint8; of its weights ``extremes`` are 0 or 255, all others near."""
    random = np.random.default_rng(seed)
    given, shape, made, more = LAYERS[name]
    w = random.integers(0, 256, shape)
    if extremes is not None:
        w = np.clip(random.normal(zero_point, 30, shape), 0, 255)
        w.reshape(-1)[random.integers(0, w.size, extremes)] = random.choice([0, 255], extremes)
    x, scale = random.uniform(0.01, 0.2), random.uniform(0.001, 0.1)
    taps = w.size // shape[0] if name != "DEPTHWISE_CONV_2D" else 9
    model = TfliteBuilder()
    i = model.tensor(given, "uint8", scale=x, zero_point=random.integers(0, 256))
    weights = model.constant(w.astype(np.uint8), scale=scale, zero_point=zero_point)
    outputs = made[-1]
    bias = model.constant(random.integers(-4000, 4000, outputs).astype(np.int32), scale=x * scale)
    result = x * scale * np.sqrt(taps) * random.uniform(30, 120)
    o = model.tensor(made, "uint8", scale=result, zero_point=random.integers(0, 256))
    window = {} if name.startswith("FULLY") else {"padding": "SAME", "strideH": 1, "strideW": 1}
    activation = str(random.choice(["NONE", "RELU", "RELU6"]))
    options: dict[str, Any] = {**window, **more, "fusedActivationFunction": activation}
    model.operator(name.split()[0], [i, weights, bias], [o], **options)
    return model.build([i], [o])


def check(data: bytes, seed: int = 0, frames: int = 3) -> None:
    """Compare a uint8 model with LiteRT."""
    module = tflite.load(data)
    verify(module)
    assert module.reference == tflite.UINT8_REFERENCE
    graph, random = module.graph, np.random.default_rng(seed)
    for _ in range(frames):
        arrays = [random.integers(0, 256, v.type.static_shape).astype(np.uint8)
                  for v in graph.inputs]  # fmt: skip
        names = [v.name for v in graph.inputs]
        results = evaluate(graph, dict(zip(names, arrays, strict=True)))
        for found, expected in zip(results, run_reference(data, *arrays), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("zero_point", ZERO_POINTS)
@pytest.mark.parametrize("name", LAYERS)
def test_layers_with_any_weights_equal_litert(name: str, zero_point: int) -> None:
    for seed in range(3):
        check(layer(name, seed, zero_point))


@pytest.mark.parametrize("zero_point", ZERO_POINTS)
@pytest.mark.parametrize("name", LAYERS)
def test_layers_with_few_wide_weights_equal_litert(name: str, zero_point: int) -> None:
    for seed in range(3):
        check(layer(name, seed, zero_point, extremes=2))


def test_only_the_channels_with_wide_weights_are_read_again() -> None:
    w = np.full((4, 1, 1, 9), 121, np.uint8)
    w[1, 0, 0, [2, 3, 7]] = 255
    model = TfliteBuilder()
    x = model.tensor((1, 3, 3, 9), "uint8", scale=0.1, zero_point=100)
    weights = model.constant(w, scale=0.02, zero_point=121)
    y = model.tensor((1, 3, 3, 4), "uint8", scale=0.3, zero_point=90)
    bias = model.constant(np.zeros(4, np.int32))
    model.operator("CONV_2D", [x, weights, bias], [y], padding="VALID", strideH=1, strideW=1)
    data = model.build([x], [y])
    check(data)
    nodes = list(tflite.load(data).graph.op_nodes)
    (conv,) = (n for n in nodes if isinstance(n.op, QConv2d))
    assert conv.operands[0].type.static_shape == (1, 3, 3, 9 + 2 + 1)
    constants = [o.node.op for o in conv.operands if isinstance(o.node.op, Constant)]
    assert constants[0].value.dtype == np.int8
    assert [n.op.name for n in nodes] == [
        "q.convert", "q.slice", "q.slice", "q.concat", "q.conv2d", "q.convert",
    ]  # fmt: skip


def test_weights_that_fit_are_not_split() -> None:
    (conv,) = (
        n
        for n in tflite.load(layer("DEPTHWISE_CONV_2D", 0, 128)).graph.op_nodes
        if n.op.name not in ("q.convert",)
    )
    assert conv.operands[1].type.dtype is DType.I8


def test_many_wide_groups_are_one_convolution() -> None:
    model, channels = TfliteBuilder(), 90
    w = np.full((1, 1, 1, channels), 100, np.uint8)
    w[..., ::2] = 255
    x = model.tensor((1, 2, 2, channels), "uint8", scale=0.1, zero_point=100)
    weights = model.constant(w, scale=0.02, zero_point=100)
    y = model.tensor((1, 2, 2, channels), "uint8", scale=0.3, zero_point=90)
    bias = model.constant(np.zeros(channels, np.int32))
    model.operator("DEPTHWISE_CONV_2D", [x, weights, bias], [y], padding="VALID", strideH=1,
                   strideW=1, depthMultiplier=1)  # fmt: skip
    data = model.build([x], [y])
    check(data)
    convs = [n.op for n in tflite.load(data).graph.op_nodes if isinstance(n.op, QConv2d)]
    assert [op.groups for op in convs] == [channels]


def test_uint8_weights_with_several_scales_are_refused() -> None:
    model = TfliteBuilder()
    x = model.tensor((1, 4), "uint8", scale=0.1, zero_point=100)
    weights = model.constant(np.full((2, 4), 9, np.uint8), scale=[0.1, 0.2], zero_point=[7, 7])
    y = model.tensor((1, 2), "uint8", scale=0.3, zero_point=90)
    model.operator("FULLY_CONNECTED", [x, weights, -1], [y])
    with raises(UnsupportedOpError):
        tflite.load(model.build([x], [y]))


@pytest.mark.parametrize("zero_point", [-128, -100, 5, 127])
def test_int8_dense_weights_with_a_zero_point_equal_tflm(zero_point: int) -> None:
    random = np.random.default_rng(zero_point + 128)
    model = TfliteBuilder()
    x = model.tensor((3, 11), scale=0.1, zero_point=-7)
    w = random.integers(-128, 128, (6, 11)).astype(np.int8)
    weights = model.constant(w, scale=0.02, zero_point=zero_point)
    bias = model.constant(random.integers(-900, 900, 6).astype(np.int32), scale=0.002)
    y = model.tensor((3, 6), scale=0.7, zero_point=4)
    model.operator("FULLY_CONNECTED", [x, weights, bias], [y])
    compare_tflm(model.build([x], [y]))


def test_int8_convolutions_with_a_zero_point_are_refused() -> None:
    # TensorFlow Lite Micro ignores it there.
    model = TfliteBuilder()
    x = model.tensor((1, 3, 3, 2), scale=0.1)
    weights = model.constant(np.full((2, 1, 1, 2), 9, np.int8), scale=0.1, zero_point=7)
    y = model.tensor((1, 3, 3, 2), scale=0.3)
    model.operator("CONV_2D", [x, weights, -1], [y], padding="VALID", strideH=1, strideW=1)
    with raises(UnsupportedOpError):
        tflite.load(model.build([x], [y]))


# LiteRT refuses a convolution without a bias, and ARG_MAX without the type of its result.
@pytest.mark.parametrize("name", sorted(EXACT_ON_UINT8 - {"CONV_2D", "ARG_MAX"}))
def test_operators_equal_litert(name: str) -> None:
    check(other_sign(SAMPLES[name]()), frames=20)


def test_arg_max_equals_litert() -> None:
    model = TfliteBuilder()
    x = model.tensor((4, 7), "uint8", scale=0.1, zero_point=100)
    y = model.tensor((4,), "int32")
    axis = model.constant(np.array(1, np.int32))
    model.operator("ARG_MAX", [x, axis], [y], outputType=schema.TensorType.INT32)
    check(model.build([x], [y]), frames=20)


def test_an_operator_whose_uint8_form_is_not_known_is_refused() -> None:
    model = TfliteBuilder()
    x, y = (model.tensor((2, 3), "uint8", scale=0.1, zero_point=100) for _ in range(2))
    model.operator("ABS", [x], [y])
    with raises(UnsupportedOpError):
        tflite.load(model.build([x], [y]))


@pytest.mark.parametrize("kernel", [(2, 2), (6, 6), (1, 6), (3, 2), (5, 5)])
@pytest.mark.parametrize("activation", ["NONE", "RELU6"])
def test_averages_without_padding_equal_litert(kernel: tuple[int, int], activation: str) -> None:
    for zero_point in (0, 7, 200):
        check(_pool(kernel, activation, zero_point), frames=40)


def _pool(kernel: tuple[int, int], activation: str, zero_point: int) -> bytes:
    rows, columns = kernel
    model, quant = TfliteBuilder(), {"scale": 0.05, "zero_point": zero_point}
    x = model.tensor((2, 6, 6, 3), "uint8", **quant)
    y = model.tensor((2, 7 - rows, 7 - columns, 3), "uint8", **quant)
    model.operator("AVERAGE_POOL_2D", [x], [y], padding="VALID", strideH=1, strideW=1,
                   filterHeight=rows, filterWidth=columns,
                   fusedActivationFunction=activation)  # fmt: skip
    return model.build([x], [y])


def test_concatenation_changes_scales_as_litert_does() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        model = TfliteBuilder()
        scale = random.uniform(0.01, 1)
        scales = scale * random.uniform(0.4, 2.5, 2)
        xs = [model.tensor((1, 256), "uint8", scale=s, zero_point=random.integers(0, 256))
              for s in (*scales, scale)]  # fmt: skip
        y = model.tensor((1, 768), "uint8", scale=scale, zero_point=random.integers(0, 256))
        model.operator("CONCATENATION", xs, [y], axis=1)
        check(model.build(xs, [y]), frames=4)


def test_products_are_rounded_in_double_in_dense_layers() -> None:
    bias = np.arange(-120, 120).astype(np.int32)
    model = TfliteBuilder()
    x = model.tensor((1, 1), "uint8", scale=1.0, zero_point=128)
    weights = model.constant(np.full((240, 1), 128, np.uint8), scale=0.5, zero_point=128)
    y = model.tensor((1, 240), "uint8", scale=1.0, zero_point=128)
    model.operator("FULLY_CONNECTED", [x, weights, model.constant(bias, scale=0.5)], [y])
    check(model.build([x], [y]))


def test_a_factor_that_no_multiplier_equals_is_refused() -> None:
    close = rounded_rescale(0.3, 1000, -100, 100)
    assert close.rounding is Rounding.SINGLE
    with raises(ScaleError):
        rounded_rescale(2.0**-22 * 1.1234567, 2**30, -255, 255)


def network() -> bytes:
    """Return a network of most operators of uint8 networks."""
    random, model = np.random.default_rng(7), TfliteBuilder()

    def weights(*shape: int, zero_point: int) -> int:
        w = np.clip(random.normal(zero_point, 40, shape), 0, 255).astype(np.uint8)
        w.reshape(-1)[:2] = 0, 255
        return model.constant(w, scale=0.01, zero_point=zero_point)

    def value(shape: tuple[int, ...], scale: float, zero_point: int) -> int:
        return model.tensor(shape, "uint8", scale=scale, zero_point=zero_point)

    def whole(*numbers: Any) -> int:
        return model.constant(np.array(numbers, np.int32))

    def bias(count: int) -> int:
        return model.constant(random.integers(-900, 900, count).astype(np.int32))

    window = {"padding": "SAME", "strideH": 1, "strideW": 1}
    x, padded = value((1, 6, 6, 3), 0.0078125, 128), value((1, 8, 8, 3), 0.0078125, 128)
    model.operator("PAD", [x, whole([0, 0], [1, 1], [1, 1], [0, 0])], [padded])
    a = value((1, 4, 4, 8), 0.0235, 0)
    model.operator("CONV_2D", [padded, weights(8, 3, 3, 3, zero_point=131), bias(8)], [a],
                   padding="SAME", strideH=2, strideW=2,
                   fusedActivationFunction="RELU6")  # fmt: skip
    b = value((1, 4, 4, 8), 0.0235, 0)
    model.operator("DEPTHWISE_CONV_2D", [a, weights(1, 3, 3, 8, zero_point=90), bias(8)], [b],
                   depthMultiplier=1, fusedActivationFunction="RELU6", **window)  # fmt: skip
    c = value((1, 4, 4, 8), 0.05, 121)
    model.operator("CONV_2D", [b, weights(8, 1, 1, 8, zero_point=110), bias(8)], [c], **window)
    total, joined = value((1, 4, 4, 8), 0.06, 100), value((1, 4, 4, 16), 0.06, 100)
    model.operator("ADD", [a, c], [total])
    model.operator("CONCATENATION", [total, c], [joined], axis=3)
    largest, averages = value((1, 2, 2, 16), 0.06, 100), value((1, 1, 1, 16), 0.06, 100)
    pool = {"filterHeight": 2, "filterWidth": 2, "padding": "VALID", "strideH": 2, "strideW": 2}
    model.operator("MAX_POOL_2D", [joined], [largest], **pool)
    model.operator("AVERAGE_POOL_2D", [largest], [averages], **pool)
    flat, scores = value((1, 16), 0.06, 100), value((1, 5), 0.1, 120)
    model.operator("RESHAPE", [averages, whole(1, 16)], [flat])
    model.operator("FULLY_CONNECTED", [flat, weights(5, 16, zero_point=77), bias(5)], [scores])
    chances, gates = value((1, 5), 1 / 256, 0), value((1, 5), 1 / 256, 0)
    model.operator("SOFTMAX", [scores], [chances], beta=1.0)
    model.operator("LOGISTIC", [scores], [gates])
    means = value((1, 16), 0.05, 90)
    model.operator("MEAN", [joined, whole(1, 2)], [means])
    return model.build([x], [chances, gates, means])


def test_a_network_equals_litert() -> None:
    check(network(), frames=30)


@pytest.mark.parametrize("simulator", [HostC(), pytest.param(Qemu(), marks=pytest.mark.qemu)])
def test_a_network_on_cortex_m_equals_litert(tmp_path: Path, simulator: HostC | Qemu) -> None:
    data = network()
    x = np.random.default_rng(1).integers(0, 256, (4, 1, 6, 6, 3)).astype(np.uint8)
    frames = zip(*(run_reference(data, frame) for frame in x), strict=True)
    expected = [np.stack(arrays) for arrays in frames]
    # Emitted programs take int8 for uint8, 128 less.
    golden = Golden((_int8(x),), tuple(map(_int8, expected)))
    driver.emit(tflite.load(data), load("cortexm"), tmp_path / "out", golden=golden)
    results = simulator.simulate(tmp_path / "out", golden, timeout_s=300)
    assert compare("", results, golden) == []


def _int8(x: np.ndarray) -> np.ndarray:
    return (x ^ 0x80).view(np.int8)
