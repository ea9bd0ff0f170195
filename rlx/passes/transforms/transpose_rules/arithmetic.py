"""Transposes of linear arithmetic.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops import real
from rlx.passes.transforms.formulas import sum_to
from rlx.passes.transforms.transpose import RULES

if TYPE_CHECKING:
    from rlx.ir import Op
    from rlx.passes.transforms.transpose import Gradients, TransposeCall


@RULES.rule(real.RealNeg)
def _neg(op: Op, call: TransposeCall) -> Gradients:
    return [call.gradient.apply(op)]


@RULES.rule(real.RealAdd)
def _add(op: Op, call: TransposeCall) -> Gradients:
    del op
    pairs = zip(call.operands, call.types, strict=True)
    return [sum_to(call.gradient, t) if o is None else None for o, t in pairs]


@RULES.rule(real.RealSub)
def _sub(op: Op, call: TransposeCall) -> Gradients:
    del op
    (x, y), (tx, ty) = call.operands, call.types
    by_x = sum_to(call.gradient, tx) if x is None else None
    return [by_x, -sum_to(call.gradient, ty) if y is None else None]


@RULES.rule(real.RealMul)
def _mul(op: Op, call: TransposeCall) -> Gradients:
    del op
    (x, y), (tx, ty) = call.operands, call.types
    by_x = None if y is None else sum_to(call.gradient * y, tx)
    return [by_x, None if x is None else sum_to(call.gradient * x, ty)]


@RULES.rule(real.RealDiv)
def _div(op: Op, call: TransposeCall) -> Gradients:
    del op
    _, y = call.operands
    assert y is not None
    return [sum_to(call.gradient / y, call.types[0]), None]


@RULES.rule(real.RealWhere)
def _where(op: Op, call: TransposeCall) -> Gradients:
    del op
    condition, x, y = call.operands
    gradient, (_, tx, ty) = call.gradient, call.types
    assert condition is not None
    by_x = gradient.where(condition, 0.0) if x is None else None
    by_y = gradient.lift(0.0).where(condition, gradient) if y is None else None
    return [None, by_x and sum_to(by_x, tx), by_y and sum_to(by_y, ty)]


@RULES.rule(real.RealMatmul)
def _matmul(op: Op, call: TransposeCall) -> Gradients:
    """Products with the transpose of the other operand; of rows by a matrix in one product."""
    del op
    (x, y), (tx, ty) = call.operands, call.types
    gradient = call.gradient
    if y is not None:
        return [sum_to(gradient @ y.mT, tx), None]
    assert x is not None
    if ty.rank == 2 < x.ndim:
        x, gradient = (e.reshape(-1, e.shape[-1]) for e in (x, gradient))
    return [None, sum_to(x.mT @ gradient, ty)]


@RULES.rule(real.RealCast)
def _cast(op: Op, call: TransposeCall) -> Gradients:
    del op
    return [call.gradient.cast(call.types[0].dtype)]
