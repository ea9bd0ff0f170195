"""Convolutions and dense layers against TensorFlow Lite Micro."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.fixed_point import Rescale
from support.files.tflite_builder import TfliteBuilder
from support.references.tflite_compare import compare, random_codes, random_scale, random_zero_point

ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


@dataclass(frozen=True)
class Case:
    """A random convolution."""

    size: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: str
    activation: str
    per_channel: bool
    bias: bool

    @property
    def extent(self) -> list[int]:
        return [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True)]

    @property
    def out(self) -> tuple[int, int]:
        if self.padding == "SAME":
            return tuple(-(-n // s) for n, s in zip(self.size, self.stride, strict=True))
        return tuple(
            (n - e) // s + 1 for n, e, s in zip(self.size, self.extent, self.stride, strict=True)
        )


def random_case(random: np.random.Generator) -> Case:
    def pair(low: int, high: int) -> tuple[int, int]:
        return int(random.integers(low, high)), int(random.integers(low, high))

    dilated = random.random() < 0.3
    case = Case(
        size=pair(1, 11),
        kernel=pair(1, 5),
        stride=(1, 1) if dilated else pair(1, 4),
        dilation=pair(1, 4) if dilated else (1, 1),
        padding=str(random.choice(["SAME", "VALID"])),
        activation=str(random.choice(ACTIVATIONS)),
        per_channel=bool(random.integers(2)),
        bias=bool(random.random() < 0.8),
    )
    if min(case.out) < 1:
        return random_case(random)
    return case


def options(case: Case) -> dict[str, object]:
    return {
        "padding": case.padding,
        "strideH": case.stride[0],
        "strideW": case.stride[1],
        "dilationHFactor": case.dilation[0],
        "dilationWFactor": case.dilation[1],
        "fusedActivationFunction": case.activation,
    }


def weights_and_bias(
    model: TfliteBuilder, random: np.random.Generator, case: Case, shape: tuple[int, ...], axis: int
) -> list[int]:
    channels = shape[axis]
    scale = random_scale(random)
    if case.per_channel:
        scale = np.array([random_scale(random) for _ in range(channels)], np.float32)
    weights = model.constant(random_codes(random, shape), scale=scale, axis=axis)
    if not case.bias:
        # The oracle reads outside of its memory if a depthwise bias is -1 instead of left out.
        return [weights] if axis == 3 else [weights, -1]
    bias = random.integers(-5000, 5000, channels).astype(np.int32)
    return [weights, model.constant(bias)]


@pytest.mark.parametrize("seed", range(60))
def test_conv_equals_tflm(seed: int) -> None:
    random = np.random.default_rng(seed)
    case, batch = random_case(random), int(random.integers(1, 3))
    inner, outputs = int(random.integers(1, 8)), int(random.integers(1, 8))
    groups = int(random.choice([1, 1, 2, 3]))
    outputs *= groups
    model = TfliteBuilder()
    x = model.tensor(
        (batch, *case.size, inner * groups),
        scale=random_scale(random),
        zero_point=random_zero_point(random),
    )
    shape = (outputs, *case.kernel, inner)
    operands = weights_and_bias(model, random, case, shape, axis=0)
    y = model.tensor(
        (batch, *case.out, outputs), scale=random_scale(random, 0.05, 5),
        zero_point=random_zero_point(random),
    )  # fmt: skip
    model.operator("CONV_2D", [x, *operands], [y], **options(case))
    compare(model.build([x], [y]), seed)


@pytest.mark.parametrize("seed", range(60))
def test_depthwise_equals_tflm(seed: int) -> None:
    random = np.random.default_rng(1000 + seed)
    case, batch = random_case(random), int(random.integers(1, 3))
    channels, multiplier = int(random.integers(1, 8)), int(random.integers(1, 4))
    model = TfliteBuilder()
    x = model.tensor(
        (batch, *case.size, channels), scale=random_scale(random),
        zero_point=random_zero_point(random),
    )  # fmt: skip
    shape = (1, *case.kernel, channels * multiplier)
    operands = weights_and_bias(model, random, case, shape, axis=3)
    y = model.tensor(
        (batch, *case.out, channels * multiplier),
        scale=random_scale(random, 0.02, 2),
        zero_point=random_zero_point(random),
    )
    model.operator(
        "DEPTHWISE_CONV_2D", [x, *operands], [y], depthMultiplier=multiplier, **options(case)
    )
    compare(model.build([x], [y]), seed)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("layout", ["rows", "flattened", "keep"])
def test_fully_connected_equals_tflm(seed: int, layout: str) -> None:
    random = np.random.default_rng(2000 + seed)
    rows, inner, outputs = (int(n) for n in random.integers(1, 20, 3))
    x_scale, w_scale = random_scale(random), random_scale(random)
    per_channel = bool(random.integers(2))
    given, made, keep = {
        "rows": ((rows, inner), (rows, outputs), False),
        "flattened": ((rows, 2, inner), (rows, outputs), False),
        "keep": ((rows, 2, inner), (rows, 2, outputs), True),
    }[layout]
    length = 2 * inner if layout == "flattened" else inner
    model = TfliteBuilder()
    x = model.tensor(given, scale=x_scale, zero_point=random_zero_point(random))
    scales = [random_scale(random) for _ in range(outputs)] if per_channel else w_scale
    weights = model.constant(random_codes(random, (outputs, length)), scale=scales)
    operands = [x, weights]
    if random.integers(2):
        bias = random.integers(-5000, 5000, outputs).astype(np.int32)
        operands.append(model.constant(bias, scale=x_scale * w_scale))
    elif random.integers(2):
        operands.append(-1)
    y = model.tensor(
        made, scale=random_scale(random, 0.05, 5), zero_point=random_zero_point(random)
    )
    model.operator(
        "FULLY_CONNECTED", operands, [y], keepNumDims=keep,
        fusedActivationFunction=str(random.choice(ACTIVATIONS)),
    )  # fmt: skip
    compare(model.build([x], [y]), seed)


def test_fully_connected_multiplies_scales_in_double() -> None:
    # The smallest case: no weight counts, and the accumulator lies at a rounding half.
    x_scale, w_scale, y_scale = 0.024790890514850616, 0.0195566825568676, 0.36449846625328064
    in_float32 = float(np.float32(x_scale) * np.float32(w_scale))
    assert Rescale.of(in_float32 / y_scale) != Rescale.of(x_scale * w_scale / y_scale)
    model = TfliteBuilder()
    x = model.tensor((1, 1), scale=x_scale)
    weights = model.constant(np.zeros((1, 1), np.int8), scale=w_scale)
    bias = model.constant(np.array([-88337], np.int32), scale=x_scale * w_scale)
    y = model.tensor((1, 1), scale=y_scale, zero_point=96)
    model.operator("FULLY_CONNECTED", [x, weights, bias], [y])
    data = model.build([x], [y])
    compare(data)
    graph = tflite.load(data).graph
    (node,) = graph.op_nodes
    assert node.op.rescale == Rescale.of(x_scale * w_scale / y_scale)
    assert evaluate(graph, {graph.inputs[0].name: np.zeros((1, 1), np.int8)})[0] == -21
