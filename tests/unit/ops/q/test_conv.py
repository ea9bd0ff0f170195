from __future__ import annotations

from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import DType, TensorType, i8, i32
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QConv2d, QPad, Window
from rlx.support.errors import ShapeError
from support.messages import raises
from support.references.oracle import (
    ACTIVATIONS,
    Quant,
    clamp_of,
    codes,
    float32,
    quants,
    run_operator,
)

CONV = QConv2d(window=Window((2, 2)), x_zero_point=0, rescale=Rescale.of(2.0**-9), zero_point=0)
TYPES = (i8(1, 4, 4, 6), i8(8, 2, 2, 6), i32(8))


@dataclass(frozen=True)
class Layer:
    """Attributes of a convolution of a file."""

    window: Window
    size: tuple[int, int]
    inputs: int
    outputs: int
    groups: int
    padding: str


@st.composite
def layers(draw, *, depthwise: bool) -> Layer:
    pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))
    kernel, stride = draw(pairs), draw(pairs)
    dilation = draw(st.sampled_from(((1, 1), (2, 1), (2, 2))))
    same = draw(st.booleans())
    extent = Window(kernel, dilation=dilation).extent
    least = (1, 1) if same else extent
    size = tuple(draw(st.integers(n, n + 5)) for n in least)
    window = (
        Window.same(size, kernel, stride, dilation) if same else Window(kernel, stride, dilation)
    )
    if depthwise:
        groups = inputs = draw(st.integers(1, 5))
        outputs = inputs * draw(st.integers(1, 3))
    else:
        groups = draw(st.integers(1, 3))
        inputs, outputs = groups * draw(st.integers(1, 4)), groups * draw(st.integers(1, 4))
    return Layer(window, size, inputs, outputs, groups, "SAME" if same else "VALID")


