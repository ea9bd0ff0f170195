"""Ops that move elements, for quantized and unquantized values of an operator.

Tests: tests/unit/frontends/tflite/ops/test_shape.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops.q import QPad, QReshape, QSlice, QTranspose, selection
from rlx.ops.real import RealPad, RealReshape, RealReverse, RealSlice, RealTranspose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.tflite.ops.call import Call
    from rlx.ir import Op, Value

Integers = tuple[int, ...]


def reshape(call: Call, shape: Integers) -> Op:
    """Return the op that reshapes elements."""
    return RealReshape(shape=shape) if call.is_real else QReshape(shape=shape)


def transpose(call: Call, axes: Integers) -> Op:
    """Return the op that puts axes in another order."""
    return RealTranspose(axes=axes) if call.is_real else QTranspose(axes=axes)


def part(call: Call, start: Integers, stop: Integers, step: Integers = ()) -> Op:
    """Return the op that selects a part; every element of it without ``step``."""
    make = RealSlice if call.is_real else QSlice
    return make(start=start, stop=stop, step=step or (1,) * len(start))


def select_ranges(call: Call, value: Value, ranges: Sequence[range]) -> Value:
    """Return the elements in a range of each axis; negative steps are allowed."""
    rising = [r if r.step > 0 else r[::-1] for r in ranges]
    start, step = tuple(r.start for r in rising), tuple(r.step for r in rising)
    stop = tuple(r[-1] + 1 if r else r.start for r in rising)
    value = call.emit(part(call, start, stop, step), value)
    return reverse(call, value, [a for a, r in enumerate(ranges) if r.step < 0 and len(r) > 1])


def reverse(call: Call, value: Value, axes: Sequence[int]) -> Value:
    """Return a value with the elements of some axes in opposite order."""
    if call.is_real and axes:
        return call.emit(RealReverse(axes=tuple(axes)), value)
    return selection.reverse_axes(call.emit, value, axes)


def pad(call: Call, before: Integers, after: Integers) -> Op:
    """Return the op that adds values that represent 0."""
    if call.is_real:
        return RealPad(before=before, after=after)
    return QPad(before=before, after=after, value=call.quant(0).zero_point)
