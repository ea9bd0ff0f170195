"""Arithmetic of two values, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ops.q import QAdd, QMaximum, QMinimum, QMul, QSub
from rlx.ops.real import RealAdd, RealMaximum, RealMinimum, RealMul, RealQuantize, RealSub
from rlx.quant.observers import params_of
from rlx.quant.rescale import rescale_of, sum_scaling
from rlx.quant.rules.call import quant_of, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import QuantParams, Value
    from rlx.quant.rules.call import Call


def operand(call: Call, place: int, quant: QuantParams | None = None) -> Value:
    """Return an operand's quantized values; a known one becomes a constant over its own range.

    Args:
        call: The node.
        place: Which operand.
        quant: What its values are to stand for; None for what they do, or what suits them.
    """
    numbers = call.known(place)
    if numbers is None:
        return call.quantized(place, quant)
    if not np.isfinite(numbers).all():
        raise call.refuse("a constant operand holds NaN or infinite numbers")
    reals = np.asarray(numbers, np.float32)
    chosen = quant or params_of(float(reals.min(initial=0)), float(reals.max(initial=0)))
    (steps,) = RealQuantize(quant=chosen).evaluate(reals)
    return call.constant(steps, "constant", chosen)


@rule(RealAdd, rescales=True)
def addition(call: Call) -> Sequence[Value]:
    """``x + y`` -> q.add."""
    return [_sum(call, QAdd)]


@rule(RealSub, rescales=True)
def difference(call: Call) -> Sequence[Value]:
    """``x - y`` -> q.sub."""
    return [_sum(call, QSub)]


def _sum(call: Call, make: type[QAdd]) -> Value:
    values, quant = [operand(call, place) for place in range(2)], call.quant
    x, y = (quant_of(v) for v in values)
    scaling = sum_scaling(x.scale[0], y.scale[0], quant.scale[0])
    op = make(
        x_zero_point=x.zero_point[0],
        y_zero_point=y.zero_point[0],
        x_rescale=scaling.x_rescale,
        y_rescale=scaling.y_rescale,
        left_shift=scaling.left_shift,
        rescale=scaling.rescale,
        zero_point=quant.zero_point[0],
    )
    return call.emit(op, *values, quant=quant)


@rule(RealMul, rescales=True)
def multiplication(call: Call) -> Sequence[Value]:
    """``x * y`` -> q.mul."""
    values, quant = [operand(call, place) for place in range(2)], call.quant
    x, y = (quant_of(v) for v in values)
    op = QMul(
        x_zero_point=x.zero_point[0],
        y_zero_point=y.zero_point[0],
        rescale=rescale_of(x.scale[0] * y.scale[0] / quant.scale[0]),
        zero_point=quant.zero_point[0],
    )
    return [call.emit(op, *values, quant=quant)]


@rule(RealMaximum, RealMinimum, shares=True)
def extreme(call: Call) -> Sequence[Value]:
    """``maximum(x, y)`` -> q.maximum of values of one scale, and likewise the minimum."""
    values = [operand(call, place, call.quant) for place in range(2)]
    op = QMaximum() if isinstance(call.node.op, RealMaximum) else QMinimum()
    return [call.emit(op, *values, quant=call.quant)]
