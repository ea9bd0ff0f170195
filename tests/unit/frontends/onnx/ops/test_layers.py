"""Layers and activations of constants and of inputs: ONNX Runtime's numbers."""

import numpy as np
import pytest

from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.onnx_builder import by_runtime, load, model, node, run
from support.messages import raises

RANDOM = np.random.default_rng(3)


def numbers(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def same(data, *arrays):
    for ours, theirs in zip(run(data, *arrays), by_runtime(data, *arrays), strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-5)


def one(type_, inputs, shapes, constants=None, opset=21, **attributes):
    given = [node(type_, inputs, "y", **attributes)]
    return model(given, shapes, {"y": None}, constants, opset=opset)


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("bias", [None, (), (1,), (5,), (1, 5), (3, 1), (3, 5)])
def test_gemm(trans_a, trans_b, bias):
    a, b = numbers(*((4, 3) if trans_a else (3, 4))), numbers(*((5, 4) if trans_b else (4, 5)))
    constants = {"b": b} if bias is None else {"b": b, "c": numbers(*bias)}
    attributes = {"transA": trans_a, "transB": trans_b, "alpha": 0.5, "beta": 2.0}
    inputs = "a b" if bias is None else "a b c"
    same(one("Gemm", inputs, {"a": list(a.shape)}, constants, **attributes), a)


@pytest.mark.parametrize(
    ("x", "y"),
    [((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (2, 4, 5)), ((2, 3, 4), (4,)),
     ((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (6, 4, 5))],
)  # fmt: skip
@pytest.mark.parametrize("constant", [False, True])
def test_matmul(x, y, constant):
    left, right = numbers(*x), numbers(*y)
    if constant:
        same(one("MatMul", "x y2", {"x": list(x)}, {"y2": right}), left)
    else:
        same(one("MatMul", "x y2", {"x": list(x), "y2": list(y)}), left, right)


def test_a_matrix_on_the_right_makes_a_linear_layer():
    graph = load(one("MatMul", "x w", {"x": [2, 3, 4]}, {"w": numbers(4, 5)}))
    assert [n.op.name for n in graph.op_nodes] == ["nn.linear"]


ACTIVATIONS = [
    ("Relu", {}), ("LeakyRelu", {"alpha": 0.2}), ("Elu", {"alpha": 1.5}), ("Selu", {}),
    ("Celu", {"alpha": 0.7}), ("Sigmoid", {}), ("HardSigmoid", {"alpha": 0.3}), ("HardSwish", {}),
    ("Mish", {}), ("Gelu", {}), ("Gelu", {"approximate": "tanh"}), ("Softplus", {}),
    ("Softsign", {}), ("Tanh", {}), ("ThresholdedRelu", {"alpha": 0.5}),
    ("Shrink", {"bias": 0.1, "lambd": 0.4}), ("Softmax", {"axis": 1}), ("LogSoftmax", {}),
    ("Hardmax", {"axis": 0}), ("LpNormalization", {"p": 1, "axis": 1}), ("LpNormalization", {}),
    ("MeanVarianceNormalization", {"axes": [0, 2]}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "attributes"), ACTIVATIONS)
def test_activations(name, attributes):
    x = numbers(3, 4, 5) * 2
    same(one(name, "x", {"x": [3, 4, 5]}, **attributes), x)


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax_before_version_13_takes_all_axes_behind(name, axis):
    same(one(name, "x", {"x": [3, 4, 5]}, opset=11, axis=axis), numbers(3, 4, 5))


@pytest.mark.parametrize("slope", [(1,), (5,), (4, 1), (3, 4, 5)])
def test_prelu(slope):
    same(one("PRelu", "x s", {"x": [3, 4, 5]}, {"s": numbers(*slope)}), numbers(3, 4, 5))


@pytest.mark.parametrize("bounds", ["", " lo", " _ hi", " lo hi"])
@pytest.mark.parametrize("constant", [False, True])
def test_clip(bounds, constant):
    values = {"lo": np.array(-0.5, np.float32), "hi": np.array(0.25, np.float32)}
    used = {k: v for k, v in values.items() if k in bounds}
    x = numbers(3, 4)
    if constant:
        same(one("Clip", f"x{bounds}", {"x": [3, 4]}, used), x)
    else:
        shapes = {"x": [3, 4]} | {k: [] for k in used}
        same(one("Clip", f"x{bounds}", shapes), x, *used.values())


def test_clip_before_version_11():
    same(one("Clip", "x", {"x": [3, 4]}, opset=10, min=0.0, max=6.0), numbers(3, 4) * 5)


def test_norms():
    x, scale, shift = numbers(2, 4, 3, 5), numbers(4), numbers(4)
    vectors = {"g": scale, "b": shift, "m": numbers(4), "v": abs(numbers(4))}
    same(one("BatchNormalization", "x g b m v", {"x": [2, 4, 3, 5]}, vectors, epsilon=1e-3), x)
    same(one("InstanceNormalization", "x g b", {"x": [2, 4, 3, 5]}, {"g": scale, "b": shift}), x)
    groups = {"g": scale, "b": shift}
    same(one("GroupNormalization", "x g b", {"x": [2, 4, 3, 5]}, groups, num_groups=2), x)
    last = {"g": numbers(5), "b": numbers(5)}
    same(one("LayerNormalization", "x g b", {"x": [2, 4, 3, 5]}, last), x)
    wide = {"g": numbers(4, 3, 5), "b": numbers(5)}
    same(one("LayerNormalization", "x g b", {"x": [2, 4, 3, 5]}, wide, axis=1), x)
    same(one("LRN", "x", {"x": [2, 4, 3, 5]}, size=3, alpha=0.5, bias=2.0), x)
    same(one("LRN", "x", {"x": [2, 4, 3, 5]}, size=5), x)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_quantize_and_back(dtype, axis):
    count = () if axis is None else ((3, 4)[axis],)
    constants = {
        "s": np.asarray(RANDOM.uniform(0.01, 0.1, count), np.float32),
        "z": np.asarray(RANDOM.integers(0, 100, count), dtype),
    }
    more = {} if axis is None else {"axis": axis}
    nodes = [
        node("QuantizeLinear", "x s z", "q", **more),
        node("DequantizeLinear", "q s z", "y", **more),
    ]
    data = model(nodes, {"x": [3, 4]}, {"y": None}, constants)
    same(data, numbers(3, 4) * 4)
    ops = [n.op.name for n in load(data).op_nodes]
    assert ops == ["real.quantize", "real.dequantize"]


def test_constants_stay_quantized_values():
    constants = {"q": RANDOM.integers(-127, 128, (3, 4)).astype(np.int8),
                 "s": np.float32([0.1, 0.2, 0.3]), "z": np.zeros(3, np.int8)}  # fmt: skip
    nodes = [node("DequantizeLinear", "q s z", "w", axis=0), node("Gemm", "x w", "y", transB=1)]
    graph = load(model(nodes, {"x": [2, 4]}, {"y": None}, constants))
    (constant,) = [n.result for n in graph.nodes if n.op.name == "core.constant"]
    assert constant.type.dtype.value == "i8"
    assert constant.type.quant.axis == 0
    assert len(constant.type.quant.scale) == 3


def test_qlinear_conv():
    # ONNX Runtime adds pairs of products in 16 bits where the processor has no VNNI: weights of
    # 7 bits cannot saturate there.
    x = RANDOM.integers(0, 256, (1, 2, 5, 5)).astype(np.uint8)
    constants = {
        "xs": np.float32(0.02), "xz": np.uint8(120), "ws": np.float32([0.01, 0.02, 0.03]),
        "w": RANDOM.integers(-64, 64, (3, 2, 3, 3)).astype(np.int8), "wz": np.zeros(3, np.int8),
        "ys": np.float32(0.05), "yz": np.uint8(100),
        "b": RANDOM.integers(-500, 500, 3).astype(np.int32),
    }  # fmt: skip
    data = model(
        [node("QLinearConv", "x xs xz w ws wz ys yz b", "y", pads=[1, 1, 1, 1])],
        {"x": ([1, 2, 5, 5], np.uint8)}, {"y": (None, np.uint8)}, constants,
    )  # fmt: skip
    (ours,), (theirs,) = run(data, x), by_runtime(data, x)
    assert np.abs(ours.astype(int) - theirs).max() <= 1
    assert np.mean(ours != theirs) < 0.02


def test_integers_times_a_fraction_are_refused():
    data = model([node("Gemm", "a b", alpha=0.5)], {"a": ([2, 2], np.int32)},
                 {"y": (None, np.int32)}, {"b": np.ones((2, 2), np.int32)})  # fmt: skip
    with raises(UnsupportedOpError):
        load(data)


def test_dropout_that_drops_is_refused():
    constants = {"r": np.float32(0.5), "t": np.array(True)}
    with raises(UnsupportedOpError):
        load(one("Dropout", "x r t", {"x": [4]}, constants))
    x = numbers(4)
    (found,) = run(one("Dropout", "x r", {"x": [4]}, {"r": np.float32(0.5)}), x)
    assert np.array_equal(found, x)


def test_an_attribute_that_nobody_reads_refuses_the_node(monkeypatch):
    from rlx.frontends.onnx.ops import IMPORTERS

    monkeypatch.setitem(IMPORTERS, ("", "Elu"), lambda call: call.value(0).relu())
    with raises(UnsupportedOpError):
        load(one("Elu", "x", {"x": [4]}, alpha=0.5))
    assert load(one("Elu", "x", {"x": [4]}, alpha=1.0)).outputs


def test_as_many_zero_points_as_scales():
    constants = {"s": np.float32([0.1, 0.2]), "z": np.int8([0, 0, 0])}
    with raises(FrontendError):
        load(one("QuantizeLinear", "x s z", {"x": [2, 2]}, constants))
