"""Transposes of sums.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlx.ops import real
from rlx.passes.transforms.formulas import with_axes
from rlx.passes.transforms.transpose import RULES

if TYPE_CHECKING:
    from rlx.passes.transforms.transpose import Gradients, TransposeCall


@RULES.rule(real.RealReduceSum)
def _sum(op: real.RealReduceSum, call: TransposeCall) -> Gradients:
    (x,) = call.types
    return [with_axes(call.gradient, op.axes, x.rank).broadcast_to(*x.shape)]


@RULES.rule(real.RealReduceMean)
def _mean(op: real.RealReduceMean, call: TransposeCall) -> Gradients:
    (x,) = call.types
    sizes = [x.shape[a] for a in op.axes]
    if not all(isinstance(n, int) for n in sizes):
        raise call.refuse(f"the number of elements of {x} along axes {op.axes} must be known")
    share = call.gradient / float(math.prod(n for n in sizes if isinstance(n, int)))
    return [with_axes(share, op.axes, x.rank).broadcast_to(*x.shape)]


@RULES.rule(real.RealCumsum)
def _cumsum(op: real.RealCumsum, call: TransposeCall) -> Gradients:
    """The running sum from the other end."""
    reverse = real.RealReverse(axes=(op.axis,))
    return [call.gradient.apply(reverse).apply(op).apply(reverse)]
