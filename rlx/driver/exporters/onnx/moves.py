"""Values that are moved, and the ends of a network.

Tests: tests/unit/driver/exporters/test_onnx.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.driver.exporters.onnx.call import AxisOrder
from rlx.driver.exporters.onnx.rules import RULES
from rlx.ir import DType
from rlx.ops.q import (
    QConcat,
    QPad,
    QReshape,
    QSlice,
    QTranspose,
)
from rlx.ops.real import RealDequantize, RealQuantize, Ties

if TYPE_CHECKING:
    from rlx.driver.exporters.onnx.call import ExportedNode


@RULES.rule(QReshape)
def export_reshape(call: ExportedNode) -> None:
    """``Reshape``."""
    op = cast("QReshape", call.op)
    real = call.real(call.node.operands[0])
    call.finish(call.emit("Reshape", real, call.integers("shape", op.shape)))


@RULES.rule(QTranspose)
def export_transpose(call: ExportedNode) -> None:
    """``Transpose``."""
    op = cast("QTranspose", call.op)
    real = call.real(call.node.operands[0])
    call.finish(call.emit("Transpose", real, perm=list(op.axes)))


@RULES.rule(QSlice)
def export_slice(call: ExportedNode) -> None:
    """``Slice``."""
    op = cast("QSlice", call.op)
    parts = (
        ("start", op.start),
        ("stop", op.stop),
        ("axes", range(len(op.start))),
        ("step", op.step),
    )
    bounds = [call.integers(what, list(numbers)) for what, numbers in parts]
    call.finish(call.emit("Slice", call.real(call.node.operands[0]), *bounds))


@RULES.rule(QPad)
def export_pad(call: ExportedNode) -> None:
    """``Pad`` with the number of the quantized value."""
    op = cast("QPad", call.op)
    (x,) = call.node.operands
    quant = call.params(x)
    widths = call.integers("widths", [*op.before, *op.after])
    fill = (op.value - quant.zero_point[0]) * np.float32(quant.scale[0])
    call.finish(call.emit("Pad", call.real(x), widths, call.number("fill", float(fill))))


@RULES.rule(QConcat)
def export_concat(call: ExportedNode) -> None:
    """``Concat``."""
    op = cast("QConcat", call.op)
    layout = call.layout(*call.node.operands)
    axis = op.axis % call.result.type.rank
    if layout is AxisOrder.FIRST:
        axis = AxisOrder.FIRST.value.index(axis)
    operands = (call.real(v, layout) for v in call.node.operands)
    call.finish(call.emit("Concat", *operands, axis=axis), layout)


@RULES.rule(RealQuantize)
def export_quantize(call: ExportedNode) -> None:
    """``QuantizeLinear`` of float32."""
    op = cast("RealQuantize", call.op)
    (x,) = call.node.operands
    if op.quant.axis is not None or x.type.dtype is not DType.F32:
        raise call.refused(
            f"makes {call.result.type} of {x.type}",
            "quantize the network with one scale for each activation",
        )
    if op.ties in (Ties.FLOOR, Ties.CEIL):
        raise call.refused(
            f"rounds every number of its input by {op.ties.value}, and QuantizeLinear to the "
            "nearest",
            "export the network without its first quantizer",
        )
    call.finish(call.quantized(x))


@RULES.rule(RealDequantize)
def export_dequantize(call: ExportedNode) -> None:
    """``DequantizeLinear`` to float32."""
    (x,) = call.node.operands
    quant = call.params(x)
    call.finish_quantized(
        "DequantizeLinear",
        call.quantized(x),
        *call.parameters(quant, x.type.dtype),
    )
