"""Operators that make tensors of a few values.

Tests: tests/unit/frontends/tflite/ops/test_reals.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.refusal import MalformedError, OverLimitError, UnsupportedError
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.ops.real import RealBroadcastTo
from rlx.support.limits import raise_hint

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.call import Call

Integers = tuple[int, ...]


@real_importer("FILL")
def import_real_fill(call: Call) -> None:
    """``FILL``: a tensor of a known shape with one value everywhere."""
    shape = _filled_shape(call)
    call.finish(RealBroadcastTo(shape=shape), call.value(1))


@importer("FILL")
def import_fill(call: Call) -> None:
    """``FILL``: a tensor of a known shape with one constant code everywhere."""
    shape = _filled_shape(call)
    call.same_quant(1)
    array = np.full(shape, call.constant(1).array().reshape(()))
    quant = call.claimed(call.output)
    call.bind(call.scope.graph.constant(array, quant=quant, origin=call.origin))


def _filled_shape(call: Call) -> Integers:
    """Return the shape that input 0 lists."""
    call.arity(2)
    shape, value = call.integers(0), call.input(1)
    if math.prod(value.shape) != 1:
        raise MalformedError(f"{value.label} is {value.described}, expected one number")
    if min(shape, default=1) < 1:
        raise UnsupportedError(f"makes the shape {list(shape)}, expected dimensions of at least 1")
    if math.prod(shape) > call.scope.limits.elements:
        raise OverLimitError(
            f"makes {math.prod(shape)} elements; the limit is {call.scope.limits.elements}",
            hint=raise_hint("elements", math.prod(shape)),
        )
    return call.makes(shape)


@real_importer("ZEROS_LIKE")
def import_zeros_like(call: Call) -> None:
    """``ZEROS_LIKE``: zeros in the shape of a tensor, whose elements do not matter."""
    call.arity(1)
    zero = np.zeros((), call.scope.real(call.input(0)).type.dtype.numpy)
    value = call.scope.graph.constant(zero, origin=call.origin)
    call.finish(RealBroadcastTo(shape=call.input(0).shape), value)


@real_importer("RANGE")
def import_range(call: Call) -> None:
    """``RANGE`` of known int32 or int64: from start (input 0) up to limit (1) by delta (2)."""
    call.arity(3)
    start, limit, delta = (int(call.numbers(place).reshape(())) for place in range(3))
    if delta == 0 or len(range(start, limit, delta)) > call.scope.limits.elements:
        raise MalformedError(f"counts from {start} to {limit} by {delta}")
    array = np.array(range(start, limit, delta), call.numbers(0).dtype)
    call.bind(call.scope.graph.constant(array, origin=call.origin))
