"""Tangents of products of matrices, convolutions and pools.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType
from rlx.ops import real
from rlx.ops.nn import NnStopGradient
from rlx.passes.transforms.formulas import constant, window_elements
from rlx.passes.transforms.linearize import RULES

if TYPE_CHECKING:
    from rlx.ops.expression import Expression
    from rlx.passes.transforms.linearize import JvpCall, Tangents

MIN_FINITE = {
    DType.F64: float(np.finfo(np.float64).min), DType.F32: float(np.finfo(np.float32).min),
    DType.F16: -65504.0, DType.BF16: -float.fromhex("0x1.fep127"),
    DType.F8E4M3: -448.0, DType.F8E5M2: -57344.0,
}  # fmt: skip
"""The minimum finite number of each type."""


@RULES.rule(real.RealMatmul, real.RealConv)
def _product(op: real.RealMatmul | real.RealConv, call: JvpCall) -> Tangents:
    """D(x * w) = dx * w + x * dw."""
    (x, w), (tx, tw) = call.operands, call.tangents
    by_x = tx and tx.apply(op, w)
    by_w = tw and x.apply(op, tw)
    return [by_x + by_w if by_x and by_w else by_x or by_w]


@RULES.rule(real.RealMaxPool)
def _max_pool(op: real.RealMaxPool, call: JvpCall) -> Tangents:
    """Tangent of the first maximum of each window."""
    (x,), (t,) = call.operands, call.tangents
    assert t is not None
    elements = window_elements(*_padded(x, op.window))
    axis = elements.ndim - 1
    first = elements.apply(NnStopGradient()).apply(real.RealArgmax(axis=axis))
    count = elements.type.static_shape[-1]
    numbers = constant(call.graph, np.arange(count, dtype=np.int32))
    is_first = first.expand_dims(-1).equal(numbers)
    return [window_elements(t, op.window).where(is_first, 0.0).sum(axis)]


def _padded(x: Expression, window: real.SpatialWindow) -> tuple[Expression, real.SpatialWindow]:
    """Return an image with padding below every element, and the window without padding."""
    if not window.is_padded:
        return x, window
    before, after = ((0, *(side[i] for side in window.padding), 0) for i in (0, 1))
    lowest = MIN_FINITE[x.dtype]
    padded = x.apply(real.RealPad(before=before, after=after, value=lowest))
    return padded, replace(window, padding=())
