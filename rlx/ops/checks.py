"""Invariants of nodes beyond their types: rules of the verifier.

Tests: tests/unit/ir/test_verify.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

from rlx.ir import Constant
from rlx.ir.verify import CHECKS
from rlx.ops.numerics.products import magnitudes
from rlx.ops.q import QConv2d, QDense
from rlx.ops.q.linear_view import accumulator_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir import Array, Node
    from rlx.ops.numerics.fixed_point import Int64


ACCUMULATOR_MAX = 2**31 - 1


def accumulator_bound(magnitudes: Int64, bias: Array, x_zero_point: int) -> Int64:
    """Return, for each output channel, a bound on the magnitude of every sum of products.

    It holds for sums in any order, with the zero point subtracted from each operand or folded into
    the bias beforehand, since ``|x - z| <= 128 + |z|`` and ``|x| <= 128``.

    Args:
        magnitudes: Sum of the weights' magnitudes of each channel, int64[O]
            (``rlx.ops.numerics.products.magnitudes``).
        bias: int32[O].
        x_zero_point: Zero point of the operand.
    """
    return accumulator_bounds(magnitudes, bias, 128 + abs(x_zero_point))


# A constant is checked for every layer that reads it, and again after every pass.
_MAGNITUDES: WeakKeyDictionary[Constant, Int64] = WeakKeyDictionary()


@CHECKS.rule(QConv2d, QDense)
def accumulator_fits(node: Node) -> Iterator[str]:
    """Yield a problem if the accumulator of a channel could leave int32."""
    op = cast("QConv2d | QDense", node.op)
    _, weights, bias = (o.node.op for o in node.operands)
    if not (isinstance(weights, Constant) and isinstance(bias, Constant)):
        return
    if weights not in _MAGNITUDES:
        _MAGNITUDES[weights] = magnitudes(weights.value)
    bounds = accumulator_bound(_MAGNITUDES[weights], bias.value, op.x_zero_point)
    if bounds.size and bounds.max() > ACCUMULATOR_MAX:
        channel = int(bounds.argmax())
        yield f"the accumulator of channel {channel} can reach {bounds[channel]}, beyond int32"
