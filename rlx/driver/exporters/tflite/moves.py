"""Values that are moved, and the ends of a network.

Tests: tests/unit/driver/exporters/test_tflite.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.driver.exporters.tflite.file import TYPES
from rlx.driver.exporters.tflite.rules import RULES
from rlx.ir import DType
from rlx.ops.q import (
    QConcat,
    QPad,
    QReshape,
    QSlice,
    QTranspose,
)
from rlx.ops.real import RealDequantize, RealQuantize
from rlx.ops.real.quantize import Ties

if TYPE_CHECKING:
    from rlx.driver.exporters.tflite.call import ExportedNode


@RULES.rule(QReshape)
def export_reshape(call: ExportedNode) -> None:
    """``RESHAPE``."""
    op = cast("QReshape", call.op)
    (x,) = call.node.operands
    call.require_same_quant(x)
    shape = call.integers("shape", op.shape)
    call.finish("RESHAPE", call.tensor(x), shape, version=1, new_shape=op.shape)


@RULES.rule(QTranspose)
def export_transpose(call: ExportedNode) -> None:
    """``TRANSPOSE``."""
    op = cast("QTranspose", call.op)
    (x,) = call.node.operands
    call.require_same_quant(x)
    call.finish("TRANSPOSE", call.tensor(x), call.integers("axes", op.axes), version=2)


@RULES.rule(QSlice)
def export_slice(call: ExportedNode) -> None:
    """``STRIDED_SLICE``."""
    op = cast("QSlice", call.op)
    (x,) = call.node.operands
    call.require_same_quant(x)
    parts = (("start", op.start), ("stop", op.stop), ("step", op.step))
    bounds = [call.integers(what, numbers) for what, numbers in parts]
    call.finish("STRIDED_SLICE", call.tensor(x), *bounds, version=2)


@RULES.rule(QPad)
def export_pad(call: ExportedNode) -> None:
    """``PAD`` with the zero point, ``PADV2`` with another value."""
    op = cast("QPad", call.op)
    (x,) = call.node.operands
    call.require_same_quant(x)
    widths = call.integers("widths", list(zip(op.before, op.after, strict=True)))
    quant = call.params(x, x.type.quant.zero_point[0] if x.type.quant else 0)
    if op.value == quant.zero_point[0]:
        call.finish("PAD", call.tensor(x), widths, version=2)
        return
    fill = call.state.file.constant(f"{call.name}/fill", np.array([op.value], np.int8), quant)
    call.finish("PADV2", call.tensor(x), widths, fill, version=2)


@RULES.rule(QConcat)
def export_concat(call: ExportedNode) -> None:
    """``CONCATENATION``."""
    op = cast("QConcat", call.op)
    operands = call.node.operands
    call.require_same_quant(*operands)
    axis = op.axis % call.result.type.rank
    call.finish("CONCATENATION", *map(call.tensor, operands), version=2, axis=axis)


@RULES.rule(RealQuantize)
def export_quantize(call: ExportedNode) -> None:
    """``QUANTIZE`` of float32."""
    op = cast("RealQuantize", call.op)
    (x,) = call.node.operands
    if op.ties is not Ties.AWAY:
        raise call.refused(
            f"rounds its input in another way ({op.ties.value}) than QUANTIZE, which rounds halves "
            "away from zero",
            "export the integer network: rlx quantize gives it an int8 input",
        )
    if op.dtype not in TYPES or x.type.dtype is not DType.F32 or op.quant.axis is not None:
        raise call.refused(
            f"makes {call.result.type} of {x.type}, and QUANTIZE has one scale and makes "
            "int8, uint8 or int16 of float32",
            "quantize the network with one scale for each activation",
        )
    call.finish("QUANTIZE", call.tensor(x), version=1)


@RULES.rule(RealDequantize)
def export_dequantize(call: ExportedNode) -> None:
    """``DEQUANTIZE`` to float32."""
    (x,) = call.node.operands
    quant = x.type.quant
    if quant is None or quant.axis is not None or quant != cast("RealDequantize", call.op).quant:
        raise call.refused(
            f"reads {x.type} by other scales", "export a network that rlx quantized or read"
        )
    call.finish("DEQUANTIZE", call.tensor(x), version=2)
