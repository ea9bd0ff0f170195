"""Integer ops next to float ones: they stay, on the same integers.

Tests: tests/unit/passes/quantize/test_islands.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir import Constant, DType, copy_node
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QConvert, QReshape
from rlx.passes.quantize.known import known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import QuantParams, Value
    from rlx.passes.quantize.rules.call import NodeConversion


def keep(call: NodeConversion) -> Sequence[Value]:
    """Append an integer op unchanged; where float ops read its results, int8 of their scale."""
    operands = tuple(_operand(call, value) for value in call.node.operands)
    results = copy_node(call.conversion.graph, call.node, operands).results
    call.conversion.raw.update(zip(call.node.results, results, strict=True))
    params = call.conversion.params
    return [
        result if (quant := params.get(old)) is None else as_int8(call, result, quant)
        for old, result in zip(call.node.results, results, strict=True)
    ]


def _operand(call: NodeConversion, value: Value) -> Value:
    """Return the integers that an integer op reads, in their own element type."""
    conversion, numbers = call.conversion, known(value)
    if numbers is not None:
        if isinstance(value.node.op, Constant):
            conversion.raw.setdefault(value, copy_node(conversion.graph, value.node, ()).result)
        else:
            conversion.raw.setdefault(value, call.constant(numbers, "constant", value.type.quant))
    integers = conversion.raw.get(value)
    if integers is None:
        quantized, dtype = conversion.values[value], value.type.dtype
        integers = (
            quantized
            if quantized.type.dtype is dtype
            else _shift_signedness(call, quantized, dtype, value.type.quant)
        )
        conversion.raw[value] = integers
    return integers


def as_int8(call: NodeConversion, value: Value, quant: QuantParams) -> Value:
    """Return quantized values as int8 with the quantization ``quant``: those of uint8 minus 128."""
    if value.type.dtype is not DType.I8:
        value = _shift_signedness(call, value, DType.I8, quant)
    if value.type.quant == quant:
        return value
    return call.emit(QReshape(shape=value.type.static_shape), value, quant=quant)


def _shift_signedness(
    call: NodeConversion, value: Value, dtype: DType, quant: QuantParams | None
) -> Value:
    """Return int8 values as uint8, or uint8 values as int8."""
    shift = 128 if dtype is DType.U8 else -128
    zero = 0 if dtype is DType.U8 else 128
    op = QConvert(x_zero_point=zero, rescale=Rescale.of(1.0), zero_point=zero + shift, dtype=dtype)
    return call.emit(op, value, quant=quant)
