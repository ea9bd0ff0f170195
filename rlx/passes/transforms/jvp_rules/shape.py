"""Tangents of ops that are linear, that move elements, and that change the element type.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rlx.ops import real
from rlx.passes.transforms.linearize import RULES

if TYPE_CHECKING:
    from rlx.ir import Op
    from rlx.passes.transforms.linearize import JvpCall, Tangents

RULES.refuse(
    "it rounds: nothing changes between two steps", real.RealQuantize,
)  # fmt: skip
RULES.refuse("its operand holds integers", real.RealDequantize)
RULES.refuse("it reads bits as another type", real.RealBitcast)


@RULES.rule(
    real.RealReshape, real.RealTranspose, real.RealBroadcastTo, real.RealSlice, real.RealReverse,
    real.RealReduceSum, real.RealReduceMean, real.RealCumsum, real.RealAveragePool,
)  # fmt: skip
def _linear(op: Op, call: JvpCall) -> Tangents:
    """The op itself, of the tangent."""
    (t,) = call.tangents
    return [t and t.apply(op)]


@RULES.rule(real.RealCast)
def _cast(op: real.RealCast, call: JvpCall) -> Tangents:
    (t,) = call.tangents
    if op.dtype.is_float:
        return [t and t.cast(op.dtype)]
    if op.dtype.is_integer:
        raise call.refuse(f"it truncates to {op.dtype.value}")
    return [None]


@RULES.rule(real.RealPad)
def _pad(op: real.RealPad, call: JvpCall) -> Tangents:
    (t,) = call.tangents
    return [t and t.apply(replace(op, value=0.0))]


@RULES.rule(real.RealConcat)
def _concat(op: real.RealConcat, call: JvpCall) -> Tangents:
    first, *others = (call.filled(i) for i in range(len(call.tangents)))
    return [first.apply(op, *others)]
