"""Products of ONNX Runtime whose weights alone are quantized, or whose input is while running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.frontends.onnx.ops.linear import matmul
from rlx.frontends.onnx.ops.quantize import MICROSOFT, centred_operand, dynamically_quantized
from rlx.frontends.onnx.ops.registry import importer
from rlx.ir import DType, QuantParams
from rlx.ops.real import RealDequantize

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real

_NARROW: Final = {2: DType.I2, 4: DType.I4, 8: DType.I8}


@importer("DynamicQuantizeMatMul", domain=MICROSOFT)
def import_dynamic_quantize_matmul(call: Call) -> Real:
    """``DynamicQuantizeMatMul``: the input quantized by its range, then an exact product."""
    values, scale, point = dynamically_quantized(call.value(0))
    a = values.cast(DType.I32) - point.cast(DType.I32)
    total = matmul(a, centred_operand(call, 1, 3, call.type(1).rank - 1))
    return _scaled(call, total, scale * call.value(2), 4)


@importer("MatMulIntegerToFloat", domain=MICROSOFT)
def import_matmul_integer_to_float(call: Call) -> Real:
    """``MatMulIntegerToFloat``: an exact product, scaled."""
    a, b = call.type(0), call.type(1)
    total = matmul(centred_operand(call, 0, 4, a.rank - 2), centred_operand(call, 1, 5, b.rank - 1))
    left = call.value(2)
    # Scales of A broadcast along its rows, those of B along its columns.
    wide = left.reshape(*left.shape, 1) if left.ndim == 1 and left.shape != (1,) else left
    return _scaled(call, total, wide * call.value(3), 6)


def _scaled(call: Call, total: Real, scale: Real, bias: int) -> Real:
    """Return integer sums as floats, with a bias that may be left out."""
    y = total.cast(DType.F32) * (scale.reshape() if scale.shape == (1,) else scale)
    return y + call.value(bias) if call.has(bias) else y


@importer("MatMulNBits", domain=MICROSOFT)
def import_matmul_n_bits(call: Call) -> Real:
    """``MatMulNBits``: weights of 2, 4 or 8 bits, in blocks with a scale each.

    ``accuracy_level`` lets ONNX Runtime round the input; it is not rounded here.
    """
    call.integer("accuracy_level", 0)
    bits, block = call.integer("bits", 4), call.integer("block_size")
    inner, outputs = call.integer("K"), call.integer("N")
    if bits not in _NARROW or block < 1 or inner < 1 or outputs < 1:
        raise call.refuse(f"has weights [{outputs}, {inner}] of {bits} bits in blocks of {block}")
    if call.has(4):
        raise call.refuse("has weights in another order (g_idx)", "quantize it without act order")
    blocks = -(-inner // block)
    packed = call.array(1)
    if packed.dtype != np.uint8 or packed.shape != (outputs, blocks, block * bits // 8):
        raise call.malformed(f"has weights {list(packed.shape)} for [{outputs}, {inner}]")
    values = _unpacked(packed.reshape(outputs, -1), bits, blocks * block)
    values = values.reshape(outputs, blocks, block)
    scales = call.array(2).astype(np.float32).reshape(outputs, blocks)
    weights = _weights(call, values, _points(call, bits, outputs, blocks), scales, inner)
    x = call.value(0)
    bias = call.value(5) if call.has(5) else None
    weights = weights.cast(x.dtype)
    return x.linear(weights) if bias is None else x.linear(weights, bias)


def _unpacked(rows: npt.NDArray[Any], bits: int, count: int) -> npt.NDArray[np.int64]:
    """Return the first ``count`` integers of each row of bytes, the first in the lowest bits."""
    shifts = np.arange(0, 8, bits)
    fields = (rows[:, :, np.newaxis].astype(np.int64) >> shifts) & ((1 << bits) - 1)
    return fields.reshape(len(rows), -1)[:, :count]


def _points(call: Call, bits: int, outputs: int, blocks: int) -> npt.NDArray[Any]:
    """Return the zero point of each block, [outputs, blocks]; packed ones are integers."""
    if not call.has(3):
        return np.full((outputs, blocks), 1 << (bits - 1))
    found = call.array(3)
    if found.dtype == np.uint8:
        width = -(-blocks * bits // 8)
        return _unpacked(np.reshape(found, (outputs, width)), bits, blocks)
    return found.astype(np.float32).reshape(outputs, blocks)


def _weights(
    call: Call, values: npt.NDArray[np.int64], points: npt.NDArray[Any],
    scales: npt.NDArray[np.float32], inner: int,
) -> Real:  # fmt: skip
    """Return weights [N, K]: quantized ones where each row is one block, else floats."""
    bits = call.integer("bits", 4)
    steps = values - points[:, :, np.newaxis]
    rows = steps.reshape(len(steps), -1)[:, :inner]
    low = -(1 << (bits - 1))
    whole = points.dtype.kind == "i" and low <= rows.min() and rows.max() < -low
    if points.shape[1] == 1 and whole and (scales > 0).all():
        quant = QuantParams(tuple(map(float, scales[:, 0])), (0,) * len(rows), 0)
        stored = call.quantized(rows.astype(_NARROW[bits].numpy), quant)
        return stored.apply(RealDequantize(quant=quant))
    numbers = steps.astype(np.float32) * scales[:, :, np.newaxis]
    return call.constant(numbers.reshape(len(steps), -1)[:, :inner])
