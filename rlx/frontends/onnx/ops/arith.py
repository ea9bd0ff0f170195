"""Functions of elements: arithmetic, comparison, logic, bits.

Tests: tests/onnx_backend/test_onnx_backend.py
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING

from rlx.frontends.onnx.elements import DTYPES, ELEMENTS
from rlx.frontends.onnx.ops.registry import importer
from rlx.ir import DType
from rlx.ops import real
from rlx.ops.real.cast import integer_range

if TYPE_CHECKING:
    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real
    from rlx.ir import Op

_BINARY: dict[str, Op] = {
    "Add": real.RealAdd(),
    "Sub": real.RealSub(),
    "Mul": real.RealMul(),
    "Div": real.RealDiv(),
    "And": real.RealMinimum(),
    "Or": real.RealMaximum(),
    "Xor": real.RealCompare(relation=real.Comparison.NOT_EQUAL),
    "Equal": real.RealCompare(relation=real.Comparison.EQUAL),
    "Less": real.RealCompare(relation=real.Comparison.LESS),
    "LessOrEqual": real.RealCompare(relation=real.Comparison.LESS_EQUAL),
    "Greater": real.RealCompare(relation=real.Comparison.GREATER),
    "GreaterOrEqual": real.RealCompare(relation=real.Comparison.GREATER_EQUAL),
    "BitwiseAnd": real.RealBitAnd(),
    "BitwiseOr": real.RealBitOr(),
    "BitwiseXor": real.RealBitXor(),
}

_UNARY: dict[str, Op] = {
    "Abs": real.RealAbs(),
    "Acos": real.RealAcos(),
    "Asin": real.RealAsin(),
    "Atan": real.RealAtan(),
    "Ceil": real.RealCeil(),
    "Cos": real.RealCos(),
    "Erf": real.RealErf(),
    "Exp": real.RealExp(),
    "Floor": real.RealFloor(),
    "Log": real.RealLog(),
    "Neg": real.RealNeg(),
    "Round": real.RealRound(),
    "Sign": real.RealSign(),
    "Sin": real.RealSin(),
    "Sqrt": real.RealSqrt(),
    "Tan": real.RealTan(),
}


@importer(*_BINARY)
def import_binary(call: Call) -> Real:
    """Operators that are one op of two operands."""
    return call.value(0).apply(_BINARY[call.node.type], call.value(1))


@importer(*_UNARY)
def import_unary(call: Call) -> Real:
    """Operators that are one op of one operand."""
    return call.value(0).apply(_UNARY[call.node.type])


@importer("Reciprocal")
def import_reciprocal(call: Call) -> Real:
    """``Reciprocal``."""
    return 1.0 / call.value(0)


@importer("Max")
def import_max(call: Call) -> Real:
    """``Max`` of any number of operands."""
    return reduce(lambda x, y: x.maximum(y), call.values())


@importer("Min")
def import_min(call: Call) -> Real:
    """``Min`` of any number of operands."""
    return reduce(lambda x, y: x.minimum(y), call.values())


@importer("Sum")
def import_sum(call: Call) -> Real:
    """``Sum`` of any number of operands."""
    return _sum(call)


def _sum(call: Call) -> Real:
    return reduce(lambda x, y: x + y, call.values())


@importer("Mean")
def import_mean(call: Call) -> Real:
    """``Mean`` of any number of operands, element by element."""
    return _sum(call) / float(call.count)


@importer("Mod")
def import_mod(call: Call) -> Real:
    """``Mod``: with the sign of the divisor, or as C's with ``fmod``."""
    x, y = call.value(0), call.value(1)
    if not call.flag("fmod"):
        return x % y
    if not x.dtype.is_float:
        return x - (x / y) * y
    # The remainder of magnitudes is exact; a zero keeps the sign of x as well.
    size = abs(x) % abs(y)
    return (-size).where(x < 0, size)


@importer("Pow")
def import_pow(call: Call) -> Real:
    """``Pow``: in the element type of the base, for all types of the exponent."""
    x, y = call.value(0), call.value(1)
    known = call.known(1)
    if known is not None and known.size == 1 and x.ndim >= known.ndim:
        exponent = float(known.reshape(-1)[0])
        if exponent in (1.0, 2.0):
            return x if exponent == 1.0 else x * x
        if exponent == 0.5 and x.dtype.is_float:
            return x.sqrt()
    if x.dtype is y.dtype:
        return x**y
    if x.dtype.is_float:
        return x ** y.cast(x.dtype)
    wide = DType.F64 if y.dtype.is_float else DType.I64
    return (x.cast(wide) ** y.cast(wide)).cast(x.dtype)


@importer("Sinh")
def import_sinh(call: Call) -> Real:
    """``Sinh``: from ``e^x - 1``, which is exact near 0."""
    less = call.value(0).expm1()
    return (less + less / (less + 1.0)) * 0.5


