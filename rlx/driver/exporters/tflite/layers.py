"""Layers with windows or weights.

Tests: tests/unit/driver/exporters/test_tflite.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rlx.driver.exporters.nodes import KEEPS_A_STATE, ON_INT16
from rlx.driver.exporters.tflite.rules import RULES
from rlx.frontends.tflite.schema import Padding, TensorType
from rlx.ir import QuantParams
from rlx.ops.q import (
    QAveragePool2d,
    QConv2d,
    QDense,
    QLstmCell,
    QLstmOutput,
    QMatmul,
    QMaxPool2d,
    QSigmoid16,
    QSoftmax16,
    QSvdf,
    QSvdfState,
    QTanh16,
    Window,
)
from rlx.ops.rescale import linear_rescale

if TYPE_CHECKING:
    from rlx.driver.exporters.tflite.call import ExportedNode
    from rlx.ir import Value
    from rlx.ops.numerics.fixed_point import Rescale

RULES.refuse(ON_INT16, QSigmoid16, QSoftmax16, QTanh16)
RULES.refuse(KEEPS_A_STATE, QLstmCell, QLstmOutput, QSvdf, QSvdfState)


@RULES.rule(QConv2d)
def export_conv(call: ExportedNode) -> None:
    """``CONV_2D``, or ``DEPTHWISE_CONV_2D`` where each group has one channel."""
    op = cast("QConv2d", call.op)
    x, w, bias = call.node.operands
    depthwise = op.groups > 1 and op.groups == x.type.static_shape[3]
    scales = _require_layer(call, op.rescale, op.x_zero_point, op.zero_point)
    # OHWI in the graph; a depthwise convolution has 1HWO in the file.
    axes, channel_axis = ((3, 1, 2, 0), 3) if depthwise else ((0, 1, 2, 3), 0)
    image, padding = _padded(call, op.window, op.x_zero_point)
    options: dict[str, Any] = {**_strides(op.window), **_dilations(op.window), "padding": padding}
    if depthwise:
        options["depth_multiplier"] = w.type.static_shape[0] // op.groups
    call.finish_clamped(
        "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
        image,
        call.weights(w, axes, _along(scales, channel_axis)),
        _bias(call, bias, scales),
        version=3,
        clamp=(op.low, op.high),
        **options,
    )


@RULES.rule(QDense)
def export_dense(call: ExportedNode) -> None:
    """``FULLY_CONNECTED``."""
    op = cast("QDense", call.op)
    x, w, bias = call.node.operands
    scales = _require_layer(call, op.rescale, op.x_zero_point, op.zero_point)
    call.finish_clamped(
        "FULLY_CONNECTED",
        call.tensor(x),
        call.weights(w, (0, 1), _along(scales, 0)),
        _bias(call, bias, scales),
        version=4,
        clamp=(op.low, op.high),
        keep_num_dims=x.type.rank > 2,
    )


@RULES.rule(QMatmul)
def export_matmul(call: ExportedNode) -> None:
    """``BATCH_MATMUL``."""
    op = cast("QMatmul", call.op)
    operands = call.product_operands(op)
    call.finish_plain("BATCH_MATMUL", *operands, version=2, clamp=(op.low, op.high))


def _require_layer(
    call: ExportedNode, rescale: Rescale, x_zero_point: int, zero_point: int
) -> tuple[float, ...]:
    """Return the scales of a layer's weights, after a check that its factors follow from them."""
    x, w, _ = call.node.operands
    quant = w.type.quant
    if quant is None or quant.axis not in (None, 0) or any(quant.zero_point):
        raise call.refused(
            "its weights have no scale for each output channel",
            "export a network that rlx quantized or read",
        )
    scales = call.scale(x, x_zero_point), call.scale(call.result, zero_point)
    ones = w.constant
    if ones is not None and np.all(ones == ones.flat[0]) and quant == QuantParams.per_tensor(1.0):
        raise call.refused(
            "averages windows to another scale, and pools of TFLite keep that of their input",
            "export it to .onnx",
        )
    call.require_rescale(rescale, linear_rescale(scales[0], quant.scale, scales[1]))
    return quant.scale


