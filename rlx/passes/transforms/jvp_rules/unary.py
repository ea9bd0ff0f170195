"""Tangents of functions of one variable: the tangent times the derivative.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlx.ops import real
from rlx.passes.transforms.linearize import RULES, zero_derivative

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Op
    from rlx.ops.expression import Expression
    from rlx.passes.transforms.linearize import JvpCall, Tangents

    Derivative = Callable[[Expression, Expression], Expression]

RULES.refuse(
    "it is constant between jumps", real.RealRound, real.RealFloor, real.RealCeil,
)  # fmt: skip
zero_derivative(real.RealSign)


def _derivative(op: type[Op]) -> Callable[[Derivative], Derivative]:
    """Register ``derivative(x, y)`` of a function, given its operand and its result."""

    def register(derivative: Derivative) -> Derivative:
        @RULES.rule(op)
        def rule(op: Op, call: JvpCall) -> Tangents:
            del op
            (x,), (y,), (t,) = call.operands, call.results, call.tangents
            assert t is not None
            return [t * derivative(x, y)]

        return derivative

    return register


@RULES.rule(real.RealNeg)
def _neg(op: real.RealNeg, call: JvpCall) -> Tangents:
    (t,) = call.tangents
    return [t and t.apply(op)]


@RULES.rule(real.RealLog)
def _log(op: Op, call: JvpCall) -> Tangents:
    del op
    (x,), (t,) = call.operands, call.tangents
    return [t and t / x]


@RULES.rule(real.RealLog1p)
def _log1p(op: Op, call: JvpCall) -> Tangents:
    del op
    (x,), (t,) = call.operands, call.tangents
    return [t and t / (x + 1.0)]


@RULES.rule(real.RealSqrt)
def _sqrt(op: Op, call: JvpCall) -> Tangents:
    del op
    (y,), (t,) = call.results, call.tangents
    return [t and t / (y * 2.0)]


@_derivative(real.RealAbs)
def _abs(x: Expression, y: Expression) -> Expression:
    del y
    return x.apply(real.RealSign())


@_derivative(real.RealExp)
def _exp(x: Expression, y: Expression) -> Expression:
    del x
    return y


@_derivative(real.RealExpm1)
def _expm1(x: Expression, y: Expression) -> Expression:
    del y
    return x.exp()


@_derivative(real.RealRsqrt)
def _rsqrt(x: Expression, y: Expression) -> Expression:
    return y / x * -0.5


@_derivative(real.RealErf)
def _erf(x: Expression, y: Expression) -> Expression:
    del y
    return (-(x * x)).exp() * (2 / math.sqrt(math.pi))


@_derivative(real.RealSin)
def _sin(x: Expression, y: Expression) -> Expression:
    del y
    return x.apply(real.RealCos())


@_derivative(real.RealCos)
def _cos(x: Expression, y: Expression) -> Expression:
    del y
    return -x.apply(real.RealSin())


@_derivative(real.RealTan)
def _tan(x: Expression, y: Expression) -> Expression:
    del x
    return y * y + 1.0


@_derivative(real.RealAsin)
def _asin(x: Expression, y: Expression) -> Expression:
    del y
    return ((1.0 - x) * (x + 1.0)).rsqrt()


@_derivative(real.RealAcos)
def _acos(x: Expression, y: Expression) -> Expression:
    del y
    return -((1.0 - x) * (x + 1.0)).rsqrt()


@_derivative(real.RealAtan)
def _atan(x: Expression, y: Expression) -> Expression:
    del y
    return 1.0 / (x * x + 1.0)


@_derivative(real.RealTanh)
def _tanh(x: Expression, y: Expression) -> Expression:
    del x
    return 1.0 - y * y


@_derivative(real.RealSigmoid)
def _sigmoid(x: Expression, y: Expression) -> Expression:
    del x
    return y * (1.0 - y)
