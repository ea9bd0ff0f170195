"""What must hold for nodes beyond their types: rules of the verifier."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

from rlx.ir import Constant
from rlx.ir.verify import CHECKS
from rlx.ir.views import JOINS, VIEWS
from rlx.numerics.products import magnitudes
from rlx.ops.q import QConcat, QConv2d, QDense, QReshape, QSlice
from rlx.ops.q.linear_view import accumulator_bounds
from rlx.ops.real import RealReshape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir import Array, Node
    from rlx.numerics.fixed_point import Int64


def reshape_offset(node: Node) -> int:
    """Return 0: a reshape has the bytes of its operand."""
    del node
    return 0


def slice_offset(node: Node) -> int | None:
    """Return where a slice lies if it is one run of elements: a part of one axis, all behind it."""
    op, type_ = cast("QSlice", node.op), node.operands[0].type
    lengths = node.types[0].static_shape
    partial = [i for i, n in enumerate(lengths) if n != type_.static_shape[i]]
    if any(n != 1 for n in lengths[: max(partial, default=0)]):
        return None
    if any(step != 1 and n > 1 for step, n in zip(op.step, lengths, strict=True)):
        return None
    strides = [math.prod(type_.static_shape[i + 1 :]) for i in range(type_.rank)]
    first = sum(start * stride for start, stride in zip(op.start, strides, strict=True))
    return first * type_.dtype.numpy.itemsize


def concat_offsets(node: Node) -> tuple[int, ...] | None:
    """Return where operands lie in a concatenation along its first axis that is not 1."""
    op, type_ = cast("QConcat", node.op), node.types[0]
    if any(n != 1 for n in type_.static_shape[: op.axis % type_.rank]):
        return None
    ends = list(accumulate(operand.type.nbytes for operand in node.operands))
    return (0, *ends[:-1])


VIEWS.update({QReshape: reshape_offset, RealReshape: reshape_offset, QSlice: slice_offset})
JOINS[QConcat] = concat_offsets

ACCUMULATOR_MAX = 2**31 - 1


def accumulator_bound(magnitudes: Int64, bias: Array, x_zero_point: int) -> Int64:
    """Return, for each output channel, what no sum of products can exceed in magnitude.

    It holds for sums in any order, with the zero point taken off each operand or folded into
    the bias beforehand, since ``|x - z| <= 128 + |z|`` and ``|x| <= 128``.

    Args:
        magnitudes: Sum of the weights' magnitudes of each channel, int64[O]
            (``rlx.numerics.products.magnitudes``).
        bias: int32[O].
        x_zero_point: Code of the operand that stands for zero.
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
