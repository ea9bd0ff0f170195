"""Ops that move elements, for quantized and unquantized values of an operator.

Tests: tests/unit/frontends/tflite/ops/test_shape.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops.q import QPad, QReshape, QSlice, QTranspose
from rlx.ops.real import RealPad, RealReshape, RealSlice, RealTranspose

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.call import Call
    from rlx.ir import Op

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


def pad(call: Call, before: Integers, after: Integers) -> Op:
    """Return the op that adds values that represent 0."""
    if call.is_real:
        return RealPad(before=before, after=after)
    return QPad(before=before, after=after, value=call.quant(0).zero_point)
