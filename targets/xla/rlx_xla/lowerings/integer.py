"""Fixed-point scaling, elementwise integer ops, and softmax on integers.

The formulas are those of ``rlx.ops.numerics.fixed_point`` and ``exponential``.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import lax

from rlx.ops import q
from rlx.ops.numerics.exponential import softmax_table
from rlx.ops.numerics.fixed_point import INT32_MAX, INT32_MIN, Rescale, Rounding
from rlx_xla.lowerings.common import narrow
from rlx_xla.rules import RULES

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_xla.rules import Traced
    from rlx_xla.trace import Trace

_SUM_BITS = 12
"""Integer bits of a sum of exponentials."""


def high_multiply(a: Traced, b: Traced | int) -> Traced:
    """Return ``round(a * b / 2^31)`` saturated to int32, halves up."""
    return jnp.minimum((a * b + (1 << 30)) >> 31, INT32_MAX)


def divide_by_power(x: Traced, exponent: Traced | int) -> Traced:
    """Return ``round(x / 2^exponent)``, ties away from zero."""
    mask = (jnp.int64(1) << jnp.asarray(exponent, jnp.int64)) - 1
    threshold = (mask >> 1) + (x < 0)
    return (x >> jnp.asarray(exponent, jnp.int64)) + ((x & mask) > threshold)


def rescaled(rescale: Rescale, x: Traced) -> Traced:
    """Return ``rescale.apply(x)`` as int64; ``x`` holds int32 values, channels last."""
    shape = () if rescale.channels == 1 else (rescale.channels,)
    multiplier = np.array(rescale.multiplier, np.int64).reshape(shape)
    shift = np.array(rescale.shift, np.int64).reshape(shape)
    if rescale.rounding is Rounding.FLOAT32:
        factor = np.ldexp(multiplier.astype(np.float32), shift - 31)
        return jnp.rint(x.astype(jnp.float32) * factor).astype(jnp.int64)
    x = x.astype(jnp.int64)
    if rescale.rounding is not Rounding.DOUBLE:
        total, products = 31 - shift, x * multiplier
        half = np.int64(1) << (total - 1)
        parity = rescale.rounding.to_parity
        if parity is not None:
            half = half - 1 + ((products >> total & 1) ^ parity)
        return (products + half) >> total
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    if left.any():
        x = (x << left).astype(jnp.int32).astype(jnp.int64)
    # A multiplier is not negative: nothing saturates.
    high = (x * multiplier + (1 << 30)) >> 31
    # A half is rounded away from zero: one less where the number is negative.
    below = (high >> 63) & np.where(right > 0, -1, 0)
    return (high + (np.int64(1) << right >> 1) + below) >> right


def to_int8(x: Traced, zero_point: int, low: int, high: int) -> Traced:
    """Return ``clamp(x + zero_point, low, high)`` as int8."""
    return jnp.clip(x + zero_point, low, high).astype(jnp.int8)


@RULES.rule(q.QAdd, q.QSub, q.QSquaredDifference)
def add(node: Node, trace: Trace, x: Traced, y: Traced) -> Traced:
    """Lower the sum or difference of quantized values, or its square."""
    del trace
    op = node.op
    assert isinstance(op, (q.QAdd, q.QSquaredDifference))
    a = rescaled(op.x_rescale, (x.astype(jnp.int64) - op.x_zero_point) << op.left_shift)
    b = rescaled(op.y_rescale, (y.astype(jnp.int64) - op.y_zero_point) << op.left_shift)
    total = a + b if type(op) is q.QAdd else a - b
    if isinstance(op, q.QSquaredDifference):
        total = total * total
    return to_int8(rescaled(op.rescale, total), op.zero_point, op.low, op.high)


@RULES.rule(q.QMul)
def multiply(node: Node, trace: Trace, x: Traced, y: Traced) -> Traced:
    """Lower the product of quantized values."""
    del trace
    op = node.op
    assert isinstance(op, q.QMul)
    product = (x.astype(jnp.int64) - op.x_zero_point) * (y.astype(jnp.int64) - op.y_zero_point)
    return to_int8(rescaled(op.rescale, product), op.zero_point, op.low, op.high)


@RULES.rule(q.QDiv)
def divide(node: Node, trace: Trace, x: Traced, y: Traced) -> Traced:
    """Lower the quotient of quantized values as a table of all pairs."""
    del trace
    assert isinstance(node.op, q.QDiv)
    entries = jnp.asarray(node.op.table().reshape(-1))
    pair_indices = (x.astype(jnp.int32) + 128) * 256 + y.astype(jnp.int32) + 128
    return jnp.take(entries, pair_indices, axis=0, mode="clip")


@RULES.rule(q.QRequantize)
def requantize(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower a change of scale and zero point."""
    del trace
    op = node.op
    assert isinstance(op, q.QRequantize)
    scaled = rescaled(op.rescale, x.astype(jnp.int64) - op.x_zero_point)
    return to_int8(scaled, op.zero_point, op.low, op.high)


