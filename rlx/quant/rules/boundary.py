"""Quantize and dequantize nodes inside of a graph: they state scales, and compute nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rlx.ir import DType, QuantParams, Refusal
from rlx.ops.q import QClamp, QReshape
from rlx.ops.real import RealDequantize, RealQuantize
from rlx.ops.real.cast import integer_range
from rlx.quant.rules.call import quant_of, rule
from rlx.quant.scheme import activation_problem, with_float32_scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node, Value
    from rlx.quant.rules.call import Call

_SHIFTS = {DType.I8: 0, DType.U8: 128, DType.I4: 0, DType.I2: 0}
"""What is taken off values so that they are int8; the zero point moves along."""


def boundary_params(node: Node) -> QuantParams | None:
    """Return what int8 values at a quantize or dequantize node stand for; None at others.

    Those of uint8 values are the same less 128, exactly.
    """
    if not isinstance(node.op, RealQuantize | RealDequantize):
        return None
    quant = node.op.quant
    shift = _SHIFTS.get(_dtype(node))
    if shift is None or quant.axis is not None:
        return None
    return with_float32_scale(QuantParams(quant.scale, (quant.zero_point[0] - shift,)))


def _dtype(node: Node) -> DType:
    """Return the element type of the quantized values."""
    if isinstance(node.op, RealQuantize):
        return node.op.dtype
    return node.operands[0].type.dtype


def _check(node: Node) -> Refusal | None:
    params = boundary_params(node)
    if params is None:
        quant = cast("RealQuantize | RealDequantize", node.op).quant
        if quant.axis is not None:
            return Refusal(
                "its values have a scale for each channel, and integer ops take one for a tensor",
                hint="quantize activations per tensor",
            )
        return Refusal(
            f"its values are {_dtype(node).value}, and integer ops compute with int8",
            hint="quantize activations to int8 or uint8",
        )
    problem = activation_problem(params)
    return Refusal(problem) if problem else None


@rule(RealQuantize, check=_check)
def quantize(call: Call) -> Sequence[Value]:
    """``quantize(x)`` -> the quantized values of x in its scale; q.clamp to fewer bits."""
    value, dtype = call.quantized(0, call.quant), cast("RealQuantize", call.node.op).dtype
    low, high = (end - _SHIFTS[dtype] for end in integer_range(dtype))
    if (low, high) == (-128, 127):
        return [value]
    return [call.emit(QClamp(low=low, high=high), value, quant=call.quant)]


@rule(RealDequantize, check=_check)
def dequantize(call: Call) -> Sequence[Value]:
    """``dequantize(x)`` -> x, whose values stand for what the node says."""
    values = call.quantized(0)
    if quant_of(values) == call.quant:
        return [values]
    # Integers that are dequantized in two ways are the same integers.
    return [call.emit(QReshape(shape=values.type.static_shape), values, quant=call.quant)]


def stored_params(quant: QuantParams, dtype: DType) -> QuantParams:
    """Return what values of an element type stand for, where those as int8 have ``quant``."""
    return QuantParams(quant.scale, (quant.zero_point[0] + _SHIFTS[dtype],))
