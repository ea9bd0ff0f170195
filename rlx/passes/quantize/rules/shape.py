"""Ops that move elements: so are quantized values.

Tests: tests/unit/passes/quantize/test_convert.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.ir import Refusal
from rlx.ops.q import QConcat, QPad, QSlice
from rlx.ops.real import RealConcat, RealPad, RealQuantize, RealReshape, RealSlice, RealTranspose
from rlx.passes.quantize.rules.arith import operand
from rlx.passes.quantize.rules.call import rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node, Value
    from rlx.passes.quantize.rules.call import NodeConversion


@rule(RealReshape, shares=True)
def reshape(call: NodeConversion) -> Sequence[Value]:
    """``reshape(x)`` -> q.reshape."""
    shape = call.node.types[0].static_shape
    return [call.reshape(call.quantized(0, call.quant), shape)]


@rule(RealTranspose, shares=True)
def transpose(call: NodeConversion) -> Sequence[Value]:
    """``transpose(x)`` -> q.transpose."""
    return [call.transpose(call.quantized(0, call.quant), cast("RealTranspose", call.node.op).axes)]


def _check_slice(node: Node) -> Refusal | None:
    return Refusal("it takes no elements") if 0 in node.types[0].static_shape else None


@rule(RealSlice, check=_check_slice, shares=True)
def part(call: NodeConversion) -> Sequence[Value]:
    """``x[start:stop:step]`` -> q.slice."""
    op, x = cast("RealSlice", call.node.op), call.quantized(0, call.quant)
    shape = x.type.static_shape
    starts = tuple(int(cast("int", n)) for n in op.start)
    stops = tuple(
        size if stop is None else int(cast("int", stop))
        for stop, size in zip(op.stop, shape, strict=True)
    )
    if starts == (0,) * len(shape) and stops == shape and set(op.step) <= {1}:
        return [x]
    return [call.emit(QSlice(start=starts, stop=stops, step=op.step), x, quant=call.quant)]


@rule(RealConcat, shares=True)
def concat(call: NodeConversion) -> Sequence[Value]:
    """``concat(x, y, ...)`` -> q.concat of values of one scale."""
    quant = call.quant
    values = [operand(call, place, quant) for place in range(len(call.node.operands))]
    axis = cast("RealConcat", call.node.op).axis
    return values if len(values) == 1 else [call.emit(QConcat(axis=axis), *values, quant=quant)]


@rule(RealPad, shares=True)
def pad(call: NodeConversion) -> Sequence[Value]:
    """``pad(x)`` -> q.pad with the quantized constant, after each element for gaps."""
    op, quant = cast("RealPad", call.node.op), call.quant
    (steps,) = RealQuantize(quant=quant).evaluate(np.array([op.value], np.float32))
    value = int(np.asarray(steps, np.int64)[0])
    x = call.quantized(0, quant)
    for axis, gap in enumerate(op.interior):
        if gap and x.type.static_shape[axis] > 1:
            x = _spread(call, x, axis, gap, value)
    if not any((*op.before, *op.after)):
        return [x]
    return [call.emit(QPad(before=op.before, after=op.after, value=value), x, quant=quant)]


def _spread(call: NodeConversion, x: Value, axis: int, gap: int, value: int) -> Value:
    """Return x with constants between the elements of an axis: after each but the last."""
    shape, quant = x.type.static_shape, call.quant
    front, back, size = shape[:axis], shape[axis + 1 :], shape[axis]
    rows = math.prod(front) * size
    flat = call.reshape(x, (rows, math.prod(back)))
    after = (0, gap * math.prod(back))
    padded = call.emit(QPad(before=(0, 0), after=after, value=value), flat, quant=quant)
    whole = (*front, size * (gap + 1), *back)
    ends = (*front, size * (gap + 1) - gap, *back)
    return cut(call, call.reshape(padded, whole), (0,) * len(ends), ends)


def cut(call: NodeConversion, x: Value, start: tuple[int, ...], stop: tuple[int, ...]) -> Value:
    """Return a part of x, every element of it."""
    if start == (0,) * len(start) and stop == x.type.static_shape:
        return x
    op = QSlice(start=start, stop=stop, step=(1,) * len(start))
    return call.emit(op, x, quant=x.type.quant)
