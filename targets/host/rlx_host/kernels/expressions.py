"""C of elementwise ops: a statement for each op, on vectors in registers.

A float32 value is a ``vf32``, an int32 value a ``vi32``, and a bool a ``vi32`` of 0 or -1.

Tests: tests/targets/host/test_float_kernels.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import Constant, DType, Refusal
from rlx.ops import real
from rlx.ops.fused.reading import number_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rlx.ir import Node, Op, Value

VECTORS: Final[Mapping[DType, str]] = {DType.F32: "vf32", DType.I32: "vi32", DType.BOOL: "vi32"}
"""C type of a vector of each element type."""

ELEMENTS: Final[Mapping[DType, str]] = {
    DType.F32: "float",
    DType.I32: "int32_t",
    DType.BOOL: "uint8_t",
}
"""C type of an element in memory."""

SUFFIXES: Final[Mapping[DType, str]] = {DType.F32: "f32", DType.I32: "i32", DType.BOOL: "mask"}
"""Ends of the names of functions that load, store and splat."""

_FLOATS: Final[Mapping[type[Op], str]] = {
    real.RealAbs: "abs_f32({})",
    real.RealAcos: "acos_f32({})",
    real.RealAdd: "{} + {}",
    real.RealAsin: "asin_f32({})",
    real.RealAtan: "atan_f32({})",
    real.RealCeil: "ceil_f32({})",
    real.RealCos: "cos_f32({})",
    real.RealDiv: "{} / {}",
    real.RealErf: "erf_f32({})",
    real.RealExp: "exp_f32({})",
    real.RealExpm1: "expm1_f32({})",
    real.RealFloor: "floor_f32({})",
    real.RealLog: "log_f32({})",
    real.RealLog1p: "log1p_f32({})",
    real.RealMaximum: "maximum_f32({}, {})",
    real.RealMinimum: "minimum_f32({}, {})",
    real.RealMul: "{} * {}",
    real.RealNeg: "-{}",
    real.RealPow: "pow_f32({}, {})",
    real.RealRemainder: "remainder_f32({}, {})",
    real.RealRound: "round_f32({})",
    real.RealRsqrt: "1.0F / sqrt_f32({})",
    real.RealSigmoid: "sigmoid_f32({})",
    real.RealSign: "sign_f32({})",
    real.RealSin: "sin_f32({})",
    real.RealSqrt: "sqrt_f32({})",
    real.RealSub: "{} - {}",
    real.RealTan: "tan_f32({})",
    real.RealTanh: "tanh_f32({})",
}
"""Expression of each op on float32."""

_INTEGERS: Final[Mapping[type[Op], str]] = {
    real.RealAdd: "(vi32)((vu32){} + (vu32){})",
    real.RealBitAnd: "{} & {}",
    real.RealBitOr: "{} | {}",
    real.RealBitXor: "{} ^ {}",
    real.RealMaximum: "max_i32({}, {})",
    real.RealMinimum: "min_i32({}, {})",
    real.RealMul: "(vi32)((vu32){} * (vu32){})",
    real.RealNeg: "(vi32)(0U - (vu32){})",
    real.RealSub: "(vi32)((vu32){} - (vu32){})",
}
"""Expression of each op on int32, which wraps."""

_MASKS: Final[Mapping[type[Op], str]] = {
    real.RealBitAnd: "{} & {}",
    real.RealBitOr: "{} | {}",
    real.RealBitXor: "{} ^ {}",
}
"""Expression of each op on booleans."""

_OF_TYPE: Final = {DType.F32: _FLOATS, DType.I32: _INTEGERS, DType.BOOL: _MASKS}

_RELATIONS: Final[Mapping[real.Comparison, str]] = {
    real.Comparison.EQUAL: "==",
    real.Comparison.NOT_EQUAL: "!=",
    real.Comparison.LESS: "<",
    real.Comparison.LESS_EQUAL: "<=",
    real.Comparison.GREATER: ">",
    real.Comparison.GREATER_EQUAL: ">=",
}

_CASTS: Final[Mapping[tuple[DType, DType], str]] = {
    (DType.F32, DType.I32): "integers_of_f32({})",
    (DType.F32, DType.BOOL): "{} != 0.0F",
    (DType.I32, DType.F32): "__builtin_convertvector({}, vf32)",
    (DType.I32, DType.BOOL): "{} != 0",
    (DType.BOOL, DType.F32): "select_f32({}, splat_f32(1.0F), splat_f32(0.0F))",
    (DType.BOOL, DType.I32): "{} & 1",
}

ELEMENTWISE: Final[tuple[type[Op], ...]] = (
    *dict.fromkeys((*_FLOATS, *_INTEGERS)),
    real.RealBitcast,
    real.RealCast,
    real.RealCompare,
    real.RealWhere,
)
"""Ops that have an expression for some element type."""


def literal(value: Value) -> str | None:
    """Return the vector of a constant of one element, None if ``value`` is something else."""
    if not isinstance(value.node.op, Constant) or value.type.size != 1:
        return None
    number = float(value.node.op.value.reshape(()))
    if value.type.dtype is DType.F32:
        return f"splat_f32({float_literal(number)})"
    if value.type.dtype is DType.I32:
        return f"splat_i32({int(number) if number > -(2.0**31) else 'INT32_MIN'})"
    return f"splat_i32({-int(bool(number))})" if value.type.dtype is DType.BOOL else None


def float_literal(number: float) -> str:
    """Return a float32 number in C, exactly."""
    if math.isnan(number):
        return "NAN"
    if math.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return f"{float(np.float32(number)).hex()}F"


def statements(
    nodes: Iterable[Node], names: Mapping[Value, str]
) -> tuple[tuple[str, ...], dict[Value, str]] | Refusal:
    """Return a C statement for each node, and the names of all values.

    Args:
        nodes: Elementwise nodes in order.
        names: Variable of each value that they read, except for constants of one element.
    """
    known = dict(names)
    lines = []
    for node in nodes:
        operands = [known.get(value) or literal(value) for value in node.operands]
        if None in operands:
            return Refusal("it reads a constant of several elements")
        text = expression(node, [str(operand) for operand in operands])
        if isinstance(text, Refusal):
            return text
        result = node.results[0]
        known[result] = f"v{len(known)}"
        lines.append(f"const {VECTORS[result.type.dtype]} {known[result]} = {text};")
    return tuple(lines), known


def expression(node: Node, operands: list[str]) -> str | Refusal:
    """Return the C expression of an elementwise node."""
    types = [value.type.dtype for value in (*node.operands, *node.results)]
    other = next((t for t in types if t not in VECTORS), None)
    if other is not None:
        return Refusal(f"it has values of {other.value}")
    special = _special(node, operands)
    if special is not None:
        return special
    if isinstance(node.op, real.RealBitcast):
        return f"({VECTORS[node.op.dtype]}){operands[0]}"
    form = _OF_TYPE[types[0]].get(type(node.op))
    if form is None:
        return Refusal(f"it is not computed on {types[0].value}")
    return form.format(*operands)


def _special(node: Node, operands: list[str]) -> str | None:
    """Return the C expression of an op that the tables do not hold, else None."""
    dtype = node.operands[0].type.dtype
    match node.op:
        case real.RealWhere():
            kind = "f32" if node.types[0].dtype is DType.F32 else "i32"
            return f"select_{kind}({', '.join(operands)})"
        case real.RealCompare():
            return _comparison(node.op, dtype, operands)
        case real.RealCast():
            return _CASTS.get((dtype, node.op.dtype), "{}").format(*operands)
        case real.RealMaximum() | real.RealMinimum() if dtype is DType.F32:
            return _extreme(node, operands)
        case real.RealPow() if dtype is DType.F32 and number_of(node.operands[1]) == 2.0:
            return f"{operands[0]} * {operands[0]}"
    return None


def _comparison(op: real.RealCompare, dtype: DType, operands: list[str]) -> str:
    """Return a comparison; an order of masks is the opposite of that of booleans."""
    if dtype is DType.BOOL and op.relation not in (
        real.Comparison.EQUAL,
        real.Comparison.NOT_EQUAL,
    ):
        operands = operands[::-1]
    return f"{operands[0]} {_RELATIONS[op.relation]} {operands[1]}"


def _extreme(node: Node, operands: list[str]) -> str:
    """Return a maximum or minimum; that with a number needs no test for NaN."""
    is_max = isinstance(node.op, real.RealMaximum)
    for value, own, other in zip(node.operands, operands, operands[::-1], strict=True):
        number = number_of(value)
        if number is not None and not math.isnan(number):
            return f"{'larger' if is_max else 'smaller'}_f32({own}, {other})"
    return f"{'maximum' if is_max else 'minimum'}_f32({', '.join(operands)})"
