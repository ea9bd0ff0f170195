"""Layers with windows or weights.

Tests: tests/unit/driver/exporters/test_onnx.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rlx.driver.exporters.nodes import KEEPS_A_STATE, ON_INT16
from rlx.driver.exporters.onnx.call import AxisOrder
from rlx.driver.exporters.onnx.rules import RULES
from rlx.ir import DType, QuantParams
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

if TYPE_CHECKING:
    from rlx.driver.exporters.onnx.call import ExportedNode
    from rlx.ir import Value

RULES.refuse(ON_INT16, QSigmoid16, QSoftmax16, QTanh16)
RULES.refuse(KEEPS_A_STATE, QLstmCell, QLstmOutput, QSvdf, QSvdfState)


@RULES.rule(QConv2d)
def export_conv(call: ExportedNode) -> None:
    """``Conv``, channels first."""
    op = cast("QConv2d", call.op)
    x, w, bias = call.node.operands
    call.require_factor(op.rescale.real, _products(call))
    inputs = (
        call.real(x, AxisOrder.FIRST),
        call.weights(w, (0, 3, 1, 2), 0),
        _bias(call, bias),
    )
    real = call.emit("Conv", *inputs, group=op.groups, **_window(op.window))
    call.finish(real, AxisOrder.FIRST, (op.low, op.high))


@RULES.rule(QDense)
def export_dense(call: ExportedNode) -> None:
    """``Gemm`` on two axes, else ``MatMul`` and ``Add``."""
    op = cast("QDense", call.op)
    x, w, bias = call.node.operands
    call.require_factor(op.rescale.real, _products(call))
    if x.type.rank == 2:
        operands = call.real(x), call.weights(w, (0, 1), 0), _bias(call, bias)
        real = call.emit("Gemm", *operands, transB=1)
    else:
        product = call.emit("MatMul", call.real(x), call.weights(w, (1, 0), 1))
        real = call.emit("Add", product, _bias(call, bias))
    call.finish(real, clamp=(op.low, op.high))


@RULES.rule(QMatmul)
def export_matmul(call: ExportedNode) -> None:
    """``MatMul`` of two computed values."""
    op = cast("QMatmul", call.op)
    call.require_factor(op.rescale.real, _products(call))
    operands = (call.real(v) for v in call.node.operands)
    call.finish(call.emit("MatMul", *operands), clamp=(op.low, op.high))


def _products(call: ExportedNode) -> list[float]:
    """Return the factor of each channel that follows from the scales of a layer."""
    x, w = call.node.operands[:2]
    x_scale, scale = call.params(x).scale[0], call.params(call.result).scale[0]
    return [x_scale * s / scale for s in call.params(w).scale]


def _bias(call: ExportedNode, bias: Value) -> str:
    """Return the bias as floats: int32 quantized values whose scale is that of the products."""
    x, w, _ = call.node.operands
    x_scale, scales = np.float32(call.params(x).scale[0]), call.params(w).scale
    products = tuple(float(x_scale * np.float32(s)) for s in scales)
    quant = QuantParams(products, (0,) * len(products), 0 if len(products) > 1 else None)
    quantized = call.file.constant(f"{call.name}/bias", call.constant(bias))
    return call.dequantized(quantized, quant, DType.I32)


def _window(window: Window) -> dict[str, Any]:
    """Return a window as attributes."""
    (top, bottom), (left, right) = window.padding
    return {
        "kernel_shape": list(window.kernel),
        "strides": list(window.stride),
        "dilations": list(window.dilation),
        "pads": [top, left, bottom, right],
    }


@RULES.rule(QAveragePool2d, QMaxPool2d)
def export_pool(call: ExportedNode) -> None:
    """``AveragePool`` that does not count padding, and ``MaxPool``."""
    op = cast("QAveragePool2d | QMaxPool2d", call.op)
    (x,), attributes = call.node.operands, _window(op.window)
    is_max = isinstance(op, QMaxPool2d)
    if not is_max:
        if op.window.dilation != (1, 1) and call.file.opset < 19:
            raise call.refused(
                "its window is dilated, which AveragePool has from version 19 on",
                "export with --opset 19",
            )
        if op.window.dilation == (1, 1):
            del attributes["dilations"]
    real = call.emit(
        "MaxPool" if is_max else "AveragePool", call.real(x, AxisOrder.FIRST), **attributes
    )
    call.finish(real, AxisOrder.FIRST, (op.low, op.high))
