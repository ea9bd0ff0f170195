"""Matrix products, and convolutions and dense layers on integers.

Integer convolutions are products of slices of the image: GPUs have no others.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import lax

from rlx.ops import q, real
from rlx.ops.numerics.products import exact_float
from rlx_xla.lowerings.common import PRECISE, is_float, narrow, widen
from rlx_xla.lowerings.integer import rescaled, to_int8
from rlx_xla.lowerings.taps import padded, spatial, taps
from rlx_xla.rules import PREPARED, RULES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Array, Node
    from rlx.ops.real import SpatialWindow
    from rlx_xla.rules import Traced
    from rlx_xla.trace import Trace

_HALF_FLOATS = (jnp.bfloat16, jnp.float16)


def _sum_type(x: Traced) -> np.dtype[np.generic]:
    """Return the type in which products are added up: integers of 8 and 16 bits in int32."""
    small = not is_float(x) and x.dtype.itemsize < 4
    return np.dtype(np.int32) if small else x.dtype


@RULES.rule(real.RealMatmul)
def matmul(node: Node, trace: Trace, x: Traced, y: Traced) -> Traced:
    """Lower a matrix product; narrow floats are multiplied as they are, and added in float32."""
    del trace
    if x.dtype in _HALF_FLOATS:
        result = jnp.matmul(x, y, precision=PRECISE, preferred_element_type=jnp.float32)
    else:
        x, y = widen(x), widen(y)
        result = jnp.matmul(x, y, precision=PRECISE, preferred_element_type=_sum_type(x))
    return narrow(result, node)


def accumulate(x: Traced, w: Traced, window: SpatialWindow, groups: int) -> Traced:
    """Return the sums of a convolution, [N, output size..., O].

    Args:
        x: The image with its padding, [N, spatial..., C].
        w: Weights [O, kernel..., C / groups].
        window: The window.
        groups: Divides C and O.
    """
    outputs, inner = w.shape[0], w.shape[-1]
    if math.prod(window.kernel) > 1:
        # Without it XLA repeats the computation of the image for each tap.
        x = lax.optimization_barrier(x)
    if groups > 1 and inner == 1:
        return _depthwise(x, jnp.moveaxis(w, 0, -1), window, groups)
    views = [view for _, view in taps(x, window)]
    size = views[0].shape[:-1]
    if groups == 1:
        columns = jnp.concatenate(views, axis=-1).reshape(math.prod(size), -1)
        return _dot(columns, w.reshape(outputs, -1).T, ((1,), (0,))).reshape(*size, outputs)
    parts = [view.reshape(*size, groups, inner) for view in views]
    rows = jnp.concatenate(parts, axis=-1).reshape(math.prod(size), groups, -1)
    weights = w.reshape(groups, outputs // groups, -1)
    sums = _dot(rows, weights, ((2,), (2,)), ((1,), (0,)))
    return jnp.moveaxis(sums, 0, 1).reshape(*size, outputs)


def _dot(
    x: Traced,
    y: Traced,
    contracted: tuple[tuple[int, ...], tuple[int, ...]],
    batched: tuple[tuple[int, ...], tuple[int, ...]] = ((), ()),
) -> Traced:
    """Return a product whose sums do not overflow 32 bits where the operands are small integers.

    Where the second factor is of floats, so is the product (:data:`PREPARED`).
    """
    x = x.astype(y.dtype) if is_float(y) else x
    precision = PRECISE if is_float(x) else None
    return lax.dot_general(
        x, y, (contracted, batched), precision=precision, preferred_element_type=_sum_type(x)
    )


def _depthwise(x: Traced, w: Traced, window: SpatialWindow, groups: int) -> Traced:
    """Return the sums of a convolution of one channel for each group; ``w`` is [..., 1, O]."""
    dtype = _sum_type(w if is_float(w) else x)
    kernels = w.astype(dtype).reshape(*window.kernel, groups, -1)
    total: Traced = 0
    for tap, view in taps(x, window):
        total = total + view.astype(dtype)[..., None] * kernels[tap]
    return total.reshape(*total.shape[:-2], -1)


def _folded_bias(w: Array | Traced, bias: Array | Traced, zero_point: int) -> Array | Traced:
    """Return the bias to which the zero point of the input is added, int32[O], which wraps."""
    sums = w.reshape(w.shape[0], -1).astype(np.int64).sum(axis=1)
    return (bias.astype(np.int64) - zero_point * sums).astype(np.int32)


def _prepare(node: Node, *, as_floats: bool) -> Mapping[str, Array]:
    """Return constant weights, and the bias with the zero point in it."""
    w, bias = (operand.constant for operand in node.operands[1:])
    assert isinstance(node.op, q.QConv2d | q.QDense)
    if w is None or bias is None:
        return {}
    folded = _folded_bias(w, bias, node.op.x_zero_point)
    exact = as_floats and exact_float(w.reshape(len(w), -1).T) == np.float32
    return {"w": w.astype(np.float32 if exact else np.int8), "bias": folded}


PREPARED[q.QConv2d] = _prepare
PREPARED[q.QDense] = _prepare


def _operands(node: Node, trace: Trace, w: Traced, bias: Traced) -> tuple[Traced, Traced]:
    """Return the weights, and the bias with the zero point in it."""
    prepared = trace.prepared(node)
    if prepared is not None:
        return prepared["w"], prepared["bias"]
    assert isinstance(node.op, q.QConv2d | q.QDense)
    return w, _folded_bias(w, bias, node.op.x_zero_point)


@RULES.rule(q.QConv2d)
def conv(node: Node, trace: Trace, x: Traced, w: Traced, bias: Traced) -> Traced:
    """Lower a convolution on integers."""
    op = node.op
    assert isinstance(op, q.QConv2d)
    weights, folded = _operands(node, trace, w, bias)
    window = spatial(op.window)
    sums = accumulate(padded(x, window, op.x_zero_point), weights, window, op.groups)
    sums = sums.astype(jnp.int32) + folded
    return to_int8(rescaled(op.rescale, sums), op.zero_point, op.low, op.high)


@RULES.rule(q.QMatmul)
def quantized_matmul(node: Node, trace: Trace, x: Traced, y: Traced) -> Traced:
    """Lower a product of two computed matrices on integers."""
    del trace
    op = node.op
    assert isinstance(op, q.QMatmul)
    centred = x.astype(jnp.int32) - op.x_zero_point, y.astype(jnp.int32) - op.y_zero_point
    sums = jnp.matmul(*centred)
    return to_int8(rescaled(op.rescale, sums), op.zero_point, op.low, op.high)


@RULES.rule(q.QDense)
def dense(node: Node, trace: Trace, x: Traced, w: Traced, bias: Traced) -> Traced:
    """Lower a dense layer on integers."""
    op = node.op
    assert isinstance(op, q.QDense)
    weights, folded = _operands(node, trace, w, bias)
    sums = _dot(x, weights, ((x.ndim - 1,), (1,))).astype(jnp.int32) + folded
    return to_int8(rescaled(op.rescale, sums), op.zero_point, op.low, op.high)
