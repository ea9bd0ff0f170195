"""Invariants of nodes beyond their types: rules of the verifier.

Tests: tests/unit/ir/test_verify.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

from rlx.ir import Constant, DType
from rlx.ir.verify import CHECKS
from rlx.ops.numerics.products import magnitudes
from rlx.ops.q import QConv2d, QDense
from rlx.ops.q.linear_view import accumulator_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir import Array, Node
    from rlx.ops.numerics.fixed_point import Int64


ACCUMULATOR_MAX = 2**31 - 1
WIDE_SUM_MAX = 2**47 - 1
"""Largest sum of products of int16 values: its product with 15 bits fits int64."""


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
    """Yield a problem if the accumulator of a channel could leave int32, or 2^47 of int16 values.

    Sums of int16 values in int32 wrap around, as in the reference.
    """
    op = cast("QConv2d | QDense", node.op)
    int16 = node.operands[0].type.dtype is DType.I16
    if int16 and not op.rescale.is_wide:
        return
    _, weights, bias = (o.node.op for o in node.operands)
    if not (isinstance(weights, Constant) and isinstance(bias, Constant)):
        return
    if weights not in _MAGNITUDES:
        _MAGNITUDES[weights] = magnitudes(weights.value)
    reach = 1 << 15 if int16 else 128 + abs(op.x_zero_point)
    bounds = accumulator_bounds(_MAGNITUDES[weights], bias.value, reach)
    limit, name = (WIDE_SUM_MAX, "2^47") if int16 else (ACCUMULATOR_MAX, "int32")
    if bounds.size and bounds.max() > limit:
        channel = int(bounds.argmax())
        yield f"the accumulator of channel {channel} can reach {bounds[channel]}, beyond {name}"
