"""Transposes of ops that move elements.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Dim
from rlx.ops import real
from rlx.passes.transforms.formulas import sum_to
from rlx.passes.transforms.transpose import RULES

if TYPE_CHECKING:
    from rlx.ir import Op
    from rlx.ops.expression import Expression
    from rlx.passes.transforms.transpose import Gradients, TransposeCall


@RULES.rule(real.RealReshape)
def _reshape(op: Op, call: TransposeCall) -> Gradients:
    del op
    return [call.gradient.reshape(*call.types[0].shape)]


@RULES.rule(real.RealTranspose)
def _transpose(op: real.RealTranspose, call: TransposeCall) -> Gradients:
    if not op.axes:
        return [call.gradient]
    return [call.gradient.transpose(*np.argsort(op.axes).tolist())]


@RULES.rule(real.RealBroadcastTo)
def _broadcast_to(op: Op, call: TransposeCall) -> Gradients:
    del op
    return [sum_to(call.gradient, call.types[0])]


@RULES.rule(real.RealReverse)
def _reverse(op: Op, call: TransposeCall) -> Gradients:
    return [call.gradient.apply(op)]


@RULES.rule(real.RealSlice)
def _slice(op: real.RealSlice, call: TransposeCall) -> Gradients:
    """Zeros around the gradient, and between its elements."""
    (x,), part = call.types, call.gradient
    if not (x.is_static and part.type.is_static) or any(isinstance(n, Dim) for n in op.start):
        raise call.refuse(f"the size of {x} must be known")
    interior = tuple(step - 1 for step in op.step)
    before = tuple(n for n in op.start if isinstance(n, int))
    rows = zip(x.static_shape, before, part.type.static_shape, op.step, strict=True)
    after = tuple(n - b - max((m - 1) * s + 1, 0) if m else n - b for n, b, m, s in rows)
    if 0 in part.type.static_shape:
        return [None]
    return [part.apply(real.RealPad(before=before, after=after, interior=interior))]


@RULES.rule(real.RealPad)
def _pad(op: real.RealPad, call: TransposeCall) -> Gradients:
    """The elements that come from the operand."""
    interior = op.interior or (0,) * len(op.before)
    start = op.before
    sizes = zip(call.gradient.shape, op.after, strict=True)
    stop = tuple(size - after for size, after in sizes)
    step = tuple(i + 1 for i in interior)
    return [call.gradient.apply(real.RealSlice(start=start, stop=stop, step=step))]


@RULES.rule(real.RealConcat)
def _concat(op: real.RealConcat, call: TransposeCall) -> Gradients:
    """A part for each operand."""
    rank = call.gradient.ndim
    axis = op.axis % rank
    parts: list[Expression | None] = []
    start: int | Dim = 0
    for type_ in call.types:
        stop = start + type_.shape[axis]
        index = (*[slice(None)] * axis, slice(start, stop))
        parts.append(call.gradient[index])
        start = stop
    return parts
