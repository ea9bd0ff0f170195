"""Arithmetic of two values, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Refusal
from rlx.ops.q import QAdd, QMul, QSub
from rlx.ops.real import RealAdd, RealDiv, RealMul, RealQuantize, RealSub
from rlx.quant.known import int8_stored, known, stored
from rlx.quant.observers import params_of
from rlx.quant.rescale import sum_scaling
from rlx.quant.rules.call import quant_of, rule
from rlx.quant.scheme import range_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Node, QuantParams, Value
    from rlx.quant.rules.call import Call


def operand(call: Call, place: int, quant: QuantParams | None = None) -> Value:
    """Return an operand's quantized values; a known one becomes a constant.

    Its values are those that the model stores, if it has some, else chosen over its own range.

    Args:
        call: The node.
        place: Which operand.
        quant: What its values are to stand for; None for what they do, or what suits them.
    """
    numbers = call.known(place)
    if numbers is None:
        return call.quantized(place, quant)
    own = stored(call.node.operands[place])
    if (
        own is not None
        and (values := int8_stored(own)) is not None
        and quant in (None, values.quant)
    ):
        return call.constant(values.array, "constant", values.quant)
    return constant(call, numbers, quant)


def constant(call: Call, numbers: Array, quant: QuantParams | None = None) -> Value:
    """Append constant numbers as int8 values, with parameters over their own range by default."""
    reals = np.asarray(numbers, np.float32)
    if not np.isfinite(reals).all():
        raise call.refuse("a constant operand holds NaN or infinite numbers")
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
    values, quant = [_term(call, place, make) for place in range(2)], call.quant
    x, y = (quant_of(v) for v in values)
    scaling = sum_scaling(x.scale[0], y.scale[0], quant.scale[0], call.rounding)
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


def _term(call: Call, place: int, make: type[QAdd]) -> Value:
    """Return an operand of a sum; of a constant no more than what saturates the result.

    A number that masks, such as -1e9, would leave no steps for the others.
    """
    numbers = call.known(place)
    if numbers is None:
        return call.quantized(place)
    if call.known(1 - place) is not None:
        return operand(call, place)
    (low, high), (first, last) = (
        range_of(call.quant), range_of(quant_of(call.quantized(1 - place)))
    )  # fmt: skip
    if make is QAdd:
        ends = low - last, high - first
    else:
        ends = (low + first, high + last) if place == 0 else (first - high, last - low)
    clipped = np.clip(np.asarray(numbers, np.float64), *ends)
    if np.array_equal(clipped, numbers) or np.isnan(clipped).any():
        return operand(call, place)
    return constant(call, clipped)


@rule(RealMul, rescales=True)
def multiplication(call: Call) -> Sequence[Value]:
    """``x * y`` -> q.mul."""
    return [_product(call, operand(call, 0), operand(call, 1))]


def _check_division(node: Node) -> Refusal | None:
    divisor = known(node.operands[1])
    if divisor is None:
        return Refusal("it divides by computed numbers")
    return Refusal("it divides by 0") if (divisor == 0).any() else None


@rule(RealDiv, check=_check_division, rescales=True)
def division(call: Call) -> Sequence[Value]:
    """``x / y`` with constant y -> q.mul with 1 / y."""
    divisor = np.asarray(call.known(1), np.float64)
    return [_product(call, call.quantized(0), constant(call, np.asarray(1.0 / divisor)))]


def _product(call: Call, x: Value, y: Value) -> Value:
    quant, one, other = call.quant, quant_of(x), quant_of(y)
    op = QMul(
        x_zero_point=one.zero_point[0],
        y_zero_point=other.zero_point[0],
        rescale=call.rescale(one.scale[0] * other.scale[0] / quant.scale[0]),
        zero_point=quant.zero_point[0],
    )
    return call.emit(op, x, y, quant=quant)