def _along(scales: tuple[float, ...], axis: int) -> QuantParams:
    """Return symmetric parameters with the scales of weights along an axis of the file."""
    return QuantParams(scales, (0,) * len(scales), axis if len(scales) > 1 else None)


def _bias(call: ExportedNode, bias: Value, scales: tuple[float, ...]) -> int:
    """Return the tensor of a bias, whose scale is that of the products."""
    quant = call.node.operands[0].type.quant
    if quant is None:
        raise AssertionError("the layer's input was checked before")
    products = tuple(float(np.float32(quant.scale[0]) * np.float32(s)) for s in scales)
    usable = all(p > 0 and math.isfinite(p) for p in products)
    return call.state.file.constant(
        f"{call.name}/bias", call.constant(bias), _along(products, 0) if usable else None
    )


def _padded(call: ExportedNode, window: Window, value: int) -> tuple[int, Padding]:
    """Return the image of a window, padded by an operator if the window's own padding cannot.

    Args:
        call: The node; its first operand is the image.
        window: The window.
        value: The value in the padding.
    """
    image = call.node.operands[0]
    padding = _border(window, image)
    if padding is not None:
        return call.tensor(image), padding
    _, height, width, _ = image.type.static_shape
    (top, bottom), (left, right) = window.padding
    batch, _, _, channels = image.type.static_shape
    padded = call.state.file.tensor(
        f"{call.name}/padded",
        (batch, top + height + bottom, left + width + right, channels),
        TensorType.INT8,
        image.type.quant,
    )
    widths = call.integers("widths", ((0, 0), *window.padding, (0, 0)))
    fill = call.state.file.constant(
        f"{call.name}/fill", np.array([value], np.int8), image.type.quant
    )
    call.add(padded, "PADV2", call.tensor(image), widths, fill, version=2)
    return padded, Padding.VALID


def _border(window: Window, image: Value) -> Padding | None:
    """Return the padding of TFLite that is the window's; None if there is none."""
    if not window.is_padded:
        return Padding.VALID
    size = image.type.static_shape[1:3]
    same = Window.same((size[0], size[1]), window.kernel, window.stride, window.dilation)
    return Padding.SAME if same == window else None


def _strides(window: Window) -> dict[str, int]:
    return {"stride_h": window.stride[0], "stride_w": window.stride[1]}


def _dilations(window: Window) -> dict[str, int]:
    return {"dilation_h": window.dilation[0], "dilation_w": window.dilation[1]}


@RULES.rule(QAveragePool2d, QMaxPool2d)
def export_pool(call: ExportedNode) -> None:
    """``AVERAGE_POOL_2D`` and ``MAX_POOL_2D``."""
    op = cast("QAveragePool2d | QMaxPool2d", call.op)
    (x,), window = call.node.operands, op.window
    call.require_same_quant(x)
    if any(d > 1 and k > 1 for d, k in zip(window.dilation, window.kernel, strict=True)):
        raise call.refused(
            "its window is dilated, and pools of TFLite are not", "pool without dilation"
        )
    is_max = isinstance(op, QMaxPool2d)
    if not is_max and _border(window, x) is None:
        raise call.refused(
            f"its padding {window.padding} is neither SAME nor VALID, and an average must not "
            "count it",
            "pool with the padding SAME or without any",
        )
    image, padding = _padded(call, window, -128)
    call.finish_clamped(
        "MAX_POOL_2D" if is_max else "AVERAGE_POOL_2D",
        image,
        version=2,
        clamp=(op.low, op.high),
        padding=padding,
        filter_h=window.kernel[0],
        filter_w=window.kernel[1],
        **_strides(window),
    )
