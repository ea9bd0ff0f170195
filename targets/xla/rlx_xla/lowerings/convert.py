"""Changes of the element type, and conversion between floats and quantized values.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import lax

from rlx.ir import DType
from rlx.ops import real
from rlx.ops.real import Ties
from rlx.ops.real.cast import integer_range
from rlx.ops.real.quantize import along_axis
from rlx_xla.lowerings.common import is_float, narrow, widen
from rlx_xla.rules import RULES
from rlx_xla.trace import NARROW, held_type

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_xla.rules import Traced
    from rlx_xla.trace import Trace


def float_to_integer(x: Traced, dtype: DType) -> Traced:
    """Return ``x`` truncated towards zero and saturated; NaN becomes 0."""
    low, high = integer_range(dtype)
    wide = x.astype(jnp.float64)
    whole = jnp.trunc(jnp.where(jnp.isnan(wide), 0.0, wide))
    fits = (whole >= low) & (whole < float(high + 1))
    target = held_type(dtype)
    ends = np.array(low, target), np.array(high, target)
    return jnp.where(fits, jnp.where(fits, whole, 0.0).astype(target), jnp.where(whole < 0, *ends))


@RULES.rule(real.RealCast)
def cast(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower a change of element type."""
    del trace
    dtype = node.types[0].dtype
    if dtype is DType.BOOL:
        return widen(x) != 0
    if dtype.is_integer and is_float(x):
        return float_to_integer(x, dtype)
    if dtype in NARROW:
        half, modulus = 1 << (dtype.bits - 1), 1 << dtype.bits
        return narrow((x.astype(jnp.int64) + half) % modulus - half, node)
    return narrow(x, node)


@RULES.rule(real.RealBitcast)
def bitcast(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower another reading of the same bits."""
    del trace
    return lax.bitcast_convert_type(x, held_type(node.types[0].dtype))


def _round(ties: Ties, x: Traced) -> Traced:
    """Return float64 values rounded to integers, as ``Ties.round``."""
    if ties is Ties.FLOOR:
        return jnp.floor(x)
    if ties is Ties.CEIL:
        return jnp.ceil(x)
    if ties in (Ties.EVEN, Ties.ODD):
        odd = float(ties is Ties.ODD)
        return jnp.rint(x + odd) - odd
    whole = jnp.trunc(x)
    size = jnp.abs(x - whole)
    size = jnp.where(jnp.isinf(x), 0.0, size)
    goes = size >= 0.5 if ties is Ties.AWAY else size > 0.5
    return whole + jnp.where(goes, jnp.copysign(1.0, x), 0.0)


@RULES.rule(real.RealQuantize)
def quantize(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower the quantization of floats.

    The quotient is computed in float64: XLA multiplies by the reciprocal of a constant, which in
    float32 is not the quotient. Of two float32 numbers it is so far from the middle of two others
    that it is then rounded to the right one.
    """
    del trace
    op = node.op
    assert isinstance(op, real.RealQuantize)
    scale = along_axis(op.quant, op.quant.scale, x.ndim, np.float32).astype(np.float64)
    steps = widen(x).astype(jnp.float64) / lax.optimization_barrier(jnp.asarray(scale))
    if x.dtype != np.float64:
        steps = steps.astype(jnp.float32).astype(jnp.float64)
    steps = jnp.where(jnp.isnan(steps), 0.0, steps)
    zero_point = along_axis(op.quant, op.quant.zero_point, x.ndim, np.float64)
    return float_to_integer(_round(op.ties, steps) + zero_point, node.types[0].dtype)


@RULES.rule(real.RealDequantize)
def dequantize(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower the floats of quantized values."""
    del trace
    op = node.op
    assert isinstance(op, real.RealDequantize)
    zero_point = along_axis(op.quant, op.quant.zero_point, x.ndim, np.int64)
    scale = along_axis(op.quant, op.quant.scale, x.ndim, np.float32)
    return scale * (x.astype(jnp.int64) - zero_point).astype(jnp.float32)