@RULES.rule(q.QConvert)
def convert(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower a change of element type."""
    del trace
    op = node.op
    assert isinstance(op, q.QConvert)
    scaled = rescaled(op.rescale, x.astype(jnp.int64) - op.x_zero_point)
    return narrow(jnp.clip(scaled + op.zero_point, *q.CODE_RANGE[op.dtype]), node)


@RULES.rule(q.QClamp)
def clamp(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower the limits of values."""
    del trace
    assert isinstance(node.op, q.QClamp)
    return jnp.clip(x, np.int8(node.op.low), np.int8(node.op.high))


@RULES.rule(q.QMaximum)
def maximum(node: Node, trace: Trace, x: Traced, y: Traced) -> Traced:
    """Lower the larger of two values."""
    del node, trace
    return jnp.maximum(x, y)


@RULES.rule(q.QMinimum)
def minimum(node: Node, trace: Trace, x: Traced, y: Traced) -> Traced:
    """Lower the smaller of two values."""
    del node, trace
    return jnp.minimum(x, y)


@RULES.rule(q.QPrelu)
def prelu(node: Node, trace: Trace, x: Traced, slopes: Traced) -> Traced:
    """Lower values of which the negative ones are multiplied by a slope."""
    del trace
    op = node.op
    assert isinstance(op, q.QPrelu)
    centred = x.astype(jnp.int64) - op.x_zero_point
    factors = slopes.astype(jnp.int64) - op.y_zero_point
    below = rescaled(op.slope_rescale, centred * factors)
    scaled = jnp.where(centred >= 0, rescaled(op.rescale, centred), below)
    return to_int8(scaled, op.zero_point, op.low, op.high)


@RULES.rule(q.QMean)
def mean(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower the mean over axes."""
    del trace
    op = node.op
    assert isinstance(op, q.QMean)
    sums = jnp.sum(x, axis=op.axes, keepdims=op.keep_dims, dtype=jnp.int64)
    count = x.size // max(sums.size, 1)
    scaled = rescaled(op.rescale, sums - count * op.x_zero_point)
    return to_int8(scaled, op.zero_point, op.low, op.high)


@RULES.rule(q.QTable)
def table(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower a function of one value as a table."""
    del trace
    assert isinstance(node.op, q.QTable)
    entries = jnp.asarray(np.array(node.op.table, np.int8))
    return jnp.take(entries, x.astype(jnp.int32) + 128, axis=0, mode="clip")


@RULES.rule(q.QSoftmax)
def softmax(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower the softmax over the last axis."""
    del trace
    op = node.op
    assert isinstance(op, q.QSoftmax)
    entries = jnp.asarray(softmax_table(op.multiplier, op.left_shift, op.diff_min))
    wide = x.astype(jnp.int32)
    entry_indices = wide - jnp.max(wide, axis=-1, keepdims=True, initial=-128) + 255
    exponentials = jnp.take(entries, entry_indices, axis=0, mode="clip")
    total = jnp.sum(divide_by_power(exponentials, _SUM_BITS), axis=-1, keepdims=True)
    scale, bits = _reciprocal(total)
    product = high_multiply(scale, exponentials)
    # The scale 1/256 leaves 8 of the 31 fraction bits.
    return to_int8(divide_by_power(product, bits + 31 - 8), -128, -128, 127)


@RULES.rule(q.QL2Norm)
def l2_norm(node: Node, trace: Trace, x: Traced) -> Traced:
    """Lower vectors divided by their lengths."""
    del trace
    op = node.op
    assert isinstance(op, q.QL2Norm)
    centred = x.astype(jnp.int64) - op.x_zero_point
    multiplier, shift = _inverse_root(jnp.sum(centred * centred, axis=-1, keepdims=True))
    # The scale 1/128 leaves 7 fraction bits.
    left, right = jnp.maximum(shift + 7, 0), jnp.maximum(-shift - 7, 0)
    return to_int8(divide_by_power(high_multiply(centred << left, multiplier), right), 0, -128, 127)


def _inverse_root(x: Traced) -> tuple[Traced, Traced]:
    """Return ``(multiplier, shift)`` with ``1 / sqrt(x) ~ multiplier * 2^(shift - 31)``."""
    is_large = x >= 1 << 29
    reduced = jnp.maximum(jnp.where(is_large, x >> 2, x), 1)
    pairs = (lax.clz(reduced.astype(jnp.int32)).astype(jnp.int64) - 1) // 2 - 1
    number = (reduced << 2 * pairs) >> 1
    half = (number + 1) >> 1
    estimate = jnp.full_like(x, 1 << 28)
    for _ in range(5):
        cube = high_multiply(high_multiply(estimate, estimate), estimate) << 6
        estimate = (high_multiply(estimate, 3 << 27) - high_multiply(half, cube)) << 3
    left = pairs - 11 - is_large
    multiplier = high_multiply(estimate, 1518500250) << jnp.maximum(left, 0)
    return jnp.where(x <= 1, INT32_MAX, multiplier), jnp.where(x <= 1, 0, jnp.minimum(left, 0))


def _reciprocal(x: Traced) -> tuple[Traced, Traced]:
    """Return ``(scale, bits)`` with ``1 / x ~ scale / 2^bits``, for sums of exponentials."""
    headroom = lax.clz(x.astype(jnp.int32)).astype(jnp.int64)
    return _one_over_one_plus((x << headroom) - (1 << 31)), _SUM_BITS - headroom


def _one_over_one_plus(a: Traced) -> Traced:
    """Return 1 / (1 + a) in Q0.31 for ``a`` in [0, 1) as Q0.31: three Newton-Raphson steps."""
    half = (a + INT32_MAX + 1) >> 1
    x = 1515870810 + high_multiply(half, -1010580540)
    for _ in range(3):
        error = (1 << 29) - high_multiply(half, x)
        x = x + jnp.clip(high_multiply(x, error) << 2, INT32_MIN, INT32_MAX)
    return jnp.clip(x << 1, INT32_MIN, INT32_MAX)