@importer("Cosh")
def import_cosh(call: Call) -> Real:
    """``Cosh``."""
    x = call.value(0)
    return (x.exp() + (-x).exp()) * 0.5


@importer("Asinh")
def import_asinh(call: Call) -> Real:
    """``Asinh``: of the magnitude, with the sign put back."""
    x = call.value(0)
    size = abs(x)
    square = size * size
    return (size + square / ((square + 1.0).sqrt() + 1.0)).log1p() * x.apply(real.RealSign())


@importer("Acosh")
def import_acosh(call: Call) -> Real:
    """``Acosh``: from the distance to 1."""
    above = call.value(0) - 1.0
    return (above + (above * (above + 2.0)).sqrt()).log1p()


@importer("Atanh")
def import_atanh(call: Call) -> Real:
    """``Atanh``."""
    x = call.value(0)
    return (x.log1p() - (-x).log1p()) * 0.5


@importer("Not")
def import_not(call: Call) -> Real:
    """``Not``."""
    return call.value(0).not_equal(True)


@importer("BitwiseNot")
def import_bitwise_not(call: Call) -> Real:
    """``BitwiseNot``: every bit differs from those of a number that has them all."""
    x = call.value(0)
    low, high = integer_range(x.dtype)
    return x.apply(real.RealBitXor(), x.lift(-1 if low else high))


@importer("BitShift")
def import_bit_shift(call: Call) -> Real:
    """``BitShift`` of unsigned integers."""
    direction = call.text("direction")
    if direction not in ("LEFT", "RIGHT"):
        raise call.malformed(f"direction is {direction!r}, expected LEFT or RIGHT")
    op = real.RealShiftLeft() if direction == "LEFT" else real.RealShiftRight()
    return call.value(0).apply(op, call.value(1))


@importer("IsNaN")
def import_is_nan(call: Call) -> Real:
    """``IsNaN``: elements that are not equal to themselves."""
    x = call.value(0)
    return x.not_equal(x)


@importer("IsInf")
def import_is_inf(call: Call) -> Real:
    """``IsInf`` of either sign."""
    x = call.value(0)
    if x.dtype is DType.F8E4M3:  # has no infinity
        return x.not_equal(x) < False
    positive, negative = call.flag("detect_positive"), call.flag("detect_negative")
    if positive and negative:
        return abs(x).equal(math.inf)
    if not (positive or negative):
        return x.equal(math.inf).apply(real.RealMinimum(), call.constant(False, DType.BOOL))
    return x.equal(math.inf if positive else -math.inf)


@importer("Where")
def import_where(call: Call) -> Real:
    """``Where``."""
    condition, x, y = call.values()
    return x.where(condition, y)


@importer("Cast")
def import_cast(call: Call) -> Real:
    """``Cast``."""
    return cast(call, call.value(0), element_type(call, call.integer("to")))


@importer("CastLike")
def import_cast_like(call: Call) -> Real:
    """``CastLike``."""
    return cast(call, call.value(0), call.type(1).dtype)


def element_type(call: Call, number: int) -> DType:
    """Return the element type that an attribute names by its number.

    Raises:
        UnsupportedError: rlx does not have it.
        MalformedError: There is no such type.
    """
    if number not in ELEMENTS:
        raise call.malformed(f"expected the number of an element type, got {number}")
    if number not in DTYPES:
        raise call.refuse(
            f"makes {ELEMENTS[number]}, which rlx does not model",
            "use float, integer or boolean tensors",
        )
    return DTYPES[number]


def cast(call: Call, x: Real, dtype: DType) -> Real:
    """Return a value in another element type; narrow floats saturate unless that is turned off."""
    call.text("round_mode", "up")  # of a type that rlx does not have
    saturates = bool(call.integer("saturate", 1))
    if dtype not in (DType.F8E4M3, DType.F8E5M2) or dtype is x.dtype:
        return x.cast(dtype)
    if not x.dtype.is_float:
        x = x.cast(DType.F32)
    if x.dtype in (DType.F8E4M3, DType.F8E5M2):
        x = x.cast(DType.F32)
    if saturates:
        limit = 448.0 if dtype is DType.F8E4M3 else 57344.0
        x = x.minimum(limit).maximum(-limit)
    return x.cast(dtype)


@importer("BitCast")
def import_bit_cast(call: Call) -> Real:
    """``BitCast`` between types of equal width; booleans are bytes of 0 and 1."""
    x, dtype = call.value(0), element_type(call, call.integer("to"))
    if x.dtype is DType.BOOL:
        x = x.cast(DType.U8)
    if dtype is DType.BOOL:
        return x.apply(real.RealBitcast(dtype=DType.U8)).cast(DType.BOOL)
    return x if dtype is x.dtype else x.apply(real.RealBitcast(dtype=dtype))
