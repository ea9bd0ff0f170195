"""Quantize and dequantize nodes inside of a graph: they state scales, and compute nothing.

Layers on quantized values state scales too.

Tests: tests/unit/passes/quantize/test_boundaries.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rlx.ir import DType, QuantParams, Refusal
from rlx.ops.nn import NnQuantized
from rlx.ops.q import QClamp, QReshape
from rlx.ops.real import RealDequantize, RealQuantize
from rlx.ops.real.cast import integer_range
from rlx.passes.quantize.known import known
from rlx.passes.quantize.rules.call import quant_of, rule
from rlx.passes.quantize.scheme import activation_problem, with_float32_scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node, Value
    from rlx.passes.quantize.rules.call import NodeConversion

_SHIFTS = {DType.I8: 0, DType.U8: 128, DType.I4: 0, DType.I2: 0}
"""Number subtracted from values so that they are int8; the zero point moves along."""


def stated_params(node: Node) -> dict[Value, QuantParams]:
    """Return the int8 parameters of values at a node, where the node says them."""
    op = node.op
    if isinstance(op, RealQuantize | RealDequantize):
        params = int8_params(op.quant, _dtype(node))
        return {} if params is None else dict.fromkeys((*node.operands, *node.results), params)
    if not isinstance(op, NnQuantized):
        return {}
    stated = {
        operand: int8_params(quant, operand.type.dtype)
        for place, operand in enumerate(node.operands)
        if (quant := op.operand_quant(place)) is not None and known(operand) is None
    }
    stated |= {result: int8_params(op.quant, op.dtype) for result in node.results}
    return {value: params for value, params in stated.items() if params is not None}


def int8_params(quant: QuantParams, dtype: DType) -> QuantParams | None:
    """Return the parameters of values of an element type as int8; None if they cannot be that."""
    shift = _SHIFTS.get(dtype)
    if shift is None or quant.axis is not None:
        return None
    return with_float32_scale(QuantParams(quant.scale, (quant.zero_point[0] - shift,)))


def _dtype(node: Node) -> DType:
    """Return the element type of the quantized values."""
    if isinstance(node.op, RealQuantize):
        return node.op.dtype
    return node.operands[0].type.dtype


def _check(node: Node) -> Refusal | None:
    return check_int8(cast("RealQuantize | RealDequantize", node.op).quant, _dtype(node))


def check_int8(quant: QuantParams, dtype: DType) -> Refusal | None:
    """Refuse values that cannot be int8 values of one scale."""
    params = int8_params(quant, dtype)
    if params is None:
        if quant.axis is not None:
            return Refusal(
                "its values have a scale for each channel, and integer ops take one for a tensor",
                hint="quantize activations per tensor",
            )
        return Refusal(
            f"its values are {dtype.value}, and integer ops compute with int8",
            hint="quantize activations to int8 or uint8",
        )
    problem = activation_problem(params)
    return Refusal(problem) if problem else None


@rule(RealQuantize, check=_check)
def quantize(call: NodeConversion) -> Sequence[Value]:
    """``quantize(x)`` -> the quantized values of x in its scale; q.clamp to fewer bits."""
    value, dtype = call.quantized(0, call.quant), cast("RealQuantize", call.node.op).dtype
    low, high = (end - _SHIFTS[dtype] for end in integer_range(dtype))
    if (low, high) == (-128, 127):
        return [value]
    return [call.emit(QClamp(low=low, high=high), value, quant=call.quant)]


@rule(RealDequantize, check=_check)
def dequantize(call: NodeConversion) -> Sequence[Value]:
    """``dequantize(x)`` -> x, whose values have the node's quantization."""
    return [seen_as(call, call.quantized(0), call.quant)]


def seen_as(call: NodeConversion, values: Value, quant: QuantParams) -> Value:
    """Return the same integers with the parameters ``quant`` in place of theirs."""
    if quant_of(values) == quant:
        return values
    return call.emit(QReshape(shape=values.type.static_shape), values, quant=quant)


def stored_params(quant: QuantParams, dtype: DType) -> QuantParams:
    """Return the parameters of values of an element type, where those as int8 have ``quant``."""
    return QuantParams(quant.scale, (quant.zero_point[0] + _SHIFTS[dtype],))
