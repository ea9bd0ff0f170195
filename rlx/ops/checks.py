"""What must hold for nodes beyond their types: rules of the verifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.ir.verify import CHECKS
from rlx.ir.verify_plan import VIEWS
from rlx.ops.q import QConv2d, QDense, QReshape
from rlx.ops.real import RealReshape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir import Array, Node
    from rlx.numerics.fixed_point import Int64

VIEWS.update((QReshape, RealReshape))

ACCUMULATOR_MAX = 2**31 - 1


def accumulator_bound(weights: Array, bias: Array, x_zero_point: int) -> Int64:
    """Return, for each output channel, what no sum of products can exceed in magnitude.

    It holds for sums in any order, with the zero point taken off each operand or folded into
    the bias beforehand, since ``|x - z| <= 128 + |z|`` and ``|x| <= 128``.

    Args:
        weights: Codes, output channels first.
        bias: int32, one for each output channel.
        x_zero_point: Code of the operand that stands for zero.
    """
    sums = np.abs(weights.astype(np.int64)).reshape(len(weights), -1).sum(axis=1)
    bounds: Int64 = sums * (128 + abs(x_zero_point)) + np.abs(bias.astype(np.int64))
    return bounds


@CHECKS.rule(QConv2d, QDense)
def accumulator_fits(node: Node) -> Iterator[str]:
    """Yield a problem if the accumulator of a channel could leave int32."""
    op = cast("QConv2d | QDense", node.op)
    _, weights, bias = (o.constant for o in node.operands)
    if weights is None or bias is None:
        return
    bounds = accumulator_bound(weights, bias, op.x_zero_point)
    if bounds.size and bounds.max() > ACCUMULATOR_MAX:
        channel = int(bounds.argmax())
        yield f"the accumulator of channel {channel} can reach {bounds[channel]}, beyond int32"
