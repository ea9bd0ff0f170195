"""Tangents of ops that read and write by index.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops import real
from rlx.ops.real import Scatter
from rlx.passes.transforms.linearize import RULES

if TYPE_CHECKING:
    from rlx.ir import Op
    from rlx.passes.transforms.linearize import JvpCall, Tangents

RULES.refuse("it returns indices", real.RealArgmax, real.RealArgmin)
RULES.refuse(
    "its operands are integers",
    real.RealRandomBits, real.RealRandomNormal, real.RealRandomUniform,
)  # fmt: skip


@RULES.rule(real.RealGather, real.RealTakeAlong)
def _read(op: Op, call: JvpCall) -> Tangents:
    t, _ = call.tangents
    return [t and t.apply(op, call.operands[1])]


@RULES.rule(real.RealScatter)
def _scatter(op: real.RealScatter, call: JvpCall) -> Tangents:
    if op.merge not in (Scatter.REPLACE, Scatter.ADD):
        raise call.refuse(f"it merges by {op.merge.value}")
    return [call.filled(0).apply(op, call.operands[1], call.filled(2))]


@RULES.rule(real.RealTopK)
def _top_k(op: real.RealTopK, call: JvpCall) -> Tangents:
    (t,), (_, indices) = call.tangents, call.results
    return [t and t.apply(real.RealTakeAlong(axis=op.axis), indices), None]
