"""Conversion between floats and quantized values.

Tests: tests/unit/runtime/numpy_backend/test_kernels.py
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rlx.ops import real
from rlx.ops.real.cast import integer_range
from rlx.ops.real.quantize import Ties, along_axis
from rlx.runtime.numpy_backend.kernels.common import copy, scalar, sequence, wide_operand
from rlx.runtime.numpy_backend.step import KERNELS, prepare

if TYPE_CHECKING:
    from rlx.runtime.numpy_backend.kernels.common import Numbers
    from rlx.runtime.numpy_backend.step import BoundStep, Run
    from rlx.runtime.numpy_backend.workspace import Workspace


@KERNELS.rule(real.RealQuantize)
def _quantize(step: BoundStep) -> Run:
    op, (result,) = step.node.op, step.outputs
    assert isinstance(op, real.RealQuantize)
    if not 8 <= op.dtype.bits <= 32:
        # Wider limits are not exact in float64; narrower types have no fast conversion.
        return prepare(step)
    runs: list[Run] = []
    x = wide_operand(step, 0, runs)
    quotient, steps = step.workspace.like(x), step.workspace.take(x.shape, np.float64)
    undefined = step.workspace.take(x.shape, np.bool_)
    scale = along_axis(op.quant, op.quant.scale, x.ndim, np.float32).astype(x.dtype)
    zero_point = along_axis(op.quant, op.quant.zero_point, x.ndim, np.float64)
    runs += [
        partial(np.divide, x, scale, quotient),
        partial(np.isnan, quotient, undefined),
        partial(np.copyto, quotient, scalar(0, x.dtype), where=undefined),
        copy(steps, quotient),
    ]
    runs += _round(steps, op.ties, step)
    low, high = map(float, integer_range(op.dtype))
    runs += [
        partial(np.add, steps, zero_point, steps),
        partial(np.maximum, steps, scalar(low, np.float64), out=steps),
        partial(np.minimum, steps, scalar(high, np.float64), out=steps),
        copy(result, steps),
    ]
    return sequence(runs)


def _round(x: Numbers, ties: Ties, step: BoundStep) -> list[Run]:
    """Return the calls that round ``x`` to integers."""
    if ties in (Ties.FLOOR, Ties.CEIL):
        return [partial(np.floor if ties is Ties.FLOOR else np.ceil, x, x)]
    if ties in (Ties.AWAY, Ties.TOWARD):
        return _by_size(x, ties, step)
    rint = partial(np.rint, x, x)
    if ties is Ties.EVEN:
        return [rint]
    # Halves to odd: those of x + 1 round to even.
    unit = scalar(1, np.float64)
    return [partial(np.add, x, unit, x), rint, partial(np.subtract, x, unit, x)]


def _by_size(x: Numbers, ties: Ties, step: BoundStep) -> list[Run]:
    """Return the calls that round ``x`` to the nearest, halves away from zero or toward it."""
    workspace: Workspace = step.workspace
    fraction, whole = workspace.like(x), workspace.like(x)
    rounds = workspace.take(x.shape, np.bool_)
    goes = np.greater_equal if ties is Ties.AWAY else np.greater
    return [
        partial(np.modf, x, fraction, whole),
        partial(np.absolute, fraction, fraction),
        partial(goes, fraction, scalar(0.5, np.float64), rounds),
        copy(fraction, rounds),
        partial(np.copysign, fraction, x, fraction),
        partial(np.add, whole, fraction, x),
    ]


@KERNELS.rule(real.RealDequantize)
def _dequantize(step: BoundStep) -> Run:
    op, (x,), (result,) = step.node.op, step.inputs, step.outputs
    assert isinstance(op, real.RealDequantize)
    # Differences of 16 bits are float32 without rounding.
    dtype = np.float32 if x.dtype.itemsize <= 2 else np.int64
    zero_point = along_axis(op.quant, op.quant.zero_point, x.ndim, dtype)
    scale = along_axis(op.quant, op.quant.scale, x.ndim, np.float32)
    steps = result if dtype is np.float32 else step.workspace.take(x.shape, dtype)
    runs: list[Run] = [copy(steps, x), partial(np.subtract, steps, zero_point, steps)]
    if steps is not result:
        runs.append(copy(result, steps))
    return sequence([*runs, partial(np.multiply, scale, result, result)])