def check(
    code: str, layer: Layer, x_quant: Quant, y_quant: Quant, scales, activation, seed
) -> None:
    """Compare the op with the operator of a file."""
    generator = np.random.default_rng(seed)
    x = codes(seed, (1, *layer.size, layer.inputs))
    inner = layer.inputs // layer.groups
    w = codes(seed + 1, (layer.outputs, *layer.window.kernel, inner))
    bias = generator.integers(-5000, 5000, layer.outputs).astype(np.int32)
    scales = np.resize(np.array(scales, np.float32), layer.outputs)
    op = QConv2d(
        window=layer.window,
        groups=layer.groups,
        x_zero_point=x_quant.zero_point,
        rescale=Rescale.of(*(x_quant.scale * float(s) / y_quant.scale for s in scales)),
        zero_point=y_quant.zero_point,
        **clamp_of(activation, y_quant),
    )
    (stride_h, stride_w), (dilation_h, dilation_w) = layer.window.stride, layer.window.dilation
    depthwise = code == "DEPTHWISE_CONV_2D"
    # Files keep depthwise weights as [1, KH, KW, O].
    stored = w.transpose(3, 1, 2, 0) if depthwise else w
    own = {"depthMultiplier": layer.outputs // layer.inputs} if depthwise else {}
    (result,) = op.evaluate(x, w, bias)
    expected = run_operator(
        code, [(x, x_quant)], (result.shape, y_quant),
        [(stored, {"scale": scales, "zero_point": 0, "axis": 3 if depthwise else 0}),
         (bias, {"scale": x_quant.scale * scales})],
        strideH=stride_h, strideW=stride_w, dilationHFactor=dilation_h,
        dilationWFactor=dilation_w, padding=layer.padding, fusedActivationFunction=activation,
        **own,
    )  # fmt: skip
    assert np.array_equal(result, expected)


@given(
    layer=layers(depthwise=False),
    x_quant=quants(),
    y_quant=quants(0.1, 4.0),
    scales=st.lists(float32(0.001, 0.02), min_size=1, max_size=4),
    activation=ACTIVATIONS,
    seed=st.integers(0, 2**16),
)
def test_convolution_equals_tflm(layer, x_quant, y_quant, scales, activation, seed: int) -> None:
    check("CONV_2D", layer, x_quant, y_quant, scales, activation, seed)


@given(
    layer=layers(depthwise=True),
    x_quant=quants(),
    y_quant=quants(0.1, 4.0),
    scales=st.lists(float32(0.001, 0.02), min_size=1, max_size=4),
    activation=ACTIVATIONS,
    seed=st.integers(0, 2**16),
)
def test_depthwise_equals_tflm(layer, x_quant, y_quant, scales, activation, seed: int) -> None:
    check("DEPTHWISE_CONV_2D", layer, x_quant, y_quant, scales, activation, seed)


@given(st.tuples(*[st.integers(0, 3)] * 4), st.integers(-128, 127), st.integers(0, 2**16))
def test_any_padding_is_a_pad_with_the_zero_point(sides, zero_point: int, seed: int) -> None:
    top, bottom, left, right = sides
    x, w = codes(seed, (2, 3, 4, 2)), codes(seed + 1, (3, 2, 2, 2))
    bias = np.array([5, -6, 70], np.int32)
    padded = replace(
        CONV,
        window=Window((2, 2), padding=((top, bottom), (left, right))),
        x_zero_point=zero_point,
    )
    pad = QPad(before=(0, top, left, 0), after=(0, bottom, right, 0), value=zero_point)
    plain = replace(CONV, x_zero_point=zero_point)
    assert np.array_equal(
        padded.evaluate(x, w, bias)[0], plain.evaluate(*pad.evaluate(x), w, bias)[0]
    )


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.int2])
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_narrow_weights_are_numbers_like_others(dtype, groups: int) -> None:
    x = codes(1, (1, 5, 4, 6))
    w = np.random.default_rng(2).integers(-2, 2, (6, 2, 2, 6 // groups))
    bias = np.arange(6, dtype=np.int32)
    op = replace(CONV, groups=groups, rescale=Rescale.of(0.25))
    (expected,) = op.evaluate(x, w.astype(np.int8), bias)
    assert np.array_equal(op.evaluate(x, w.astype(dtype), bias)[0], expected)
    narrow = TensorType(w.shape, DType.of(w.astype(dtype)))
    assert op.infer(i8(1, 5, 4, 6), narrow, i32(6)) == (i8(1, 4, 3, 6),)


@pytest.mark.parametrize("groups", [1, 2])
def test_sums_beyond_float32_are_exact(groups: int) -> None:
    x = np.full((1, 1, 1, 4000), -128, np.int8)
    w = np.full((2, 1, 1, 4000 // groups), -128, np.int8)
    w[:, :, :, 0] = -127
    bias = np.zeros(2, np.int32)
    op = QConv2d(
        window=Window((1, 1)), groups=groups, x_zero_point=0, zero_point=0,
        rescale=Rescale.of(1.0),
    )  # fmt: skip
    total = 128 * (128 * (4000 // groups) - 1)
    assert op.accumulate(x, w, bias).tolist() == [[[[total, total]]]]


@pytest.mark.parametrize(
    ("op", "types"),
    [
        (CONV, (i32(1, 4, 4, 6), *TYPES[1:])),
        (CONV, (i8(4, 4, 6), *TYPES[1:])),
        (CONV, (TYPES[0], i32(8, 2, 2, 6), TYPES[2])),
        (CONV, (TYPES[0], i8(8, 3, 2, 6), TYPES[2])),
        (replace(CONV, groups=4), TYPES),
        (replace(CONV, groups=0), TYPES),
        (replace(CONV, groups=2), TYPES),
        (CONV, (*TYPES[:2], i32(7))),
        (CONV, (*TYPES[:2], i8(8))),
        (replace(CONV, rescale=Rescale.of(1.0, 2.0)), TYPES),
        (replace(CONV, x_zero_point=200), TYPES),
        (replace(CONV, high=128), TYPES),
        (CONV, TYPES[:2]),
    ],
)
def test_refusals(op, types) -> None:
    with raises(ShapeError):
        op.infer_checked(*types)


@pytest.mark.parametrize("block", [1, 100, 1 << 20])
def test_groups_in_blocks_give_the_sums_of_each_group(block, monkeypatch) -> None:
    monkeypatch.setattr("rlx.ops.q.conv._BLOCK_VALUES", block)
    rng = np.random.default_rng(0)
    x = rng.integers(-128, 128, (2, 4, 4, 6)).astype(np.int8)
    w = rng.integers(-128, 128, (9, 2, 2, 2)).astype(np.int8)
    bias = rng.integers(-1000, 1000, 9).astype(np.int32)
    whole = replace(CONV, groups=3, x_zero_point=5).accumulate(x, w, bias)
    parts = [
        replace(CONV, x_zero_point=5).accumulate(
            x[..., 2 * g : 2 * g + 2], w[3 * g : 3 * g + 3], bias[3 * g : 3 * g + 3]
        )
        for g in range(3)
    ]
    np.testing.assert_array_equal(whole, np.concatenate(parts, axis=-1))
