"""Layers with weights: weights of zero, so that the bias is the accumulator."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ops.q import QConv2d, QDense, Window
from scale_sweep.case import (
    Case,
    Draw,
    Precision,
    apart,
    bounds,
    draw_end,
    draw_scale,
    draw_zero_point,
    edge,
    rescale,
    variants,
)
from support.files.tflite_builder import TfliteBuilder

if TYPE_CHECKING:
    from rlx.ir import Array

_SHAPES = {"FULLY_CONNECTED": 2, "CONV_2D": 4, "DEPTHWISE_CONV_2D": 4, "TRANSPOSE_CONV": 4}
_CHANNELS = 64
_ROWS = 4
_OPTIONS = {"strideH": 1, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1, "padding": 1}


def layer(
    random: np.random.Generator,
    operator: str,
    *,
    channels: bool = False,
    activation: str = "NONE",
) -> Case:
    """Return a layer; with ``channels`` every output channel has a scale of its own."""
    x, zero_point = draw_scale(random), draw_zero_point(random)
    factor = 2.0 ** random.uniform(-22, -6)
    if activation == "NONE":
        w = draw_scale(random)
        result = float(np.float32(x * w / factor))
    else:
        result, zero_point = draw_end(random, activation)
        w = float(np.float32(result * factor / x))
    scale = np.array([w], np.float32)
    if channels:
        scale = scale * random.uniform(0.5, 1, _CHANNELS).astype(np.float32)
    return layer_of(operator, (x, scale, result), zero_point, activation)


def layer_of(
    operator: str,
    scales: tuple[float, Array, float],
    zero_point: int = 0,
    activation: str = "NONE",
    bias: Array | None = None,
) -> Case:
    """Return a layer whose accumulators are its bias: the two integers around rounding halves.

    Args:
        operator: Its name.
        scales: Those of the input, of the weights (one, or one for each channel), of the result.
        zero_point: That of the result.
        activation: The fused activation.
        bias: Other accumulators, one for each channel.
    """
    x, scale, result = scales
    if bias is None:
        count = len(scale) if len(scale) > 1 else 2 * 255
        halves = np.repeat(np.linspace(-128, 126, count // 2).round() + 0.5 - zero_point, 2)
        exact = halves * result / (x * scale.astype(np.float64))
        bias = np.where(np.arange(count) % 2, np.floor(exact), np.ceil(exact)).astype(np.int32)

    def make(precision: Precision, end: Precision) -> Any:
        product = (precision(x) * scale.astype(precision)).astype(np.float64)
        return _op(
            operator,
            x_zero_point=0,
            rescale=rescale(*(product / result)),
            zero_point=zero_point,
            **bounds(end, activation, result, zero_point),
        )

    ops, right = variants(make, activation)
    rank = _SHAPES[operator]
    weights = np.zeros((len(bias), *(1,) * (rank - 1)), np.int8)
    build = partial(_build, operator, x, (scale, weights), bias, (result, zero_point), activation)
    image = np.zeros((1,) * rank, np.int8)
    shown = (x, float(scale[0]), result)
    return Case(operator, shown, ops, (image, weights, bias), build, right=right)


def _op(operator: str, **attributes: Any) -> QDense | QConv2d:
    if operator == "FULLY_CONNECTED":
        return QDense(**attributes)
    return QConv2d(window=Window((1, 1)), groups=1, **attributes)


def _build(
    operator: str,
    x: float,
    weights: tuple[Array, Array],
    bias: Array,
    result: tuple[float, int],
    activation: str,
) -> bytes:
    scale, array = weights
    model = TfliteBuilder()
    rank, depthwise = array.ndim, operator == "DEPTHWISE_CONV_2D"
    given = model.tensor((1,) * rank, scale=x)
    made = model.tensor((*(1,) * (rank - 1), len(bias)), scale=result[0], zero_point=result[1])
    axis = rank - 1 if depthwise else 0
    w = model.constant(np.moveaxis(array, 0, axis), scale=scale, axis=axis)
    b = model.constant(bias, scale=np.float32(x * scale.astype(np.float64)))
    options: dict[str, Any] = {} if operator == "FULLY_CONNECTED" else dict(_OPTIONS)
    operands = [given, w, b]
    if depthwise:
        options["depthMultiplier"] = len(bias)
    elif operator == "TRANSPOSE_CONV":
        options = {name: _OPTIONS[name] for name in ("strideH", "strideW", "padding")}
        operands = [model.constant(np.array([1, 1, 1, len(bias)], np.int32)), w, given, b]
    model.operator(operator, operands, [made], fusedActivationFunction=activation, **options)
    return model.build([given], [made])


def dense_without_bias(random: np.random.Generator) -> Case:
    """Return a dense layer without bias, whose accumulators are products of an input of tens.

    Its input codes represent 255 (eight times) and 1 (twice), so that weights make any accumulator.
    """
    x, w = draw_scale(random), draw_scale(random)
    result = float(np.float32(x * w * 2.0 ** random.uniform(10, 11)))
    halves = np.outer([-1, 1], edge(np.repeat(np.arange(1, 65), 2), x * w / result)).ravel()

    def make(precision: Precision, _: Precision) -> Any:
        product = float(precision(x) * precision(w))
        return QDense(x_zero_point=-128, rescale=rescale(product / result), zero_point=0)

    ops, right = variants(make, "NONE")
    sums = apart(ops, halves * result / (x * w))[:_ROWS]
    weights = np.array([_weights_of(int(s)) for s in sums], np.int8)
    image = np.array([[127] * 8 + [-127] * 2], np.int8)

    def build() -> bytes:
        model = TfliteBuilder()
        given = model.tensor(image.shape, scale=x, zero_point=-128)
        made = model.tensor((1, len(sums)), scale=result)
        model.operator("FULLY_CONNECTED", [given, model.constant(weights, scale=w)], [made])
        return model.build([given], [made])

    bias = np.zeros(len(sums), np.int32)
    return Case("FULLY_CONNECTED", (x, w, result), ops, (image, weights, bias), build, right=right)


def _weights_of(total: int) -> list[int]:
    """Return ten weights with ``255 * sum(first eight) + sum(last two) == total``."""
    sign, (many, rest) = (1 if total >= 0 else -1), divmod(abs(total), 255)
    first = min(rest, 127)
    second = rest - first
    if second > 127:
        many, second = many + 1, second - 255
    base, more = divmod(many, 8)
    return [sign * n for n in (*(base + (i < more) for i in range(8)), first, second)]


LAYERS: dict[str, Draw] = {
    **{name: partial(layer, operator=name) for name in _SHAPES},
    **{f"{name} by channel": partial(layer, operator=name, channels=True) for name in _SHAPES},
    "FULLY_CONNECTED without bias": dense_without_bias,
}
