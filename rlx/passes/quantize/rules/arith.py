"""Arithmetic of two values, element by element.

Tests: tests/unit/passes/quantize/test_convert.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from rlx.ir import Refusal
from rlx.ops.q import QAdd, QMul, QSub
from rlx.ops.real import RealAdd, RealDequantize, RealDiv, RealMul, RealQuantize, RealSub
from rlx.ops.rescale import rescale_of, sum_scaling
from rlx.passes.quantize.functions import INT8
from rlx.passes.quantize.known import int8_stored, known, stored
from rlx.passes.quantize.offsets import DIRECTIONS
from rlx.passes.quantize.rules.call import quant_of, rule
from rlx.passes.quantize.scheme import params_of, range_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx.ir import Array, Node, QuantParams, Value
    from rlx.passes.quantize.rules.call import NodeConversion

Binary = TypeVar("Binary", QAdd, QMul)

_NUDGES: Final = (0, *(sign << place for place in range(10) for sign in (1, -1)))
"""Offsets of a multiplier: as far as the rounding errors of float32 are wide."""


def operand(call: NodeConversion, index: int, quant: QuantParams | None = None) -> Value:
    """Return an operand's quantized values; a known one becomes a constant.

    Its values are those that the model stores, if it has some, else chosen over its own range.

    Args:
        call: The node.
        index: Index of the operand.
        quant: Parameters that its values are to have; None for those they have, or that suit them.
    """
    numbers = call.known(index)
    if numbers is None:
        return call.quantized(index, quant)
    stored_values = stored(call.node.operands[index])
    if (
        stored_values is not None
        and (values := int8_stored(stored_values)) is not None
        and quant in (None, values.quant)
    ):
        return call.constant(values.array, "constant", values.quant)
    return constant(call, numbers, quant)


def constant(call: NodeConversion, numbers: Array, quant: QuantParams | None = None) -> Value:
    """Append constant floats as int8 values, with parameters over their own range by default."""
    reals = np.asarray(numbers, np.float32)
    if not np.isfinite(reals).all():
        raise call.refuse("a constant operand holds NaN or infinite numbers")
    chosen = quant or params_of(float(reals.min(initial=0)), float(reals.max(initial=0)))
    (steps,) = RealQuantize(quant=chosen).evaluate(reals)
    return call.constant(steps, "constant", chosen)


@rule(RealAdd, rescales=True)
def addition(call: NodeConversion) -> Sequence[Value]:
    """``x + y`` -> q.add."""
    return [_sum(call, QAdd, np.add)]


@rule(RealSub, rescales=True)
def difference(call: NodeConversion) -> Sequence[Value]:
    """``x - y`` -> q.sub."""
    return [_sum(call, QSub, np.subtract)]


def _sum(call: NodeConversion, make: type[QAdd], function: np.ufunc) -> Value:
    values, quant = [_term(call, place, make) for place in range(2)], call.quant
    x, y = (quant_of(v) for v in values)
    scaling = sum_scaling(x.scale[0], y.scale[0], quant.scale[0], call.nearest)
    op = make(
        x_zero_point=x.zero_point[0],
        y_zero_point=y.zero_point[0],
        x_rescale=scaling.x_rescale,
        y_rescale=scaling.y_rescale,
        left_shift=scaling.left_shift,
        rescale=scaling.rescale,
        zero_point=quant.zero_point[0],
    )
    return call.emit(_nearest(call, op, values, function), *values, quant=quant)


def _term(call: NodeConversion, index: int, make: type[QAdd]) -> Value:
    """Return an operand of a sum; of a constant, clamped where it saturates the result.

    A masking value, such as -1e9, would leave no steps for the others.
    """
    numbers = call.known(index)
    if numbers is None:
        return call.quantized(index)
    if call.known(1 - index) is not None:
        return operand(call, index)
    (low, high), (first, last) = (
        range_of(call.quant), range_of(quant_of(call.quantized(1 - index)))
    )  # fmt: skip
    if make is QAdd:
        ends = low - last, high - first
    else:
        ends = (low + first, high + last) if index == 0 else (first - high, last - low)
    clipped = np.clip(np.asarray(numbers, np.float64), *ends)
    if np.array_equal(clipped, numbers) or np.isnan(clipped).any():
        return operand(call, index)
    return constant(call, clipped)


@rule(RealMul, rescales=True)
def multiplication(call: NodeConversion) -> Sequence[Value]:
    """``x * y`` -> q.mul."""
    return [_product(call, operand(call, 0), operand(call, 1))]


def _check_division(node: Node) -> Refusal | None:
    divisor = known(node.operands[1])
    if divisor is None:
        return Refusal("it divides by computed numbers")
    return Refusal("it divides by 0") if (divisor == 0).any() else None


@rule(RealDiv, check=_check_division, rescales=True)
def division(call: NodeConversion) -> Sequence[Value]:
    """``x / y`` with constant y -> q.mul with 1 / y."""
    divisor = np.asarray(call.known(1), np.float64)
    return [_product(call, call.quantized(0), constant(call, np.asarray(1.0 / divisor)))]


def _product(call: NodeConversion, x: Value, y: Value) -> Value:
    quant, x_quant, y_quant = call.quant, quant_of(x), quant_of(y)
    op = QMul(
        x_zero_point=x_quant.zero_point[0],
        y_zero_point=y_quant.zero_point[0],
        rescale=rescale_of(
            x_quant.scale[0] * y_quant.scale[0] / quant.scale[0], rounding=call.nearest
        ),
        zero_point=quant.zero_point[0],
    )
    return call.emit(_nearest(call, op, (x, y), np.multiply), x, y, quant=quant)


def _nearest(
    call: NodeConversion, op: Binary, values: Sequence[Value], function: np.ufunc
) -> Binary:
    """Return an op whose factor matches the integers of the float ops, where a model has them.

    These round operands and result to float32, and halves may round away from zero. A factor a few
    units larger or smaller decides the same for nearly all scales; else the one of fewest
    differences.

    Args:
        call: The node.
        op: The op with the nearest factor.
        values: Its operands.
        function: The node in float.

    Raises:
        QuantizationError: Every value is rounded down or up, and not so by any factor.
    """
    if call.stated is None:
        return op
    grid = [_integers(v).reshape(-1, *(1,) * place) for place, v in enumerate(values)]
    reals = (
        RealDequantize(quant=quant_of(v)).evaluate(own)[0]
        for v, own in zip(values, grid, strict=True)
    )
    with np.errstate(over="ignore"):
        (reference,) = RealQuantize(quant=call.quant, ties=call.ties).evaluate(function(*reals))
    best, fewest = op, reference.size + 1
    for candidate in _nudge_multiplier(op):
        different = int(np.count_nonzero(candidate.evaluate(*grid)[0] != reference))
        if different < fewest:
            best, fewest = candidate, different
        if not fewest:
            break
    if fewest and call.stated in DIRECTIONS:
        raise call.directed()
    return best


def _integers(value: Value) -> Array:
    """Return the integers that an operand may be."""
    return INT8 if value.constant is None else np.unique(value.constant)


def _nudge_multiplier(op: Binary) -> Iterator[Binary]:
    """Yield an op with its own factor, then with others near it."""
    (multiplier,) = op.rescale.multiplier
    for nudge in _NUDGES:
        if not nudge or 1 << 30 <= multiplier + nudge < 1 << 31:
            yield replace(op, rescale=replace(op.rescale, multiplier=(multiplier + nudge,)))
