"""Tangents of layers whose decomposition has longer or wrong ones, and of ops of other levels.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops import nn, real
from rlx.ops.fused import FUSED_OPS
from rlx.ops.q import Q_OPS
from rlx.passes.transforms.linearize import RULES, zero_derivative

if TYPE_CHECKING:
    from rlx.passes.transforms.linearize import JvpCall, Tangents

zero_derivative(nn.NnStopGradient)
RULES.refuse("it computes with integers: differentiate the float network", *Q_OPS)
RULES.refuse("it is made of others: differentiate before fusion", *FUSED_OPS)


@RULES.rule(nn.NnSoftmax)
def _softmax(op: nn.NnSoftmax, call: JvpCall) -> Tangents:
    (y,), (t,) = call.results, call.tangents
    assert t is not None
    return [y * (t - (t * y).sum(op.axis, keep_dims=True))]


@RULES.rule(nn.NnSoftplus)
def _softplus(op: nn.NnSoftplus, call: JvpCall) -> Tangents:
    """Smooth at 0, where the parts of its decomposition have kinks."""
    del op
    (x,), (t,) = call.operands, call.tangents
    return [t and t * x.apply(real.RealSigmoid())]


@RULES.rule(nn.NnLogSoftmax)
def _log_softmax(op: nn.NnLogSoftmax, call: JvpCall) -> Tangents:
    (y,), (t,) = call.results, call.tangents
    assert t is not None
    return [t - (t * y.exp()).sum(op.axis, keep_dims=True)]
