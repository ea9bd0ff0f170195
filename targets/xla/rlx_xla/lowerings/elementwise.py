"""Functions of the elements of one or two tensors.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import jax
import jax.numpy as jnp
from jax import lax

from rlx.ops import real
from rlx.ops.real import Comparison
from rlx_xla.lowerings.common import is_float, narrow, widen
from rlx_xla.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rlx.ir import Node, Op
    from rlx_xla.rules import Traced
    from rlx_xla.trace import Trace

_UNARY: Final[Mapping[type[Op], Callable[[Traced], Traced]]] = {
    real.RealAbs: jnp.abs,
    real.RealAcos: jnp.arccos,
    real.RealAsin: jnp.arcsin,
    real.RealAtan: jnp.arctan,
    real.RealCeil: jnp.ceil,
    real.RealCos: jnp.cos,
    real.RealErf: lax.erf,
    real.RealExp: jnp.exp,
    real.RealExpm1: jnp.expm1,
    real.RealFloor: jnp.floor,
    real.RealLog: jnp.log,
    real.RealLog1p: jnp.log1p,
    real.RealNeg: jnp.negative,
    real.RealRound: jnp.rint,
    real.RealRsqrt: lambda x: 1 / jnp.sqrt(x),
    real.RealSigmoid: jax.nn.sigmoid,
    real.RealSign: jnp.sign,
    real.RealSin: jnp.sin,
    real.RealSqrt: jnp.sqrt,
    real.RealTan: jnp.tan,
    real.RealTanh: jnp.tanh,
}

_COMPARE: Final[Mapping[Comparison, Callable[[Traced, Traced], Traced]]] = {
    Comparison.EQUAL: jnp.equal,
    Comparison.NOT_EQUAL: jnp.not_equal,
    Comparison.LESS: jnp.less,
    Comparison.LESS_EQUAL: jnp.less_equal,
    Comparison.GREATER: jnp.greater,
    Comparison.GREATER_EQUAL: jnp.greater_equal,
}


def _divide(x: Traced, y: Traced) -> Traced:
    """Return the quotient; of integers truncated, and 0 where ``y`` is 0."""
    if is_float(x):
        return lax.div(*jnp.broadcast_arrays(x, y))
    quotient = lax.div(*jnp.broadcast_arrays(x, jnp.where(y == 0, jnp.ones_like(y), y)))
    return jnp.where(y == 0, jnp.zeros_like(quotient), quotient)


def _remainder(x: Traced, y: Traced) -> Traced:
    """Return the remainder with the sign of ``y``; of integers 0 where ``y`` is 0."""
    if is_float(x):
        return jnp.remainder(x, y)
    result = jnp.remainder(x, jnp.where(y == 0, jnp.ones_like(y), y))
    return jnp.where(y == 0, jnp.zeros_like(result), result)


def _power(x: Traced, y: Traced) -> Traced:
    """Return the power; of integers by repeated squaring, which wraps."""
    if is_float(x):
        return jnp.power(x, y)
    x, y = jnp.broadcast_arrays(x, y)
    unit, base = jnp.ones_like(x), x
    result = unit
    exponent = jnp.maximum(y, 0)
    for bit in range(8 * x.dtype.itemsize):
        is_set = ((exponent >> x.dtype.type(bit)) & 1) != 0
        result = jnp.where(is_set, result * base, result)
        base = base * base
    # 1 and -1 are the only integers whose reciprocal is not truncated to 0.
    reciprocal = jnp.where(jnp.abs(x) == 1, jnp.where((y & 1) != 0, x, unit), jnp.zeros_like(x))
    return jnp.where(y < 0, reciprocal, result)


def _shift_left(x: Traced, y: Traced) -> Traced:
    """Return the shifted bits; 0 where ``y`` is not in [0, bits)."""
    x, y = jnp.broadcast_arrays(x, y)
    fits = (y >= 0) & (y < 8 * x.dtype.itemsize)
    shifted = lax.shift_left(x, jnp.where(fits, y, jnp.zeros_like(y)))
    return jnp.where(fits, shifted, jnp.zeros_like(x))


def _shift_right(x: Traced, y: Traced) -> Traced:
    """Return the shifted bits; 0, or -1 of a negative ``x``, where ``y`` is not in [0, bits)."""
    x, y = jnp.broadcast_arrays(x, y)
    fits = (y >= 0) & (y < 8 * x.dtype.itemsize)
    signed = jnp.issubdtype(x.dtype, jnp.signedinteger)
    shift = lax.shift_right_arithmetic if signed else lax.shift_right_logical
    beyond = jnp.where(x < 0, -jnp.ones_like(x), jnp.zeros_like(x)) if signed else jnp.zeros_like(x)
    return jnp.where(fits, shift(x, jnp.where(fits, y, jnp.zeros_like(y))), beyond)


_BINARY: Final[Mapping[type[Op], Callable[[Traced, Traced], Traced]]] = {
    real.RealAdd: jnp.add,
    real.RealBitAnd: jnp.bitwise_and,
    real.RealBitOr: jnp.bitwise_or,
    real.RealBitXor: jnp.bitwise_xor,
    real.RealDiv: _divide,
    real.RealMaximum: jnp.maximum,
    real.RealMinimum: jnp.minimum,
    real.RealMul: jnp.multiply,
    real.RealPow: _power,
    real.RealRemainder: _remainder,
    real.RealShiftLeft: _shift_left,
    real.RealShiftRight: _shift_right,
    real.RealSub: jnp.subtract,
}


@RULES.rule(*_UNARY, *_BINARY)
def elementwise(node: Node, trace: Trace, *operands: Traced) -> Traced:
    """Lower a function of one or two tensors."""
    del trace
    wide = map(widen, operands)
    if type(node.op) in _UNARY:
        return narrow(_UNARY[type(node.op)](*wide), node)
    return narrow(_BINARY[type(node.op)](*wide), node)


@RULES.rule(real.RealCompare)
def compare(node: Node, trace: Trace, x: Traced, y: Traced) -> Traced:
    """Lower a comparison."""
    del trace
    assert isinstance(node.op, real.RealCompare)
    return _COMPARE[node.op.relation](widen(x), widen(y))


@RULES.rule(real.RealWhere)
def where(node: Node, trace: Trace, condition: Traced, x: Traced, y: Traced) -> Traced:
    """Lower a choice."""
    del node, trace
    return jnp.where(condition, x, y)
