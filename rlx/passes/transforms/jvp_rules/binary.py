"""Tangents of functions of two variables, and of the choice between them.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ops import real
from rlx.passes.transforms.linearize import RULES, zero_derivative

if TYPE_CHECKING:
    from rlx.ir import Op
    from rlx.ops.expression import Expression
    from rlx.passes.transforms.linearize import JvpCall, Tangents

zero_derivative(real.RealCompare)
RULES.refuse(
    "it computes with the bits of integers",
    real.RealBitAnd, real.RealBitOr, real.RealBitXor, real.RealShiftLeft, real.RealShiftRight,
)  # fmt: skip


def _fit(call: JvpCall, t: Expression | None) -> Tangents:
    """Return the only tangent, broadcast to the result's shape."""
    return [t and t.broadcast_to(*call.node.types[0].shape)]


def _sum(a: Expression | None, b: Expression | None) -> Expression | None:
    """Return the sum of two tangents of which one may be zero."""
    if a is None or b is None:
        return a or b
    return a + b


@RULES.rule(real.RealAdd)
def _add(op: Op, call: JvpCall) -> Tangents:
    del op
    return _fit(call, _sum(*call.tangents))


@RULES.rule(real.RealSub)
def _sub(op: Op, call: JvpCall) -> Tangents:
    del op
    tx, ty = call.tangents
    if tx is None or ty is None:
        return _fit(call, tx or (ty and -ty))
    return [tx - ty]


@RULES.rule(real.RealMul)
def _mul(op: Op, call: JvpCall) -> Tangents:
    del op
    (x, y), (tx, ty) = call.operands, call.tangents
    return [_sum(tx and tx * y, ty and ty * x)]


@RULES.rule(real.RealDiv)
def _div(op: Op, call: JvpCall) -> Tangents:
    """d(x / y) = (dx - x / y * dy) / y."""
    del op
    (_, y), (z,), (tx, ty) = call.operands, call.results, call.tangents
    if ty is None:
        return [tx and tx / y]
    change = ty * z
    return [(tx - change if tx else -change) / y]


@RULES.rule(real.RealRemainder)
def _remainder(op: Op, call: JvpCall) -> Tangents:
    """X - q * y with a constant integer q = (x - z) / y."""
    del op
    (x, y), (z,), (tx, ty) = call.operands, call.results, call.tangents
    return _fit(call, _sum(tx, ty and ty * ((z - x) / y)))


@RULES.rule(real.RealPow)
def _pow(op: Op, call: JvpCall) -> Tangents:
    del op
    (x, y), (z,), (tx, ty) = call.operands, call.results, call.tangents
    by_base = tx and tx * _slope_of_power(x, y)
    # 0 to a positive power stays 0: the logarithm of 1 instead of 0 keeps NaN out.
    by_exponent = ty and ty * (z * x.lift(1.0).where(x.equal(0.0), x).log())
    return [_sum(by_base, by_exponent)]


def _slope_of_power(x: Expression, y: Expression) -> Expression:
    """Return ``y * x^(y - 1)``, which is 0 for ``y`` of 0."""
    exponent = y.value.constant
    if exponent is not None and np.all(exponent == 2):
        return x * 2.0
    if exponent is not None and np.all(exponent != 0):
        return x ** (y - 1.0) * y
    return y * x ** y.lift(1.0).where(y.equal(0.0), y - 1.0)


@RULES.rule(real.RealMaximum)
def _maximum(op: Op, call: JvpCall) -> Tangents:
    return _extreme(op, call)


@RULES.rule(real.RealMinimum)
def _minimum(op: Op, call: JvpCall) -> Tangents:
    return _extreme(op, call)


def _extreme(op: Op, call: JvpCall) -> Tangents:
    """Tangent of the chosen operand; of equal ones that of the second, or the constant one."""
    (x, y), (tx, ty) = call.operands, call.tangents
    if tx is None:
        (x, y), (tx, ty) = (y, x), (ty, tx)
    assert tx is not None
    first = x > y if isinstance(op, real.RealMaximum) else x < y
    return _fit(call, tx.where(first, 0.0 if ty is None else ty))


@RULES.rule(real.RealWhere)
def _where(op: Op, call: JvpCall) -> Tangents:
    del op
    condition, _, _ = call.operands
    _, tx, ty = call.tangents
    if tx is None:
        assert ty is not None
        return _fit(call, ty.lift(0.0).where(condition, ty))
    return _fit(call, tx.where(condition, 0.0 if ty is None else ty))
